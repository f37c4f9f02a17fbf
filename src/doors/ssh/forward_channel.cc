// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/forward_channel.h"

#include <array>

namespace cloche::ssh {
namespace {

constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::size_t turns_max = 16;  // before the other channels have theirs

}  // namespace

bool ForwardChannel::connect(std::uint16_t port) {
  Result<std::unique_ptr<LoopbackConnection>> made =
      sandbox_->connect(port, [this] { wake_.set(); });
  if (!made) return false;
  connection_ = *std::move(made);
  return true;
}

bool ForwardChannel::move() {
  const bool in = pump_in();
  const bool out = pump_out();
  if (inward_ended_ && outward_ended_) {
    close();
    return true;
  }
  return in || out;
}

bool ForwardChannel::pump_in() {
  bool moved = false;
  for (std::size_t turn = 0; turn < turns_max && !inward_ended_; ++turn) {
    if (inward_.empty()) inward_ = receive();
    if (inward_.empty() && input_ended()) {
      connection_->close_input();
      inward_ended_ = true;
      return true;
    }
    const Result<std::size_t> taken = connection_->write(inward_);
    if (!taken && taken.error() != Errno::again) {
      inward_ended_ = true;  // nobody will read it
      inward_.clear();
      return true;
    }
    if (!taken || *taken == 0) return moved;
    inward_.erase(0, *taken);
    moved = true;
  }
  // What the client still sends is thrown away, so that its end comes through.
  return moved || !receive().empty();
}

bool ForwardChannel::pump_out() {
  std::array<char, piece_bytes> piece;
  bool moved = false;
  for (std::size_t turn = 0; turn < turns_max && !outward_ended_; ++turn) {
    if (outward_.empty()) {
      const Result<std::size_t> got = connection_->read(piece);
      if (!got && got.error() == Errno::again) return moved;
      outward_.assign(piece.data(), got ? *got : 0);
      if (outward_.empty()) {
        if (!client_has_closed()) send_end_of_file();
        outward_ended_ = true;
        return true;
      }
    }
    if (client_has_closed()) {
      // Nobody takes it; who sends it may want to, before it reads what the client has sent.
      outward_.clear();
    } else if (!send(Stream::out, outward_)) {
      return moved;
    }
    moved = true;
  }
  return moved;
}

}  // namespace cloche::ssh
