// SPDX-License-Identifier: Apache-2.0
// What Cloche, the warden and pid 1 of a box say to each other: records over SOCK_SEQPACKET
// sockets, with descriptors beside them. Both ends are of one build, so a record is the struct
// itself.
//
// Cloche asks the warden for a box (MakeBox), and from then on talks with the box's pid 1 over the
// box's own socket: each Request brings a channel, a socket of its own for the answers. The channel
// of a run lives as long as its run; the one of the file server as long as that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cloche::warden {

inline constexpr std::uint32_t protocol_version = 14;
inline constexpr int socket_fd = 3;          // of the warden, or the starter, at its start
inline constexpr int mounter_fd = 4;         // of the warden that root starts
inline constexpr std::size_t most_fds = 24;  // beside a record
inline constexpr std::size_t most_mounts = 16;
inline constexpr std::size_t most_runs = 256;  // of a box, at the same time
inline constexpr std::size_t most_home = 256;  // of the path of the folder that a box is made with
inline constexpr std::size_t most_detail = 256;  // of what a program of others says of its failure

// Where the making of a box, or the start of a command, can fail.
enum class Step : std::uint8_t {
  none,
  namespaces,   // clone3
  identity,     // the maps of users and groups
  propagation,  // mounts of its own
  storage,      // the file system in memory with its quota
  copy,         // the files that it begins with
  overlay,
  proc,
  devices,
  pivot,
  loopback,
  network,
  limits,
  landlock,
  privileges,
  filter,
  terminal,
  directory,  // of a command
  program,
  mounts,  // folders of the host
  groups,  // its control group
  gvisor,  // gVisor around it
};

// What of control groups a box has.
namespace controllers {
inline constexpr std::uint32_t memory = 1, pids = 2, cpu = 4;
}

enum class Root : std::uint8_t {
  overlay,  // over the system image
  copy,     // of the image: where overlays are refused
};

enum class Isolation : std::uint8_t {
  full,    // the machine's kernel, behind the wall
  gvisor,  // and one of its own in between (keeper.h)
};

// Who runsc is in its box: root has ways to run it that take more than one id.
inline constexpr std::uint32_t keeper_user = 1;

// A folder or a regular file of the host in a box.
struct MountOrder {
  std::uint64_t device = 0;  // which it is
  std::uint64_t inode = 0;
  bool is_read_only = false;
  bool has_tree = false;  // as the mounter has made it; otherwise pid 1 looks for it by its path
  char host[4096] = {};   // absolute
  char guest[4096] = {};  // the same, inside; made where it is not there
};

// Cloche to the mounter, with the folder or file beside it: its tree, where its owner's files are
// the box's.
struct MountAsk {
  bool is_read_only = false;
};

// The mounter's answer; the tree beside it where there is one.
struct MountMade {
  std::int32_t error = 0;
};

// Cloche to the warden, with: the box's end of its socket, the system image's root folder, where
// `has_upper` the folder of changes that the box begins with, of a box behind gVisor the program
// runsc, and where there are mounts a file of MountOrders and the trees of those that have one.
struct MakeBox {
  std::uint32_t version = protocol_version;
  std::uint32_t process_limit = 0;
  std::uint32_t open_file_limit = 0;
  std::uint32_t cpus = 0;  // its share of processors, where those are shared by control groups
  std::uint32_t user = 0;  // inside
  std::uint32_t group = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t file_inodes = 0;
  std::uint64_t memory_bytes = 0;
  Root root = Root::overlay;
  Isolation isolation = Isolation::full;
  bool has_upper = false;
  bool keeps_set_id = true;  // programs may mark files as set-id
  // It gets its limits later, by Ask::settle, before anything has run in it.
  bool settles_later = false;
  std::uint32_t mounts = 0;
  char host_name[64] = "cloche";
  char home[most_home] = {};  // a folder that is made; empty: none
};

// The warden's answer; a pidfd of pid 1 beside it where there is one.
struct BoxMade {
  Step failed = Step::none;
  std::int32_t error = 0;  // an errno; 0: it is being built, and speaks itself
};

// Cloche to the starter (starter.h): a warden.
struct StartWarden {
  std::uint32_t version = protocol_version;
};

// The starter's answer; beside it, where there is one, Cloche's end of its socket, a pidfd of it,
// and where root runs this Cloche's end of the mounter's.
struct WardenStarted {
  std::int32_t error = 0;  // an errno
};

// Cloche to the warden: a file (large_files.h). Told from MakeBox by its size.
struct MakeFile {
  std::uint32_t version = protocol_version;
};
static_assert(sizeof(MakeFile) != sizeof(MakeBox));

// The warden's answer; beside it, where there is one, the file as it can be written, and as it can
// only be read.
struct FileMade {
  std::int32_t error = 0;  // an errno
};

// What a BoxMade or FileMade says where `error` keeps the descriptors beside it from being sent.
template <typename Made>
void note_undelivered(Made& made, std::int32_t error) noexcept {
  if constexpr (requires { made.failed; }) made.failed = Step::limits;
  made.error = error;
}

// From pid 1, first of all: the box stands, or where it failed.
struct BoxReady {
  Step failed = Step::none;
  std::int32_t error = 0;
  bool has_landlock_scopes = false;
  std::uint32_t controllers = 0;
  std::uint32_t mount = 0;        // which of them it was, where they failed
  std::int32_t home = 0;          // an errno: its home could not be made
  char detail[most_detail] = {};  // of Step::gvisor: what runsc said last
};

enum class Ask : std::uint8_t {
  run,      // channel, arguments (a file of memory), then descriptors 0, 1, 2, ... of the command;
            // of one with a terminal behind gVisor, a stream that is connected to its master
  files,    // channel
  kill,     // channel: everything but the file server
  pause,    // channel: all processes stop
  resume,   // channel
  upper,    // channel; its Answer has the folder of changes beside it
  usage,    // channel
  network,  // channel, the socket of its dials; the Answer has the sockets for names beside it
  calls,    // channel; the Answer has the listener for calls of commands beside it (call_wire.h)
  drain,    // a descriptor that is read to its end for nobody; no channel
  list,     // channel, a file of memory that gets a ProcessRecord for each process
  signal,   // channel: `number` for the process `process`
  pack,     // channel, a pipe that gets the changed files (tree_stream.h); the packer answers
  unpack,   // channel, a file with such a stream, which becomes the files; the unpacker answers
  connect,  // channel: to port `number` of the loopback; the Answer has the socket beside it, which
            // does not block and may be connecting yet. Behind gVisor: channel, a stream that is
            // connected to it
  compare,  // channel: is the image as it was? `has_changed`
  settle,   // channel, on which a Settle waits: once, of a box that does so later. The value of its
            // Answer is about the limits, its `home` about the folder
  peak,     // channel: the most memory that the process `process` has had
};

struct TerminalShape {
  std::uint16_t rows = 0, columns = 0, width_pixels = 0, height_pixels = 0;
};

// What a variable has where the path of the terminal comes to stand: room for any number.
inline constexpr char terminal_room[] = "/dev/pts/4294967295";

struct Request {
  Ask ask = Ask::run;
  bool has_terminal = false;    // of run: 0, 1 and 2 are a terminal that pid 1 makes
  bool names_terminal = false;  // and the last variable ends with terminal_room for its path
  bool tells_start = false;     // of run
  TerminalShape terminal{};     // of run
  std::uint32_t arguments = 0;  // of run: how many strings of the file are arguments ...
  std::uint32_t variables = 0;  // ... and environment, after the directory, each ended by a zero
  std::int32_t process = 0;     // of signal, and of peak
  std::int32_t number = 0;      // of signal, and of connect
  bool is_v6 = false;           // of connect
};

// A process, as its box knows it.
struct ProcessRecord {
  std::int32_t pid = 0;
  std::int32_t parent = 0;
  char state = 'R';                 // as /proc has it
  std::uint16_t command_bytes = 0;  // its words, each ended by a zero, as far as there is room
  std::uint64_t cpu_ns = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t age_ns = 0;
  char command[1024] = {};
};

// What a box that was made beforehand gets when it is wanted. The rest is as in MakeBox.
struct Settle {
  std::uint32_t process_limit = 0;
  std::uint32_t open_file_limit = 0;
  std::uint32_t cpus = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t file_inodes = 0;
  std::uint64_t memory_bytes = 0;
  char home[most_home] = {};
};

enum class Tell : std::uint8_t {
  started,      // of run that wants it: `value` is its process id, inside
  terminal,     // of run: its master is beside it
  not_started,  // of run: `step` and `value`, an errno; it ends then
  ended,        // of run: `value` is the wait status of the command
  killed,       // of run: nothing of it is left, or of the turn that was to end; or `value`
  turn,         // of run: its turn has begun, or `value` is an errno
  answer,       // of the others: done, or `value` is an errno
};

// What pid 1, or a command on its way to exec, says on a channel.
struct Answer {
  Tell tell = Tell::answer;
  Step step = Step::none;
  bool memory_exceeded = false;  // of ended: a process was killed because of the memory limit
  std::int32_t value = 0;
  std::int32_t home = 0;     // of settle
  bool has_changed = false;  // of compare
  // Of usage. The memory also of peak, and of ended: the most that the command has had, or the
  // largest of the children that it has waited for.
  std::uint64_t file_bytes = 0;
  std::uint64_t file_inodes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t processes = 0;
  std::uint64_t cpu_ns = 0;  // of all that there have been
};

enum class Order : std::uint8_t {
  kill,       // the run's processes, in whatever session
  kill_late,  // the same, unless its command has ended by itself: `killed` says ESRCH then
  signal,     // for the foreground of its terminal, or its process group
  turn,       // of a command that stays: what it starts from now on is of the turn `turn`
  kill_turn,  // the command, and what it has started in the turn `turn` or later
  resize,     // its terminal, behind gVisor
};

// Cloche to pid 1, on the channel of a run.
struct RunOrder {
  Order order = Order::kill;
  std::int32_t signal = 0;
  std::uint32_t turn = 0;  // each is larger than the one before
  TerminalShape shape{};
};

// --- The network

inline constexpr std::size_t most_dials = 256;  // of a box, at the same time

// From pid 1: a program asks for a connection to anywhere but the box's own loopback, or to a port
// of that where nobody listens; and later, how it went on.
struct Dial {
  enum class Tell : std::uint8_t {
    asked,    // is it to be?
    joined,   // the program has it: our end is beside this
    dropped,  // nobody wants it any more
  };
  Tell tell = Tell::asked;
  bool is_loopback = false;
  bool is_patient = false;  // the program waits for as long as it takes
  std::uint16_t port = 0;
  std::uint32_t id = 0;
  std::uint8_t address[16] = {};  // an IPv4 one in its mapped form
};

// Cloche to pid 1.
struct DialAnswer {
  enum class Say : std::uint8_t {
    join,    // to a socket of ours
    stay,    // it is the box's own affair
    refuse,  // with `error`, an errno
  };
  Say say = Say::refuse;
  std::uint32_t id = 0;
  std::int32_t error = 0;
};

// --- The file server

inline constexpr std::size_t most_path = 4096;
inline constexpr std::size_t most_piece = 128 << 10;  // of a file's content in a record
inline constexpr std::size_t most_handles = 256;
inline constexpr std::size_t most_attribute =
    64 << 10;  // of a value, or of all names, as Linux has it

enum class FileOp : std::uint8_t {
  open,            // number: FileOpen flags, mode; answer: the handle, and whether it is new
  close,           // handle
  read,            // handle, offset, number: how much
  write,           // handle, offset, bytes
  append,          // handle, bytes
  truncate,        // handle, offset: the size
  fill_holes,      // handle, offset: up to there, where that can be promised; answer as handle_stat
  handle_mode,     // handle, mode
  handle_times,    // handle, times
  handle_stat,     // handle
  stat,            // path
  link_stat,       // path
  list,            // path; answers until one is the last
  make_directory,  // path, mode
  make_folders,    // path: it, unless it is there, and the folders that lead to it
  remove,          // path
  remove_all,      // path
  rename,          // path, other; number: 1 where nothing may be there
  change_mode,     // path, mode
  change_owner,    // path, user, group
  set_times,       // path, times
  set_link_times,  // path, times: of a symbolic link itself
  symlink,         // path, other: the target
  link,            // path, other: what is there
  resolve,         // path; answer: where it leads
  attribute_names,   // path; answer: names, each ended by a zero
  attribute,         // path, other: the name; answer: the value
  set_attribute,     // path, other: the name, bytes
  remove_attribute,  // path, other: the name
};

namespace file_open {
inline constexpr std::uint32_t read = 1, write = 2, create = 4, exclusive = 8, truncate = 16;
}

// A request; after it the path and the other path, each ended by a zero, then the bytes.
struct FileRequest {
  FileOp op = FileOp::stat;
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  std::uint32_t mode = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint64_t offset = 0;
  std::int64_t accessed_ns = 0;
  std::int64_t modified_ns = 0;
};

// One file; after it the name and the target, each ended by a zero.
struct FileEntry {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t created_ns = 0;
  std::int64_t accessed_ns = 0;
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;  // with the type, as stat has it
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint16_t name_bytes = 0;
  std::uint16_t target_bytes = 0;
};

// An answer; after it bytes, or entries.
struct FileAnswer {
  std::int32_t error = 0;  // an errno
  std::uint32_t handle = 0;
  std::uint32_t bytes = 0;  // that follow
  // Not bool: it comes from a process that a guest may have in its hand.
  std::uint8_t last = 1;  // of list: no more answers come
  std::uint8_t made = 0;  // of open: the file was not there
};

}  // namespace cloche::warden
