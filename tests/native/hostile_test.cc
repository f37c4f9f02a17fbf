// SPDX-License-Identifier: Apache-2.0
// Each hostile program in a box: how it must end. And what is left when boxes have ended.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <netinet/in.h>
#include <sys/un.h>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/temp_dir_testing.h"
#include "native/host/box.h"
#include "native/host/patience.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

using warden::Tell;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t open_files() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

std::size_t mounts() {
  const std::string text = content_of("/proc/self/mountinfo");
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

struct End {
  std::string output;
  int status = 0;
  bool memory_exceeded = false;
};

class HostileGuest : public testing::Test {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    image_.reset(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    box_ = warden_.make(plan());
  }

  BoxPlan plan() const {
    return {.image = image_.get(),
            .limits = {.file_bytes = 64 << 20,
                       .file_inodes = 20'000,
                       .memory_bytes = 128 << 20,
                       .processes = 100}};
  }

  // In which those on their way between processes are as many as the kernel lets be.
  BoxPlan plan_of_many_descriptors() const {
    BoxPlan large = plan();
    large.limits.memory_bytes = std::uint64_t{4} << 30;
    return large;
  }

  std::vector<std::string> guest(const std::string& name, std::vector<std::string> words = {}) {
    const std::string path = "/workspace/" + name;
    using namespace warden::file_open;
    const auto file = box_->files().open(path, write | create, 0755);
    EXPECT_TRUE(file.ok());
    EXPECT_TRUE(
        box_->files().write(file->handle, 0, content_of(CLOCHE_NATIVE_GUESTS_DIR "/" + name)).ok());
    box_->files().close(file->handle);
    words.insert(words.begin(), path);
    return words;
  }

  End run(std::vector<std::string> arguments) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    auto command = box_->start({.arguments = std::move(arguments),
                                .environment = {"PATH=/usr/bin:/bin"},
                                .directory = "/workspace",
                                .files = {nothing.get(), writing.get(), writing.get()}});
    EXPECT_TRUE(command.ok());
    writing.reset();
    End end;
    for (bool ended = false; !ended;) {
      EXPECT_TRUE(readable_within((*command)->channel(), patience));
      const auto answer = (*command)->receive();
      EXPECT_TRUE(answer.ok());
      if (!answer) break;
      ended = *answer && (*answer)->tell != Tell::terminal;
      if (ended) {
        end.status = (*answer)->value;
        end.memory_exceeded = (*answer)->memory_exceeded;
      }
    }
    std::array<char, 4096> piece{};
    (void)::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
    for (ssize_t got = 1; got > 0;) {
      got = ::read(reading.get(), piece.data(), piece.size());
      if (got > 0) end.output.append(piece.data(), static_cast<std::size_t>(got));
    }
    return end;
  }

  void expect_held(const std::string& name, std::vector<std::string> words = {}) {
    EXPECT_EQ(run(guest(name, std::move(words))).output, "held\n");
    EXPECT_EQ(run({"echo", "alive"}).output, "alive\n");
  }

  // Returns when it is told that all of it has ended.
  static void kill(Command& command) {
    command.kill();
    for (bool killed = false; !killed;) {
      ASSERT_TRUE(readable_within(command.channel(), patience));
      const auto answer = command.receive();
      ASSERT_TRUE(answer.ok());
      killed = *answer && (*answer)->tell == Tell::killed;
    }
  }

  // While it writes to its file again and again, in so many processes.
  void expect_stopped_and_killed(std::vector<std::string> arguments, std::uint64_t processes) {
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    auto command = box_->start({.arguments = std::move(arguments),
                                .environment = {"PATH=/usr/bin:/bin"},
                                .directory = "/",
                                .files = {nothing.get(), nothing.get(), nothing.get()}});
    ASSERT_TRUE(command.ok());
    const auto beat = [&] { return run({"cat", "/workspace/beat"}).output; };
    const auto is_beating = [&] {
      const std::string before = beat();
      return run({"sleep", "0.2"}).output.empty() && beat() != before;
    };
    while (beat().find_first_not_of("0123456789\n") != std::string::npos) continue;
    EXPECT_TRUE(is_beating());
    EXPECT_EQ(box_->usage()->processes, processes);
    expect_no_change_in_a_pause();
    EXPECT_TRUE(is_beating());
    kill(**command);
    EXPECT_FALSE(is_beating());
    EXPECT_EQ(box_->usage()->processes, 0U);
  }

  void expect_no_change_in_a_pause() {
    const auto pause = box_->pause();
    ASSERT_TRUE(pause.ok());
    const auto changed_at = [&] {
      struct stat of{};
      EXPECT_EQ(::fstatat((*pause)->changes(), "workspace/beat", &of, 0), 0);
      return std::pair(of.st_mtim.tv_sec, of.st_mtim.tv_nsec);
    };
    const auto before = changed_at();
    ::usleep(200'000);
    EXPECT_EQ(changed_at(), before);
  }

  // A kill ends all that it has started, once there are so many processes.
  void expect_killed(const std::string& name, std::uint64_t processes) {
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    auto command = box_->start({.arguments = guest(name),
                                .environment = {},
                                .directory = "/",
                                .files = {nothing.get(), nothing.get(), nothing.get()}});
    ASSERT_TRUE(command.ok());
    // Those that stop each other may all stand still before there are as many.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (box_->usage()->processes < processes && std::chrono::steady_clock::now() < end) continue;
    kill(**command);
    EXPECT_EQ(box_->usage()->processes, 0U);
  }

  Warden warden_{warden_program(), {.boxes_of_a_kind = 0}};  // what is left is counted
  UniqueFd image_;
  std::unique_ptr<Box> box_;
};

TEST_F(HostileGuest, ReadsInit) { expect_held("reads_init"); }
TEST_F(HostileGuest, KillsInit) { expect_held("kills_init"); }
TEST_F(HostileGuest, MakesMounts) { expect_held("makes_mounts"); }
TEST_F(HostileGuest, MakesNamespaces) { expect_held("makes_namespaces"); }
TEST_F(HostileGuest, CallsTheKernel) { expect_held("calls_the_kernel"); }
TEST_F(HostileGuest, WritesSettings) { expect_held("writes_settings"); }
TEST_F(HostileGuest, ClimbsOut) { expect_held("climbs_out"); }
TEST_F(HostileGuest, GainsPrivileges) { expect_held("gains_privileges"); }
TEST_F(HostileGuest, StartsThreads) { expect_held("starts_threads"); }
TEST_F(HostileGuest, OpensFilesWithoutEnd) { expect_held("opens_files_without_end"); }
TEST_F(HostileGuest, SendsDescriptors) {
  box_ = warden_.make(plan_of_many_descriptors());
  expect_held("sends_descriptors");
}
TEST_F(HostileGuest, StopsAtItsEnd) { expect_held("stops_at_its_end"); }
TEST_F(HostileGuest, LocksMemory) { expect_held("locks_memory"); }
TEST_F(HostileGuest, MakesSetuidPrograms) { expect_held("makes_setuid_programs"); }
TEST_F(HostileGuest, ClimbsByDescriptors) { expect_held("climbs_by_descriptors"); }
TEST_F(HostileGuest, FillsQueues) { expect_held("fills_queues"); }
TEST_F(HostileGuest, FillsPipes) { expect_held("fills_pipes"); }
TEST_F(HostileGuest, FillsSockets) { expect_held("fills_sockets"); }
TEST_F(HostileGuest, AsksForLargeBuffers) { expect_held("asks_for_large_buffers"); }
TEST_F(HostileGuest, FillsConnections) { expect_held("fills_connections", {"connections"}); }
TEST_F(HostileGuest, FillsSocketsWithMessages) { expect_held("fills_connections", {"messages"}); }
TEST_F(HostileGuest, FillsSocketsWithAnswers) { expect_held("fills_connections", {"answers"}); }
TEST_F(HostileGuest, HoardsPipes) { expect_held("hoards_pipes"); }
TEST_F(HostileGuest, HoardsFifos) { expect_held("hoards_pipes", {"fifos"}); }
TEST_F(HostileGuest, HoardsEvents) { expect_held("hoards_events"); }
TEST_F(HostileGuest, HoardsTexts) { expect_held("hoards_texts"); }

// A small box, for they take long to be made.
TEST_F(HostileGuest, HoardsLocks) {
  BoxPlan small = plan();
  small.limits.memory_bytes = 48 << 20;
  for (const char* kind : {"posix", "ofd"}) {
    box_ = warden_.make(small);
    expect_held("hoards_locks", {kind});
  }
}

TEST_F(HostileGuest, HoardsThreads) {
  BoxPlan many = plan();
  many.limits.processes = 6000;
  many.limits.memory_bytes = 64 << 20;
  box_ = warden_.make(many);
  expect_held("hoards_threads");
}

// What tells of the machine, or is asked of it, and not of the box.
TEST_F(HostileGuest, ReadsNothingOfTheMachine) {
  EXPECT_EQ(
      run({"bash", "-c",
           "cd /proc; cat diskstats interrupts softirqs partitions modules schedstat locks keys "
           "kallsyms cmdline 2>&-; for i in irq pressure bus driver; do ls -A $i 2>&-; done; "
           "cat uptime >/dev/null && echo so"})
          .output,
      "so\n");
}

TEST_F(HostileGuest, SeesNoFolderOfWhoMadeItsBox) {
  const std::string command = run({"cat", "/proc/1/cmdline"}).output;
  EXPECT_TRUE(command.starts_with("cloche-warden")) << command;
  EXPECT_EQ(command.find('/'), command.npos) << command;
}

TEST_F(HostileGuest, HoardsFolders) { expect_held("hoards_folders"); }
TEST_F(HostileGuest, HoardsFoldersOnTheirWay) { expect_held("hoards_folders", {"sent"}); }
TEST_F(HostileGuest, HoardsFoldersOnTheirWayToWhatIsOnItsWay) {
  expect_held("hoards_folders", {"sent on"});
}
TEST_F(HostileGuest, HoardsSockets) { expect_held("hoards_sockets"); }
TEST_F(HostileGuest, TakesPagesOfTheImage) { expect_held("takes_pages_of_the_image"); }
TEST_F(HostileGuest, LowersItsScore) { expect_held("lowers_its_score"); }
TEST_F(HostileGuest, FeedsChildren) { expect_held("feeds_children"); }

TEST_F(HostileGuest, MemoryOfAProcessWithoutItsFirstThreadIsBounded) {
  const End end = run(guest("ends_its_first_thread", {"600"}));
  EXPECT_TRUE(end.memory_exceeded);
  EXPECT_EQ(run({"echo", "alive"}).output, "alive\n");
}

// Names as lines of /proc/PID/status begin.
TEST_F(HostileGuest, MemoryOfAProcessOfAnyNameIsBounded) {
  const std::vector<std::string> program = guest("takes_memory");
  for (const char* name : {"RssAnon:", "VmRSS:", "VmSwap:", "VmPTE:", "VmSize:"})
    EXPECT_TRUE(run({program.front(), "600", name}).memory_exceeded) << name;
  EXPECT_EQ(run({"echo", "alive"}).output, "alive\n");
}

TEST_F(HostileGuest, MemoryOfThreadsThatTakeTurnsIsBounded) {
  const End end = run(guest("takes_turns", {"600"}));
  EXPECT_TRUE(end.memory_exceeded);
  EXPECT_EQ(run({"echo", "alive"}).output, "alive\n");
}

TEST_F(HostileGuest, ThreadsThatTakeTurnsEnd) { expect_killed("takes_turns", 1); }

TEST_F(HostileGuest, AProcessWithoutItsFirstThreadStopsAndEnds) {
  expect_stopped_and_killed(guest("ends_its_first_thread"), 1);
}

TEST_F(HostileGuest, AProcessWhoseFirstThreadIsTracedStopsAndEnds) {
  expect_stopped_and_killed(guest("traces_a_first_thread"), 2);
}

// Nothing in the box is of the owner of the file.
TEST_F(HostileGuest, AProgramThatMayNotBeReadIsBoundedStopsAndEnds) {
  const TempDir folder;
  const std::filesystem::path program = folder.path() / "program";
  std::filesystem::copy_file(CLOCHE_NATIVE_GUESTS_DIR "/takes_memory", program);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  if (::chown(program.c_str(), 1234, 1234) != 0) GTEST_SKIP() << "root alone gives files away";
  ASSERT_EQ(::chmod(program.c_str(), 0711), 0);
  BoxPlan with_folder = plan();
  with_folder.mounts = {{.host_path = folder.path(), .guest_path = "/m", .is_read_only = true}};
  box_ = warden_.make(with_folder);
  EXPECT_TRUE(run({"/m/program", "600"}).memory_exceeded);
  expect_stopped_and_killed({"bash", "-c", "/m/program; true"}, 2);
}

// What a guest has on its way counts for all of one user of the machine.
TEST_F(HostileGuest, DescriptorsOnTheirWayEndNoOtherBox) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = std::min<rlim_t>(before.rlim_max, 1024);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Warden warden(warden_program(), {.boxes_of_a_kind = 0});
  std::unique_ptr<Box> quiet = warden.make(plan());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  box_ = warden.make(plan_of_many_descriptors());

  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto command = box_->start({.arguments = guest("sends_descriptors", {"and stays"}),
                              .environment = {},
                              .directory = "/",
                              .files = {nothing.get(), writing.get(), nothing.get()}});
  ASSERT_TRUE(command.ok());
  std::array<char, 5> said{};
  ASSERT_TRUE(readable_within(reading.get(), patience));
  ASSERT_EQ(::read(reading.get(), said.data(), said.size()), 5);
  EXPECT_EQ(std::string_view(said.data(), said.size()), "held\n");
  EXPECT_TRUE(warden.make(plan()));
  box_ = std::move(quiet);
  EXPECT_EQ(run({"echo", "alive"}).output, "alive\n");
}

// The kernel ends it, or there is no such call.
TEST_F(HostileGuest, UsesOldCalls) {
  const End end = run(guest("uses_old_calls"));
  EXPECT_TRUE(end.output == "held\n" || WIFSIGNALED(end.status)) << end.output << end.status;
}

// Commands are started beside it, hundreds of times.
TEST_F(HostileGuest, WatchesNewCommands) {
  const std::vector<std::string> watcher = guest("watches_new_commands");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto command = box_->start({.arguments = watcher,
                              .environment = {},
                              .directory = "/",
                              .files = {nothing.get(), writing.get(), nothing.get()}});
  ASSERT_TRUE(command.ok());
  writing.reset();
  std::array<char, 4096> text{};
  ASSERT_EQ(::read(reading.get(), text.data(), 3), 3);
  for (int i = 0; i < 200; ++i) (void)run({"true"});
  using namespace warden::file_open;
  ASSERT_TRUE(box_->files().open("/workspace/enough", write | create, 0600).ok());
  const ssize_t got = ::read(reading.get(), text.data(), text.size());
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))),
            "held\n");
}

// Beside what the host itself listens to.
TEST_F(HostileGuest, OpensSockets) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const UniqueFd abstract(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string name = "cl" + std::to_string(::getpid());
  sockaddr_un unix_address{};
  unix_address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), unix_address.sun_path + 1);
  const auto unix_size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(abstract.get(), reinterpret_cast<sockaddr*>(&unix_address), unix_size), 0);
  ASSERT_EQ(::listen(abstract.get(), 1), 0);
  expect_held("opens_sockets", {std::to_string(ntohs(address.sin_port)), name});
}

TEST_F(HostileGuest, FillsSharedMemory) {
  for (const char* kind : {"sysv", "mapped"}) {
    const End end = run(guest("fills_shared_memory", {kind}));
    EXPECT_TRUE(end.memory_exceeded) << kind << " " << end.status << " " << end.output;
  }
}

TEST_F(HostileGuest, HoardsSharedMemory) {
  // Once: what one leaves behind may still run it, so that it cannot be written.
  const std::vector<std::string> program = guest("hoards_shared_memory");
  for (const char* how : {"given_back", "child", "named", "code", "pages"}) {
    const End end = run({program.front(), how});
    EXPECT_TRUE(end.memory_exceeded) << how << " " << end.status << " " << end.output;
    EXPECT_EQ(end.output, "") << how;
  }
  EXPECT_EQ(run({"echo", "alive"}).output, "alive\n");
}

TEST_F(HostileGuest, MemoryOfNoProcessIsNotToBeHadOfADevice) {
  EXPECT_EQ(run(guest("hoards_shared_memory", {"device"})).output, "");
}

// The kernel has some for all boxes of a user.
TEST_F(HostileGuest, LeavesWatchersToOtherBoxes) {
  std::vector<std::unique_ptr<Box>> boxes;
  std::vector<std::unique_ptr<Command>> hoarders;
  for (int i = 0; i < 4; ++i) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    auto command = box_->start({.arguments = guest("hoards_watchers"),
                                .environment = {},
                                .directory = "/",
                                .files = {writing.get(), writing.get(), writing.get()}});
    ASSERT_TRUE(command.ok());
    writing.reset();
    std::array<char, 16> said{};
    ASSERT_GT(::read(reading.get(), said.data(), said.size()), 0);
    EXPECT_STREQ(said.data(), "some\n");
    hoarders.push_back(*std::move(command));
    boxes.push_back(std::exchange(box_, warden_.make(plan())));
  }
  expect_held("hoards_watchers", {"one"});
}

// What a process has made, given back and made again in another way is not what it has.
TEST_F(HostileGuest, SharedMemoryThatWasGivenBackDoesNotCount) {
  const End end = run(guest("shares_memory_briefly"));
  EXPECT_FALSE(end.memory_exceeded);
  EXPECT_EQ(end.output, "done\n");
}

TEST_F(HostileGuest, AChildHasTheMemoryOfItsParentOnceUntilItIsAProgram) {
  const End end = run(guest("borrows_memory", {"80"}));
  EXPECT_FALSE(end.memory_exceeded);
  EXPECT_EQ(end.output, "done\n");
}

TEST_F(HostileGuest, ClosesWhatPid1HasCopied) {
  EXPECT_EQ(run(guest("closes_while_it_connects")).output, "done\n");
  EXPECT_EQ(run({"echo", "alive"}).output, "alive\n");
}

TEST_F(HostileGuest, HoardsPageTables) {
  const End end = run(guest("hoards_page_tables"));
  EXPECT_TRUE(end.memory_exceeded) << end.status << " " << end.output;
}

// The next box of the same image has the file as it was.
TEST_F(HostileGuest, HoardsWatchesOfEpoll) { expect_held("hoards_epoll_watches"); }

// The more memory the machine has, the more there are of them.
TEST_F(HostileGuest, HoardsWatchesOfEpollsOnTheirWay) {
  constexpr long most = 8'000'000;
  if (std::stol(content_of("/proc/sys/fs/epoll/max_user_watches")) > most)
    GTEST_SKIP() << "to take all watches of this machine takes too long";
  box_ = warden_.make(plan_of_many_descriptors());
  expect_held("hoards_epoll_watches", {"sent"});
}

TEST_F(HostileGuest, HoardsAreasOfMemory) { expect_held("hoards_areas"); }

TEST_F(HostileGuest, ForgesLayers) {
  const std::string file = "/usr/bin/env";
  const std::string before = content_of(test_image().string() + file);
  ASSERT_FALSE(before.empty());
  expect_held("forges_layers", {file});
  EXPECT_EQ(content_of(test_image().string() + file), before);
  box_ = warden_.make(plan());
  EXPECT_EQ(run({"env", "true"}).status, 0);
}

TEST_F(HostileGuest, StopsAndContinues) { expect_killed("stops_and_continues", 20); }

TEST_F(HostileGuest, ForksWithoutEnd) { expect_killed("forks_without_end", 50); }
// Files are made and taken away while they are asked for: what is not regular is never waited for,
// and a link leads nowhere but inside.
TEST_F(HostileGuest, RacesAtTheFiles) {
  const std::string script =
      "cd /workspace; while :; do ln -sfn /etc d; ln -sfn /proc/1 d; rm -f d; mkfifo d; rm -f d; "
      "mkdir d; rmdir d; done 2>/dev/null";
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto command = box_->start({.arguments = {"bash", "-c", script},
                              .environment = {"PATH=/usr/bin:/bin"},
                              .directory = "/",
                              .files = {nothing.get(), nothing.get(), nothing.get()}});
  ASSERT_TRUE(command.ok());
  using namespace warden::file_open;
  for (int i = 0; i < 300; ++i) {
    (void)box_->files().list("/workspace/d", 1000);
    EXPECT_FALSE(box_->files().open("/workspace/d/environ", read, 0).ok());
    (void)box_->files().open("/workspace/d", read, 0);
  }
}

TEST_F(HostileGuest, EndsTheFileServer) {
  ASSERT_TRUE(box_->files().stat("/workspace").ok());
  (void)run({"bash", "-c", "kill -9 -1"});
  bool works = false;
  for (int i = 0; i < 3 && !works; ++i) works = box_->files().stat("/workspace").ok();
  EXPECT_TRUE(works);
}

TEST_F(HostileGuest, FillsFiles) {
  const std::string script =
      "head -c 200M /dev/zero >big 2>/dev/null; i=0; while [ $i -lt 30000 ] && : >f$i; do "
      "i=$((i+1)); done 2>/dev/null; truncate -s 1T sparse 2>/dev/null; true";
  (void)run({"bash", "-c", script});
  const auto usage = box_->usage();
  ASSERT_TRUE(usage.ok());
  EXPECT_LE(usage->file_bytes, 64U << 20);
  EXPECT_LE(usage->file_inodes, 20'000U);
}

// Hundreds of boxes, ended in the midst of work.
TEST_F(HostileGuest, NothingIsLeftOfBoxes) {
  box_.reset();
  const std::size_t files = open_files();
  const std::size_t mounted = mounts();
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < 300; ++i) {
    const auto box = warden_.make(plan());
    auto command = box->start({.arguments = {"bash", "-c", "sleep 1000 & setsid sleep 1000"},
                               .environment = {"PATH=/usr/bin:/bin"},
                               .directory = "/",
                               .files = {nothing.get(), nothing.get(), nothing.get()}});
    ASSERT_TRUE(command.ok());
    if (i % 3 == 0) {
      ASSERT_TRUE(box->files().stat("/").ok());
    }
  }
  EXPECT_EQ(open_files(), files + 1);
  EXPECT_EQ(mounts(), mounted);
}

// With the process that made them; the next box has a new one.
TEST_F(HostileGuest, NothingIsLeftOfAKilledWarden) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto command = box_->start({.arguments = {"bash", "-c", "echo up; exec sleep 1000"},
                              .environment = {"PATH=/usr/bin:/bin"},
                              .directory = "/",
                              .files = {nothing.get(), writing.get(), nothing.get()}});
  ASSERT_TRUE(command.ok());
  writing.reset();
  std::array<char, 16> up{};
  ASSERT_EQ(::read(reading.get(), up.data(), up.size()), 3);
  const std::string self = std::to_string(::getpid());
  std::ifstream children("/proc/" + self + "/task/" + self + "/children");
  pid_t warden = 0;
  children >> warden;
  ASSERT_EQ(content_of("/proc/" + std::to_string(warden) + "/comm"), "cloche-warden\n");
  ASSERT_EQ(::kill(warden, SIGKILL), 0);
  ASSERT_TRUE(readable_within(reading.get(), patience));
  EXPECT_EQ(::read(reading.get(), up.data(), up.size()), 0);
  EXPECT_FALSE(box_->usage().ok());
  box_.reset();
  box_ = warden_.make(plan());
  EXPECT_EQ(run({"echo", "again"}).output, "again\n");
}

// When the process that has the boxes is killed, they are.
TEST_F(HostileGuest, NothingIsLeftOfAKilledServer) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t server = ::fork();
  if (server == 0) {
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    Warden own(warden_program());
    const auto box = own.make(plan());
    auto command = box->start({.arguments = {"bash", "-c", "echo up; exec sleep 1000"},
                               .environment = {"PATH=/usr/bin:/bin"},
                               .directory = "/",
                               .files = {nothing.get(), ends[1], nothing.get()}});
    for (;;) ::pause();
  }
  const UniqueFd reading(ends[0]);
  UniqueFd(ends[1]).reset();
  std::array<char, 16> up{};
  ASSERT_EQ(::read(reading.get(), up.data(), up.size()), 3);
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  ASSERT_EQ(::waitpid(server, nullptr, 0), server);
  // The end of the pipe: nobody is left who holds it.
  ASSERT_TRUE(readable_within(reading.get(), patience));
  EXPECT_EQ(::read(reading.get(), up.data(), up.size()), 0);
}

}  // namespace
}  // namespace cloche::native
