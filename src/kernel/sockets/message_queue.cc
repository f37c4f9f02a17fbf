// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/message_queue.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cloche::kernel {
namespace {

// A stream's piece is joined to the one before up to this size, so that single bytes do not become
// messages.
constexpr std::size_t join_bytes = 16 << 10;

// What travelled along may be sockets, whose messages carry sockets ...: however deep they lie in
// each other, the outermost call ends them all, one after the other.
void let_go(std::deque<Message> gone) noexcept {
  thread_local std::deque<Message>* ending = nullptr;
  if (ending != nullptr) {
    try {
      for (Message& message : gone) {
        if (message.ancillary.files) ending->push_back(std::move(message));
      }
    } catch (const std::bad_alloc&) {  // then they end here
    }
    return;
  }
  ending = &gone;
  while (!gone.empty()) {
    const Message next = std::move(gone.front());
    gone.pop_front();
  }
  ending = nullptr;
}

}  // namespace

std::size_t total_bytes(Gather pieces) noexcept {
  std::size_t total = 0;
  for (const auto& piece : pieces) total += piece.size();
  return total;
}

std::size_t total_bytes(Scatter pieces) noexcept {
  std::size_t total = 0;
  for (const auto& piece : pieces) total += piece.size();
  return total;
}

std::vector<std::byte> gathered(Gather from) {
  std::vector<std::byte> bytes;
  bytes.reserve(total_bytes(from));
  for (const auto& piece : from) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

std::size_t scatter(std::span<const std::byte> from, Scatter to) {
  std::size_t done = 0;
  for (const auto& piece : to) {
    const std::size_t count = std::min(piece.size(), from.size() - done);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(done), count, piece.begin());
    done += count;
  }
  return done;
}

std::size_t MessageQueue::room() const noexcept {
  if (charged_ + overhead_bytes >= limit_) return 0;
  return limit_ - charged_ - overhead_bytes;
}

bool MessageQueue::charge(std::size_t bytes) noexcept {
  const std::size_t over =
      charged_ + bytes > BufferBudget::free_bytes ? charged_ + bytes - BufferBudget::free_bytes : 0;
  const std::size_t more = over > from_budget_ ? over - from_budget_ : 0;
  if (more != 0 && !budget_->take(more)) return false;
  from_budget_ += more;
  charged_ += bytes;
  return true;
}

void MessageQueue::uncharge(std::size_t bytes) noexcept {
  charged_ -= bytes;
  const std::size_t over =
      charged_ > BufferBudget::free_bytes ? charged_ - BufferBudget::free_bytes : 0;
  if (from_budget_ > over) budget_->give_back(from_budget_ - over);
  from_budget_ = std::min(from_budget_, over);
}

bool MessageQueue::push(Message message) {
  const std::size_t size = message.bytes.size();
  if (size > room() || !charge(size + overhead_bytes)) return false;
  bytes_ += size;
  messages_.push_back(std::move(message));
  return true;
}

std::size_t MessageQueue::append(Gather from, std::size_t skip, std::size_t count,
                                 Ancillary ancillary) {
  const bool joins = !messages_.empty() && !ancillary.files && !messages_.back().ancillary.files &&
                     messages_.back().bytes.size() + count <= join_bytes &&
                     !ancillary.credentials && !messages_.back().ancillary.credentials;
  // When the kernel's budget is used up, small steps still go through.
  if (!charge(count + (joins ? 0 : overhead_bytes))) {
    constexpr std::size_t small_bytes = 1024;
    if (charged_ + small_bytes + overhead_bytes > BufferBudget::free_bytes) return 0;
    count = std::min(count, small_bytes);
    if (!charge(count + (joins ? 0 : overhead_bytes))) return 0;
  }
  if (!joins) {
    messages_.emplace_back();
    messages_.back().ancillary = std::move(ancillary);
  }
  std::vector<std::byte>& bytes = messages_.back().bytes;
  bytes.reserve(bytes.size() + count);
  std::size_t left = count;
  for (const auto& piece : from) {
    if (left == 0) break;
    if (skip >= piece.size()) {
      skip -= piece.size();
      continue;
    }
    const auto part = piece.subspan(skip, std::min(left, piece.size() - skip));
    bytes.insert(bytes.end(), part.begin(), part.end());
    left -= part.size();
    skip = 0;
  }
  bytes_ += count;
  return count;
}

Message MessageQueue::pop() {
  Message message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= message.left();
  uncharge(message.left() + overhead_bytes);
  return message;
}

std::size_t MessageQueue::take_stream(Scatter to, Take how, Ancillary& ancillary) {
  std::size_t done = 0;
  auto piece = to.begin();
  std::size_t filled = 0;  // of *piece
  const auto next_piece = [&] {
    while (piece != to.end() && filled == piece->size()) {
      ++piece;
      filled = 0;
    }
    return piece != to.end();
  };
  for (std::size_t index = 0; index < messages_.size() && next_piece();) {
    Message& message = messages_[index];
    const bool carries = message.ancillary.files || message.ancillary.credentials;
    if (carries && done != 0) break;
    std::size_t at = message.taken;
    while (at < message.bytes.size() && next_piece()) {
      const std::size_t count = std::min(message.bytes.size() - at, piece->size() - filled);
      std::memcpy(piece->data() + filled, message.bytes.data() + at, count);
      at += count;
      filled += count;
      done += count;
    }
    if (carries)
      ancillary = how == Take::peek ? message.ancillary : std::exchange(message.ancillary, {});
    if (how == Take::peek) {
      if (carries) break;
      ++index;
      continue;
    }
    const std::size_t took = at - message.taken;
    message.taken = at;
    bytes_ -= took;
    if (message.left() == 0) {
      messages_.pop_front();
      uncharge(took + overhead_bytes);
    } else {
      uncharge(took);
    }
    if (carries) break;
  }
  return done;
}

void MessageQueue::clear() noexcept {
  uncharge(charged_);
  bytes_ = 0;
  // What travelled along may be the last reference to the socket of this very queue.
  let_go(std::exchange(messages_, {}));
}

}  // namespace cloche::kernel
