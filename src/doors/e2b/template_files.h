// SPDX-License-Identifier: Apache-2.0
// TemplateFiles: archives that clients send for the steps of a template that copy, by owner and
// hash. They are kept in memory for an hour from their last use, and bounded: of one owner and of
// all. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace cloche::e2b {

class TemplateFiles {
 public:
  struct Limits {
    std::uint64_t archive_bytes = 64ULL << 20;
    std::uint64_t owner_bytes = 128ULL << 20;
    std::uint64_t all_bytes = 512ULL << 20;
  };
  explicit TemplateFiles(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const noexcept { return limits_; }

  using Archive = std::shared_ptr<const std::string>;

  // Null where it was not sent, or has been forgotten.
  Archive find(const std::string& owner, const std::string& hash);

  // A secret for an address to which that archive may be sent, without a key, for an hour; or until
  // its owner has got so many more.
  static constexpr int owner_tickets_max = 1000;
  std::string make_ticket(const std::string& owner, const std::string& hash);
  // Whose it is; nothing where it is not of that archive.
  std::optional<std::string> owner_of_ticket(std::string_view ticket, std::string_view hash);

  // False where there is no room: the owner's oldest are forgotten first.
  bool keep(const std::string& owner, const std::string& hash, std::string archive);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    std::string owner;
    std::string hash;
    Archive archive;
    Time used;
  };
  struct Ticket {
    std::string text;
    std::string owner;
    std::string hash;
    Time made;
  };
  void forget_old(Time now) REQUIRES(mutex_);

  const Limits limits_;
  Mutex mutex_;
  std::deque<Entry> entries_ GUARDED_BY(mutex_);   // the longest unused first
  std::deque<Ticket> tickets_ GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace cloche::e2b
