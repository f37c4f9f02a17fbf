// SPDX-License-Identifier: Apache-2.0
// What a command has written, as a model reads it: not more than it can take, and all of it in a
// file of the sandbox where that is more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "doors/mcp/tool.h"

namespace cloche::mcp {

inline constexpr std::size_t stream_limit_characters = 30'000;

// Both streams of a command, as they are written. What is beyond the limit is counted and dropped.
class Capture {
 public:
  static constexpr std::size_t limit_bytes = std::size_t{64} << 20;

  explicit Capture(Progress& progress) : progress_(progress) {}
  void take(Stream stream, std::string_view data);

  struct Bytes {
    std::string text;
    std::uint64_t dropped_bytes = 0;
  };
  // When nothing is written any more, which the analysis cannot know.
  Bytes& out() noexcept NO_THREAD_SAFETY_ANALYSIS { return out_; }
  Bytes& err() noexcept NO_THREAD_SAFETY_ANALYSIS { return err_; }

 private:
  Progress& progress_;
  Mutex mutex_;
  Bytes out_ GUARDED_BY(mutex_);
  Bytes err_ GUARDED_BY(mutex_);
};

struct Written {
  std::string out;  // UTF-8, cut in the middle where it is long
  std::string err;
  bool truncated = false;
};

Written written(Sandbox& sandbox, const Capture::Bytes& out, const Capture::Bytes& err);

// Puts a part on lines of its own behind what there is.
void add_part(std::string& text, std::string_view part);
// Output, errors under a heading, and what else can be said; "(no output)" for nothing.
std::string text_of(const Written& written, std::string_view between, std::string_view ending);

// "12", "0.5"
std::string seconds_text(std::chrono::nanoseconds time);
std::int64_t milliseconds(std::chrono::nanoseconds time);

}  // namespace cloche::mcp
