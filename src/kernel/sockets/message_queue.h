// SPDX-License-Identifier: Apache-2.0
// MessageQueue: what one socket has sent and another has not yet received: datagrams, or the pieces
// of a stream, with the descriptors and credentials that travel along. Bounded, and charged to the
// kernel's BufferBudget. Kernel lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel/files/byte_ring.h"
#include "kernel/files/file.h"
#include "kernel/sockets/address.h"

namespace cloche::kernel {

struct PeerCredentials {
  std::int32_t pid = 0;
  std::uint32_t uid = ~std::uint32_t{0};
  std::uint32_t gid = ~std::uint32_t{0};
};

// Files on their way in SCM_RIGHTS. Shared with the SocketTable, which empties those that nobody
// can receive any more.
using FilesInFlight = std::shared_ptr<std::vector<FilePtr>>;

struct Ancillary {
  FilesInFlight files;
  std::optional<PeerCredentials> credentials;
};

// Where the bytes of a message come from and go to: the pieces of an iovec.
using Gather = std::span<const std::span<const std::byte>>;
using Scatter = std::span<const std::span<std::byte>>;
std::size_t total_bytes(Gather pieces) noexcept;
std::size_t total_bytes(Scatter pieces) noexcept;
// Copies into the pieces, as far as they go; how much.
std::size_t scatter(std::span<const std::byte> from, Scatter to);
std::vector<std::byte> gathered(Gather from);

struct Message {
  std::vector<std::byte> bytes;
  std::size_t taken = 0;  // a stream takes pieces
  Ancillary ancillary;
  SocketAddress from;

  std::size_t left() const noexcept { return bytes.size() - taken; }
};

class MessageQueue {
 public:
  static constexpr std::size_t default_limit_bytes = 212992;
  // What a message counts for besides its bytes: empty ones take memory as well.
  static constexpr std::size_t overhead_bytes = 128;

  explicit MessageQueue(std::shared_ptr<BufferBudget> budget) : budget_(std::move(budget)) {}
  ~MessageQueue() { clear(); }
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  std::size_t limit() const noexcept { return limit_; }
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }

  bool empty() const noexcept { return messages_.empty(); }
  std::size_t size_bytes() const noexcept { return bytes_; }
  // How many bytes one more message may have now. An empty queue always takes one small message.
  std::size_t room() const noexcept;
  // True when a sender that sleeps must be woken: half of it is free.
  bool has_room() const noexcept { return charged_ <= limit_ / 2; }

  // A message as a whole; false when there is no room.
  bool push(Message message);
  // The bytes [skip, skip + count) of `from`, at the end of the stream: joined to the last piece
  // where nothing stands between. `count` is at most room(); how many were taken, fewer when memory
  // is short.
  std::size_t append(Gather from, std::size_t skip, std::size_t count, Ancillary ancillary);

  const Message& front() const { return messages_.front(); }
  Message pop();
  // Takes (or with `peek` copies) bytes of the stream up to the next piece that carries something
  // else, which `ancillary` gets.
  enum class Take { remove, peek };
  std::size_t take_stream(Scatter to, Take how, Ancillary& ancillary);

  void clear() noexcept;

 private:
  bool charge(std::size_t bytes) noexcept;
  void uncharge(std::size_t bytes) noexcept;

  std::shared_ptr<BufferBudget> budget_;
  std::deque<Message> messages_;
  std::size_t limit_ = default_limit_bytes;
  std::size_t bytes_ = 0;    // not yet received
  std::size_t charged_ = 0;  // with overhead
  std::size_t from_budget_ = 0;
};

}  // namespace cloche::kernel
