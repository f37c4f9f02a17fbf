// SPDX-License-Identifier: Apache-2.0
// Long transfers in turns: a guest may move gigabytes in one call, and the kernel lock is held
// meanwhile, which the sandbox's time limit, its other processes and the engine's timers wait for.
// So every few milliseconds such a call stands back, and a SIGKILL that came then cuts it short.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>

#include "base/result.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Task;

// How much is moved between two looks at the clock.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;

class Turns {
 public:
  explicit Turns(Task& task) : task_(task), begin_(std::chrono::steady_clock::now()) {}

  // To be called between two pieces, with the lock, which is released for a moment when this turn
  // has lasted long enough: what the caller looked at before may have changed. False: the process
  // must die, so stop here.
  bool go_on() REQUIRES(kernel_lock);

 private:
  Task& task_;
  std::chrono::steady_clock::time_point begin_;
};

// Moves `size` bytes by `piece(done, count)`, which moves up to `count` of them from `done` on. It
// ends early where a piece is short; an error counts only when nothing has been moved.
template <typename Piece>
Result<std::size_t> in_turns(Task& task, std::size_t size, Piece&& piece) REQUIRES(kernel_lock) {
  if (size <= piece_bytes) return piece(std::size_t{0}, size);
  Turns turns(task);
  std::size_t done = 0;
  while (done < size) {
    const std::size_t count = std::min(size - done, piece_bytes);
    const Result<std::size_t> moved = piece(done, count);
    if (!moved && done == 0) return moved;
    if (!moved) break;
    done += *moved;
    if (*moved < count || !turns.go_on()) break;
  }
  return done;
}

// `move(buffer, done)` for each of the buffers until one comes back short. Small ones are moved
// together, with no turn of others in between.
template <typename Buffer, typename Move>
Result<std::size_t> each_in_turns(Task& task, std::span<const Buffer> buffers, Move&& move)
    REQUIRES(kernel_lock) {
  Turns turns(task);
  std::size_t done = 0, looked_at = 0;
  for (const Buffer& buffer : buffers) {
    const Result<std::size_t> count = move(buffer, done);
    if (!count && done == 0) return count;
    if (!count) break;
    done += *count;
    if (*count < buffer.size()) break;
    if (done - looked_at < piece_bytes) continue;
    looked_at = done;
    if (!turns.go_on()) break;
  }
  return done;
}

}  // namespace cloche::kernel
