// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_files.h"

#include <algorithm>
#include <utility>

#include "base/constant_time.h"
#include "base/random.h"

namespace cloche::e2b {
namespace {

constexpr std::chrono::hours kept_for{1};
constexpr std::size_t ticket_bytes = 32;
constexpr std::size_t tickets_max = 10'000;

}  // namespace

void TemplateFiles::forget_old(Time now) {
  while (!entries_.empty() && now - entries_.front().used > kept_for) entries_.pop_front();
  while (!tickets_.empty() &&
         (now - tickets_.front().made > kept_for || tickets_.size() > tickets_max))
    tickets_.pop_front();
}

TemplateFiles::Archive TemplateFiles::find(const std::string& owner, const std::string& hash) {
  const Time now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  forget_old(now);
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& each) { return each.owner == owner && each.hash == hash; });
  if (found == entries_.end()) return nullptr;
  found->used = now;
  std::rotate(found, found + 1, entries_.end());
  return entries_.back().archive;
}

std::string TemplateFiles::make_ticket(const std::string& owner, const std::string& hash) {
  const Time now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  const auto is_own = [&](const Ticket& each) { return each.owner == owner; };
  if (std::ranges::count_if(tickets_, is_own) >= owner_tickets_max)
    tickets_.erase(std::ranges::find_if(tickets_, is_own));
  tickets_.push_back({random_hex(ticket_bytes), owner, hash, now});
  forget_old(now);
  return tickets_.back().text;
}

std::optional<std::string> TemplateFiles::owner_of_ticket(std::string_view ticket,
                                                          std::string_view hash) {
  const MutexLock lock(mutex_);
  forget_old(std::chrono::steady_clock::now());
  for (const Ticket& each : tickets_) {
    if (each.hash == hash && is_same_secret(ticket, each.text)) return each.owner;
  }
  return std::nullopt;
}

bool TemplateFiles::keep(const std::string& owner, const std::string& hash, std::string archive) {
  const Time now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  forget_old(now);
  std::erase_if(entries_,
                [&](const Entry& each) { return each.owner == owner && each.hash == hash; });
  std::uint64_t all = archive.size(), own = archive.size();
  for (const Entry& each : entries_) {
    all += each.archive->size();
    if (each.owner == owner) own += each.archive->size();
  }
  for (auto each = entries_.begin(); own > limits_.owner_bytes && each != entries_.end();) {
    if (each->owner != owner) {
      ++each;
      continue;
    }
    all -= each->archive->size();
    own -= each->archive->size();
    each = entries_.erase(each);
  }
  if (archive.size() > limits_.archive_bytes || all > limits_.all_bytes) return false;
  entries_.push_back({owner, hash, std::make_shared<const std::string>(std::move(archive)), now});
  return true;
}

}  // namespace cloche::e2b
