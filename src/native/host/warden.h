// SPDX-License-Identifier: Apache-2.0
// Warden: makes boxes, through a process of its own (`cloche-warden`), which is started at the
// first one and ends with this object, and all boxes with it. See native/warden. Some it has ready
// (BoxPool).
//
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

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

class Warden {
 public:
  // Empty: there is none.
  explicit Warden(std::filesystem::path program, BoxPool::Options pool = {});
  ~Warden();
  Warden(const Warden&) = delete;
  Warden& operator=(const Warden&) = delete;

  // Starts the process, where it is not there. Throws HostError.
  void begin();

  // Throws HostError with one sentence that names the step, the cause and the remedy.
  std::unique_ptr<Box> make(const BoxPlan& plan);

  // An errno where this machine has none.
  Result<LargeFile> make_file();

  // Why there are no boxes any more, and will be none; empty: there are. A process that has ended
  // is begun anew here, where this one may start programs.
  std::string trouble();

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
  void bury() noexcept REQUIRES(mutex_);

  const std::filesystem::path program_;
  Mutex mutex_;
  UniqueFd socket_ GUARDED_BY(mutex_);
  UniqueFd mounter_ GUARDED_BY(mutex_);  // none where a user runs this
  pid_t pid_ GUARDED_BY(mutex_) = -1;
  bool has_begun_ GUARDED_BY(mutex_) = false;  // once
  std::atomic<std::uint32_t> controllers_ = 0;
  BoxPool pool_;  // whose thread ends first
};

// One sentence for a box that cannot be made.
std::string explain(warden::Step step, int error);
// For one whose gVisor has not started.
std::string explain_gvisor(const warden::BoxReady& ready);

}  // namespace cloche::native
