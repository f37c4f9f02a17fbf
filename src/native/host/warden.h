// SPDX-License-Identifier: Apache-2.0
// Warden: makes boxes, through a process of its own (`cloche-warden`), which is started at the
// first one and ends with this object, and all boxes with it. See native/warden. Some it has ready
// (BoxPool).
//
// Where that process ends before, so do its boxes, and another one is begun in its place, as long
// as that does not happen over and over.
//
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "native/host/box.h"
#include "native/host/box_plan.h"
#include "native/host/box_pool.h"
#include "native/host/large_file.h"

namespace cloche::warden {
class Packet;
}

namespace cloche::native {

// How many processes may end within that time: after more of them no other one is begun for a
// while.
struct WardenEnds {
  std::size_t most = 5;
  std::chrono::milliseconds within{60'000};
};

// What boxes may be made of, for a program that enters a jail: native/warden/gate.h.
struct WardenGate {
  struct File {
    std::filesystem::path path;
    bool is_read_only = false;
  };
  std::vector<File> mounts;  // as they are now; what is not there is left out
  std::filesystem::path images;
  int runsc = -1;
};

class Warden {
 public:
  // Empty: there is none.
  explicit Warden(std::filesystem::path program, BoxPool::Options pool = {}, WardenEnds ends = {});
  ~Warden();
  Warden(const Warden&) = delete;
  Warden& operator=(const Warden&) = delete;

  // For a program that enters a jail afterwards, in which it can start none: starts the process,
  // and one that begins others in its place (native/warden/starter.h). Without a gate boxes are
  // made of anything that this user has. Throws HostError.
  void begin(const std::optional<WardenGate>& gate = {});

  // Throws HostError with one sentence that names the step, the cause and the remedy.
  std::unique_ptr<Box> make(const BoxPlan& plan);

  // An errno where this machine has none.
  Result<LargeFile> make_file();

  // Why there are no boxes at present, or will be none; empty: there are. A process that has ended
  // is begun anew here.
  std::string trouble();

  // Told whenever it is found that the process has ended, and its boxes with it: on any thread, and
  // it must ask nothing here. To be said before the first box.
  void on_end(std::function<void()> ended) { ended_ = std::move(ended); }

  const BoxPool& pool() const noexcept { return pool_; }

  // What control groups hold of the boxes' limits (warden::controllers), as the last one said that
  // was made; 0: nothing.
  std::uint32_t controllers() const noexcept { return controllers_; }

 private:
  enum class Limits : std::uint8_t { now, later };
  std::unique_ptr<Box> make_new(const BoxPlan& plan, Limits limits);
  warden::BoxMade order(const BoxPlan& plan, const warden::MakeBox& order, int socket,
                        warden::Packet& packet);
  template <typename Order, typename Made>
  bool ask(const Order& order, std::span<const int> fds, Made& made, warden::Packet& packet)
      REQUIRES(mutex_);
  void start() REQUIRES(mutex_);
  void start_by_starter() REQUIRES(mutex_);
  pid_t start_program(const char* word, int socket, int mounter) REQUIRES(mutex_);
  void need_start_allowed() REQUIRES(mutex_);
  bool is_there() REQUIRES(mutex_);
  void bury() noexcept REQUIRES(mutex_);
  void bury_ended() REQUIRES(mutex_);

  const std::filesystem::path program_;
  const WardenEnds most_ends_;
  std::function<void()> ended_;
  Mutex mutex_;
  UniqueFd socket_ GUARDED_BY(mutex_);   // of the process; none: it is not there
  UniqueFd mounter_ GUARDED_BY(mutex_);  // none where a user runs this
  UniqueFd process_ GUARDED_BY(mutex_);  // where the starter has begun it
  pid_t pid_ GUARDED_BY(mutex_) = -1;    // where this process has
  UniqueFd starter_ GUARDED_BY(mutex_);  // none: this process starts it
  std::string gate_ GUARDED_BY(mutex_);  // a variable of its environment; empty: none
  pid_t starter_pid_ GUARDED_BY(mutex_) = -1;
  bool has_begun_ GUARDED_BY(mutex_) = false;       // once
  std::deque<SteadyTime> ends_ GUARDED_BY(mutex_);  // the last ones
  std::atomic<std::uint32_t> controllers_ = 0;
  BoxPool pool_;  // whose thread ends first
};

// One sentence for a box that cannot be made.
std::string explain(warden::Step step, int error);
// For one whose gVisor has not started.
std::string explain_gvisor(const warden::BoxReady& ready);

}  // namespace cloche::native
