// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/progress.h"

#include "base/utf8.h"

namespace cloche::mcp {
namespace {

constexpr std::chrono::milliseconds interval{500};
constexpr std::size_t line_limit_bytes = 200;

}  // namespace

Progress::Progress(session::Timers& timers, Tell tell) : timers_(timers), tell_(std::move(tell)) {
  if (!tell_) return;
  const MutexLock lock(mutex_);
  arm();
}

Progress::~Progress() {
  if (!tell_) return;
  session::Timers::Id last;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    last = timer_;
  }
  timers_.cancel(last);
}

void Progress::arm() {
  timer_ = timers_.at(std::chrono::steady_clock::now() + interval, [this] { tick(); });
}

void Progress::tick() {
  std::string line;
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
    line = valid_utf8(line_);
  }
  tell_(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(), line);
  const MutexLock lock(mutex_);
  if (!ended_) arm();
}

void Progress::note(std::string_view data) {
  if (!tell_) return;
  const MutexLock lock(mutex_);
  // Only what can be part of the last line counts.
  constexpr std::size_t tail_bytes = 4 * line_limit_bytes;
  if (data.size() > tail_bytes) data.remove_prefix(data.size() - tail_bytes);
  for (const char c : data) {
    if (c == '\n' || c == '\r') {
      line_ends_ = true;
      continue;
    }
    if (line_ends_) line_.clear();
    line_ends_ = false;
    if (line_.size() < line_limit_bytes) line_.push_back(c);
  }
}

}  // namespace cloche::mcp
