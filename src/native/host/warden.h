// SPDX-License-Identifier: Apache-2.0
// Warden: makes boxes, through a process of its own (`cloche-warden`), which is started at the
// first one and ends with this object, and all boxes with it. See native/warden.
//
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>

#include "base/mutex.h"
#include "base/unique_fd.h"
#include "native/host/box.h"
#include "native/host/mount_set.h"

namespace cloche::native {

struct BoxPlan {
  int image = -1;       // its root folder, open for reading
  int begin_with = -1;  // a folder of changes (Box::Pause::changes); -1: none
  warden::Root root = warden::Root::overlay;
  std::uint32_t user = 0;  // inside
  std::uint32_t group = 0;
  std::uint64_t file_bytes = 256ULL << 20;
  std::uint64_t file_inodes = 200'000;
  std::uint64_t memory_bytes = 1ULL << 30;
  std::uint32_t processes = 512;
  std::uint32_t open_files = 1024;
  std::vector<HostMount> mounts = {};
};

class Warden {
 public:
  // Empty: there is none.
  explicit Warden(std::filesystem::path program) : program_(std::move(program)) {}
  ~Warden();
  Warden(const Warden&) = delete;
  Warden& operator=(const Warden&) = delete;

  // Starts the process, where it is not there. Throws HostError.
  void begin();

  // Throws HostError with one sentence that names the step, the cause and the remedy.
  std::unique_ptr<Box> make(const BoxPlan& plan);

 private:
  void start() REQUIRES(mutex_);
  void bury() noexcept REQUIRES(mutex_);

  const std::filesystem::path program_;
  Mutex mutex_;
  UniqueFd socket_ GUARDED_BY(mutex_);
  UniqueFd mounter_ GUARDED_BY(mutex_);  // none where a user runs this
  pid_t pid_ GUARDED_BY(mutex_) = -1;
};

// One sentence for a box that cannot be made.
std::string explain(warden::Step step, int error);

}  // namespace cloche::native
