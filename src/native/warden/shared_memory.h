// SPDX-License-Identifier: Apache-2.0
// Memory that processes share without a file (MAP_SHARED | MAP_ANONYMOUS), as /proc/PID/maps has
// it. It counts for as much as was mapped: what of it there is nobody tells, and what a process has
// given back of its own view, or has never looked at, may be there still. A part that is mapped
// does not tell of how much it is one; so what is about to be made is said here, and counts for
// what the next look finds.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace cloche::warden {

class SharedMemory {
 public:
  // Learns by a piece of its own on what device such memory lies.
  SharedMemory() noexcept;

  // This thread is about to make so much of it. False: too many are.
  bool expect(pid_t thread, std::uint64_t bytes) noexcept;
  // Whether a look may find what was made since the last one, or what that has missed.
  bool expects_more() const noexcept { return expects_more_; }

  // A look at all processes, one after the other, between begin() and end().
  void begin() noexcept;
  // How much the process has its hands on. Where there are too many mappings to look at, all that
  // may be such memory, which is `most`.
  std::uint64_t add(pid_t pid, std::uint64_t most) noexcept;
  void end() noexcept;
  // Of the last look; what several have mapped counts once.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t most_pieces = 4096, most_calls = 512, most_rests = 64;

  struct Piece {
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::uint32_t first_look = 0, last_look = 0;
    std::size_t rest = most_rests;  // its place in rests; or none
  };
  // A call whose memory no look may have found yet.
  struct Call {
    pid_t thread = 0;
    std::uint64_t bytes = 0;
    unsigned looks = 0;  // that were whole and began when the thread had left it
  };
  struct Table {
    std::array<Piece, most_pieces> pieces;
    std::size_t piece_count = 0;
    std::array<std::uint16_t, 2 * most_pieces> index{};  // of pieces, by their inodes; from 1
    std::array<Call, most_calls> calls;
    std::size_t call_count = 0;
    // Of calls that their threads have left for others: since the last look, and before.
    std::array<std::uint64_t, 2> earlier_bytes{};
    // What the pieces that one look has found may have beyond what it saw, as long as one is there.
    std::array<std::uint64_t, most_rests> rests{};

    std::span<Piece> known() noexcept { return std::span(pieces).first(piece_count); }
    std::span<Call> open() noexcept { return std::span(calls).first(call_count); }
  };

  Table* table() noexcept;
  // What a line that is of such memory stands for; 0: it is not. `mapped` grows by what it maps.
  std::uint64_t take_line(std::string_view line, std::uint64_t& mapped) noexcept;
  Piece* piece_of(std::uint64_t inode) noexcept;
  std::uint64_t settle() noexcept;
  void keep_rest(std::uint64_t bytes) noexcept;
  void forget_gone() noexcept;

  std::array<char, 24> device_{};  // "00:01"
  std::unique_ptr<Table> table_;   // from the first of it on
  bool expects_more_ = false;
  std::uint32_t look_ = 0;
  bool is_whole_ = true;            // the look
  std::uint64_t beside_bytes_ = 0;  // of what has no piece
  std::size_t lines_left_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cloche::warden
