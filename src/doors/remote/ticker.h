// SPDX-License-Identifier: Apache-2.0
// Ticker: calls functions again and again, each at its own interval, on one thread that is there
// while there is something to call. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace cloche::remote {

class Ticker {
 public:
  using Id = std::uint64_t;

  Ticker() = default;
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // The first call is at once. `call` should be quick, and must not throw.
  Id add(std::chrono::milliseconds interval, std::function<void()> call);
  // It is not called any more, and no call of it is in progress. Not from a call.
  void remove(Id id);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Clock::time_point due;
    std::chrono::milliseconds interval;
    std::function<void()> call;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Id, Entry> entries_;
  Id last_ = 0;
  Id calling_ = 0;  // 0: none
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cloche::remote
