// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/stream_connection.h"

#include <algorithm>
#include <utility>

namespace cloche::kernel {

StreamConnection::StreamConnection(std::shared_ptr<BufferBudget> budget, SocketType type)
    : type_(type), first_(budget), second_(std::move(budget)) {}

void StreamConnection::wake(End end) noexcept {
  if (WaitQueue* queue = side(end).queue) queue->wake_all();
  if (StreamListener* listener = side(end).listener) listener->stream_changed();
}

Result<std::size_t> StreamConnection::send(End from_end, Gather from, std::size_t skip,
                                           Ancillary& ancillary) {
  const End to_end = other(from_end);
  Side& to = side(to_end);
  if (side(from_end).send_shut || to.receive_shut || to.closed) return Errno::pipe;
  const std::size_t size = total_bytes(from) - skip;
  if (type_ == SocketType::seqpacket) {
    if (size > to.incoming.limit() - MessageQueue::overhead_bytes) return Errno::msgsize;
    if (size > to.incoming.room()) return Errno::again;
    Message message;
    message.bytes = gathered(from);
    message.ancillary = ancillary;
    if (!to.incoming.push(std::move(message))) return Errno::again;
    wake(to_end);
    return size;
  }
  if (size == 0) return std::size_t{0};
  const std::size_t count = std::min(size, to.incoming.room());
  if (count == 0) return Errno::again;
  const std::size_t taken = to.incoming.append(from, skip, count, ancillary);
  if (taken == 0) return Errno::again;
  ancillary = {};
  wake(to_end);
  return taken;
}

Result<Received> StreamConnection::receive(End at, Scatter to, std::uint32_t flags) {
  Side& own = side(at);
  Received received;
  if (own.incoming.empty()) {
    if (std::exchange(own.reset, false)) return Errno::connreset;
    if (!at_end(at)) return Errno::again;
    return received;
  }
  const bool had_room = own.incoming.has_room();
  if (type_ == SocketType::seqpacket) {
    const Message& message = own.incoming.front();
    received.full_count = message.bytes.size();
    received.count = scatter(message.bytes, to);
    received.ancillary = message.ancillary;
    received.flags = msg_eor | (received.count < received.full_count ? msg_trunc : 0);
    if ((flags & msg_peek) == 0) (void)own.incoming.pop();
  } else {
    const auto how =
        (flags & msg_peek) != 0 ? MessageQueue::Take::peek : MessageQueue::Take::remove;
    received.count = own.incoming.take_stream(to, how, received.ancillary);
    received.full_count = received.count;
  }
  // The sender of a large packet may want more than the usual room, and one for whom memory was
  // short waits for the end.
  const bool more_room = !had_room && own.incoming.has_room();
  if (more_room || type_ == SocketType::seqpacket || own.incoming.empty()) wake(other(at));
  return received;
}

void StreamConnection::shut_down_send(End end) {
  side(end).send_shut = true;
  wake(other(end));
  wake(end);
}

void StreamConnection::shut_down_receive(End end) {
  side(end).receive_shut = true;
  wake(other(end));
  wake(end);
}

void StreamConnection::close(End end) {
  Side& own = side(end);
  if (std::exchange(own.closed, true)) return;
  own.send_shut = own.receive_shut = true;
  own.queue = nullptr;
  own.listener = nullptr;
  if (!own.incoming.empty()) {
    side(other(end)).reset = true;
    own.incoming.clear();
  }
  wake(other(end));
}

void StreamConnection::abort(End end) {
  side(other(end)).reset = true;
  close(end);
}

PollEvents StreamConnection::poll(End end) const {
  const Side& own = side(end);
  const Side& peer = side(other(end));
  PollEvents ready = 0;
  if (!own.incoming.empty() || at_end(end) || own.reset) ready |= pollin | pollrdnorm;
  if (at_end(end)) ready |= pollrdhup;
  if (own.reset) ready |= pollerr;
  const bool both_shut = own.send_shut && at_end(end);
  if (both_shut || peer.closed) ready |= pollhup;
  if (peer.incoming.has_room() || own.send_shut || peer.receive_shut) ready |= pollout | pollwrnorm;
  return ready;
}

}  // namespace cloche::kernel
