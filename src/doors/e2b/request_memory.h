// SPDX-License-Identifier: Apache-2.0
// RequestMemory: answers to requests that a client may say twice (Idempotency-Key), so that they
// are done once. Thread-safe. It keeps the latest of each owner, and none longer than a day.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "doors/http/message.h"

namespace cloche::e2b {

class RequestMemory {
 public:
  // What `make` answers, or has answered to the same request: one at the same time waits for the
  // other. 409 where the key was used with another body. Failures are forgotten, and
  // what `make` throws is thrown on.
  http::Response once(const std::string& owner, std::string_view key, std::string_view body,
                      const std::function<http::Response()>& make);

 private:
  struct Entry {
    std::string owner;
    std::string key;
    std::string digest;
    std::chrono::steady_clock::time_point when;
    bool is_done = false;
    http::Response response = {};
  };
  Entry* find(const std::string& owner, std::string_view key) REQUIRES(mutex_);
  void forget(const std::string& owner, std::string_view key) REQUIRES(mutex_);

  Mutex mutex_;
  Condition done_;
  std::deque<Entry> entries_ GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace cloche::e2b
