// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/request_memory.h"

#include <algorithm>

#include "base/hex.h"
#include "base/sha256.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t remembered_max = 1000;  // of an owner
constexpr std::chrono::hours kept{24};

http::Response mismatch() {
  return http::json_response(409,
                             R"({"code":409,"error_code":"idempotency_request_mismatch",)"
                             R"("message":"this Idempotency-Key was used for another request"})");
}

}  // namespace

RequestMemory::Entry* RequestMemory::find(const std::string& owner, std::string_view key) {
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& each) { return each.owner == owner && each.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

http::Response RequestMemory::once(const std::string& owner, std::string_view key,
                                   std::string_view body,
                                   const std::function<http::Response()>& make) {
  const std::string digest = to_hex(sha256(body));
  ReleasableMutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(entries_,
                [&](const Entry& each) { return each.is_done && each.when + kept < now; });
  for (Entry* entry = find(owner, key); entry; entry = find(owner, key)) {
    if (entry->digest != digest) return mismatch();
    if (entry->is_done) return entry->response;
    done_.wait(mutex_);
  }
  if (std::ranges::count(entries_, owner, &Entry::owner) >=
      static_cast<std::ptrdiff_t>(remembered_max)) {
    const auto oldest = std::ranges::find_if(
        entries_, [&](const Entry& each) { return each.owner == owner && each.is_done; });
    if (oldest != entries_.end()) entries_.erase(oldest);
  }
  entries_.push_back({owner, std::string(key), digest, now});
  lock.unlock();
  http::Response response;
  try {
    response = make();
  } catch (...) {
    lock.lock();
    forget(owner, key);
    throw;
  }
  lock.lock();
  if (response.status >= 300) {
    forget(owner, key);
    return response;
  }
  Entry* const entry = find(owner, key);
  entry->is_done = true;
  entry->response = response;
  done_.notify_all();
  return response;
}

void RequestMemory::forget(const std::string& owner, std::string_view key) {
  std::erase_if(entries_,
                [&](const Entry& each) { return each.owner == owner && each.key == key; });
  done_.notify_all();
}

}  // namespace cloche::e2b
