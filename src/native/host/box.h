// SPDX-License-Identifier: Apache-2.0
// Box: native processes behind a wall, with files, terminals and a loopback of their own. Made by a
// Warden. What is asked of it is answered by its pid 1, which no guest can hold up; a box that does
// not answer nevertheless is ended.
//
// Threads: every member may be called from any thread. Destroying it ends all that runs in it and
// waits for that.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "native/host/box_plan.h"
#include "native/host/file_client.h"
#include "native/host/patience.h"
#include "native/warden/wire.h"

namespace cloche::native {

struct CommandSpec {
  std::vector<std::string>
      arguments;  // the first is the program, looked up in PATH without a slash
  std::vector<std::string> environment;  // NAME=value
  std::string directory;                 // absolute
  std::optional<warden::TerminalShape> terminal;
  bool names_terminal = false;  // the last variable has warden::terminal_room for its path
  bool tells_start = false;     // Command::pid() is learned
  std::vector<int> files;  // descriptors 0, 1, ... of the command, copied; none with a terminal
};

// A command of a box. Destroying it ends the command and all that it has started, unless the
// command itself has ended: then what it left goes on.
class Command {
 public:
  explicit Command(UniqueFd channel, UniqueFd terminal = {})
      : channel_(std::move(channel)), terminal_(std::move(terminal)) {}

  // Readable when receive() has something.
  int channel() const noexcept { return channel_.get(); }
  // What pid 1 says next of its end; nothing: there is nothing yet. EPIPE: the box is gone.
  Result<std::optional<warden::Answer>> receive();
  // Inside; 0 until receive() has learned it.
  int pid() const noexcept { return pid_; }
  // The master of its terminal, after Tell::terminal. Behind gVisor a stream that leads to it, from
  // the beginning; resize() is for that.
  UniqueFd take_terminal() noexcept { return std::move(terminal_); }
  void resize(const warden::TerminalShape& shape);

  // Asks for the end of all that the command has started; Tell::killed comes.
  void kill();
  // The same, unless the command has ended by itself: Tell::killed says ESRCH then.
  void kill_late();
  void signal(int number);
  // Of one that stays, and does one thing after the other: what it starts from now on is of this
  // turn, whose number is larger than that of the one before; Tell::turn comes.
  void begin_turn(std::uint32_t turn);
  // Asks for its end, and that of all that it has started in this turn; Tell::killed comes.
  void kill_turn(std::uint32_t turn);

 private:
  UniqueFd channel_;
  int pid_ = 0;
  UniqueFd terminal_;
};

struct BoxUsage {
  std::uint64_t file_bytes = 0;
  std::uint64_t file_inodes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t processes = 0;
  std::chrono::nanoseconds cpu{0};
};

class Box {
 public:
  Box(UniqueFd socket, UniqueFd process, warden::Isolation isolation = warden::Isolation::full);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  // The limits and the home of the plan, for a box that was made to get them later, before anything
  // else is asked of it. After an error it is of no use; what it says is how its home was made.
  Result<Result<void>> settle(const BoxPlan& plan);

  // Where the command cannot be started it says so on its channel. E2BIG: more arguments than there
  // is room for.
  Result<std::unique_ptr<Command>> start(const CommandSpec& spec);
  FileClient& files() noexcept { return files_; }

  // Ends all processes.
  void kill_all();
  // Nobody wants what is still written to these pipes: the box reads them itself. At most six.
  void drain(std::span<const int> pipes);
  Result<BoxUsage> usage();
  // Whether no file of the image is changed or gone, and none is added but in /tmp and /workspace
  // and below, where it is not of a user's own Python (.local).
  bool is_as_image();
  // All that guests run. What they say of themselves is theirs to choose.
  Result<std::vector<warden::ProcessRecord>> processes();
  // The most memory that a process has had at once; 0: it is gone.
  Result<std::uint64_t> peak_memory(int pid);
  // EINVAL: no signal; ESRCH: no process.
  Result<void> signal(int pid, int number);

  // A network, from now on: `dials` has warden::Dial records, `names` are sockets at port 53 of the
  // box's loopback, as many as the host gave. Once. The box ends when `dials` is closed.
  struct Network {
    UniqueFd dials;
    std::vector<UniqueFd> names;
  };
  Result<Network> open_network();

  // Where calls of the commands of the host arrive (warden/call_wire.h): a listener that does not
  // block. The name is free again when it is closed. EADDRINUSE: a guest has taken it.
  Result<UniqueFd> open_calls();

  // A socket that is connected to a port of the box's loopback, or on its way there; it does not
  // block. ECONNREFUSED: nothing listens there.
  enum class Loopback : std::uint8_t { v4, v6 };
  Result<UniqueFd> connect(std::uint16_t port, Loopback family);

  // The changed files, as a file in memory that another box of the same image can be given
  // (warden/tree_stream.h); so many bytes at most, EFBIG. While processes are stopped.
  Result<UniqueFd> pack(std::uint64_t limit_bytes);
  // The files become those. In a box that nothing has run in yet; after an error it is of no use.
  // EINVAL: it is no such stream. ENOSPC.
  Result<void> unpack(int files);

  // Behind gVisor nothing that is open inside can be given out: calls that do so are ENOTSUP.
  warden::Isolation isolation() const noexcept { return isolation_; }

  // The folder of changes, with all processes stopped until the object, and every other one, is
  // gone. Behind gVisor there is no such folder: what is packed is all of it.
  class Pause {
   public:
    Pause(Box& box, UniqueFd changes) : box_(box), changes_(std::move(changes)) {}
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    int changes() const noexcept { return changes_.get(); }

   private:
    Box& box_;
    UniqueFd changes_;
  };
  Result<std::unique_ptr<Pause>> pause();

  // Ends it at once; everything fails from then on.
  void end() noexcept;
  // The same with one that does not answer.
  void give_up() noexcept;
  bool has_ended() const noexcept;
  // One sentence, of one that nobody has ended here; empty: it is there, or has been ended.
  std::string why_ended() const;

 private:
  Result<warden::Answer> ask(warden::Ask what, std::vector<UniqueFd>* beside = nullptr,
                             std::span<const int> given = {});
  Result<warden::Answer> ask(const warden::Request& request, std::vector<UniqueFd>* beside,
                             std::span<const int> given);
  Result<warden::Answer> ask(Sockets sockets, const warden::Request& request,
                             std::vector<UniqueFd>* beside, std::span<const int> given);
  // Of who is not pid 1, and takes its time.
  static Result<void> hear_answer(int channel);
  Result<UniqueFd> open_channel(const warden::Request& request, std::span<const int> more);
  Result<UniqueFd> open_channel(Sockets sockets, const warden::Request& request,
                                std::span<const int> more);

  UniqueFd socket_;
  UniqueFd process_;
  std::atomic<bool> was_ended_ = false;   // by end()
  std::atomic<bool> was_silent_ = false;  // by give_up()
  const warden::Isolation isolation_;
  FileClient files_;
  Mutex pause_mutex_;  // held while processes are stopped or go on
  int pauses_ GUARDED_BY(pause_mutex_) = 0;
};

}  // namespace cloche::native
