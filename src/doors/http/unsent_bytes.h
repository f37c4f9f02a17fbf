// SPDX-License-Identifier: Apache-2.0
// UnsentBytes: what answers keep in memory because their clients have not read them, of each owner
// and in all. Where that becomes too much those who have read nothing for the longest time lose
// their connection, or the stream of it that they do not read.
//
// Thread-safe. An answer that goes out at once is not counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "doors/http/connection.h"

namespace cloche::http {

class UnsentBytes {
 public:
  UnsentBytes(std::uint64_t limit_bytes, std::uint64_t owner_limit_bytes)
      : limit_(limit_bytes), owner_limit_(owner_limit_bytes) {}

  // It keeps so many bytes for that owner's request from now on. Gives those that must be ended,
  // itself among them where nobody has waited longer; they are not counted any more.
  std::vector<std::shared_ptr<AnswerKeeper>> keep(const std::shared_ptr<AnswerKeeper>& keeper,
                                                  const std::string& owner, std::uint64_t bytes);
  // Its answer is sent, or lost.
  void release(AnswerKeeper* keeper);

  std::uint64_t bytes() const;

 private:
  struct Kept {
    std::weak_ptr<AnswerKeeper> keeper;
    std::string owner;
    std::uint64_t bytes;
  };
  void forget(std::unordered_map<AnswerKeeper*, Kept>::iterator kept) REQUIRES(mutex_);
  std::shared_ptr<AnswerKeeper> drop_longest(const std::string* owner) REQUIRES(mutex_);

  const std::uint64_t limit_;
  const std::uint64_t owner_limit_;
  mutable Mutex mutex_;
  std::unordered_map<AnswerKeeper*, Kept> kept_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::uint64_t> owners_ GUARDED_BY(mutex_);
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::http
