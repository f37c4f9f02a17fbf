// SPDX-License-Identifier: Apache-2.0
// EdgeWatch: one thread that tells when descriptors may do more than before, for all sandboxes of
// an engine. It begins with the first descriptor. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>

#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche::sandbox {

class EdgeWatch {
 public:
  EdgeWatch() = default;
  ~EdgeWatch();  // when nothing is watched any more
  EdgeWatch(const EdgeWatch&) = delete;
  EdgeWatch& operator=(const EdgeWatch&) = delete;

  // Calls back whenever there may be more to read, or room to write, or an end: at once, too. The
  // callback must be quick, must not throw, and ends no watch.
  class Watched {
   public:
    Watched(EdgeWatch& all, std::uint64_t id) : all_(all), id_(id) {}
    ~Watched() { all_.remove(id_); }  // it is not called any more
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

   private:
    EdgeWatch& all_;
    const std::uint64_t id_;
  };
  // `fd` must be there until the end of the watch. ENOMEM and the like, or EAGAIN: no thread.
  Result<std::unique_ptr<Watched>> add(int fd, std::function<void()> changed);

 private:
  struct Entry {
    int fd = -1;
    std::function<void()> changed;
  };
  Result<void> begin() REQUIRES(mutex_);
  void remove(std::uint64_t id);
  void run();

  Mutex mutex_;  // held while one is called
  UniqueFd events_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Entry> entries_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  UniqueFd end_;
  int waits_on_ = -1;  // events_, for the thread
  std::thread thread_;
};

}  // namespace cloche::sandbox
