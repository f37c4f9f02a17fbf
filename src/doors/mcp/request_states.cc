// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/request_states.h"

#include <fmt/format.h>

#include <charconv>

#include "base/constant_time.h"
#include "base/hex.h"
#include "base/hmac.h"
#include "base/random.h"

namespace cloche::mcp {
namespace {

constexpr std::size_t nonce_bytes = 16;

std::int64_t seconds_of(RequestStates::Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

RequestStates::RequestStates() : key_{} { fill_random(key_); }

// "NONCE.SECONDS" is the head, "HEAD.HMAC" the whole.
std::string RequestStates::seal(std::string_view head, std::string_view about) const {
  return to_hex(hmac_sha256(key_, fmt::format("{}\n{}", head, about)));
}

std::string RequestStates::make(std::string_view about, Time now) const {
  const std::string head = fmt::format("{}.{}", random_hex(nonce_bytes), seconds_of(now));
  return fmt::format("{}.{}", head, seal(head, about));
}

bool RequestStates::take(const std::string& owner, std::string_view state, std::string_view about,
                         Time now) {
  const std::size_t end = state.rfind('.');
  if (end == std::string_view::npos) return false;
  const std::string head(state.substr(0, end));
  if (!is_same_digest(state.substr(end + 1), seal(head, about))) return false;
  // It is ours, so it has a time.
  const std::string_view time = std::string_view(head).substr(head.find('.') + 1);
  std::int64_t made = 0;
  (void)std::from_chars(time.data(), time.data() + time.size(), made);
  if (seconds_of(now) - made > std::chrono::seconds(lifetime).count()) return false;

  const MutexLock lock(mutex_);
  std::map<std::string, Time>& own = taken_[owner];
  std::erase_if(own, [&](const auto& entry) { return entry.second < now; });
  // No room to remember it: then it cannot be taken once.
  if (own.size() >= owner_limit) return false;
  return own.emplace(head, now + lifetime).second;
}

}  // namespace cloche::mcp
