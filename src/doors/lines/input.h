// SPDX-License-Identifier: Apache-2.0
// Input: the client's lines, one at a time, none longer than a limit; and the end, which is also
// there when nobody reads our output any more, or a given process has ended.
//
// For one thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/unique_fd.h"

namespace cloche::lines {

class Input {
 public:
  struct Options {
    int in = 0;          // read here; not closed
    int out = -1;        // watched for the loss of its reader; -1: not
    int lost = -1;       // Output::lost(); -1: not watched
    int parent_pid = 0;  // watched for its end; 0: none
    std::size_t line_limit_bytes = 0;
  };
  enum class Event : unsigned char {
    line,      // `line()` has it, without its end
    too_long,  // one was dropped: `line()` has its beginning, some KiB
    end,       // no more input
    lost,      // the client is gone, or its process is, or it cannot be answered
  };

  // Throws HostError when the process to watch cannot be watched; one that is gone is no error.
  explicit Input(const Options& options);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Waits for the next. A last line without an end is a line.
  Event next();
  std::string& line() noexcept { return line_; }

  // Waits for the loss of the client, `limit_ms` at most. True when it is lost.
  bool is_lost_within(int limit_ms) const;

 private:
  enum class Ready : unsigned char { input, lost };
  Ready wait() const;
  // Looks for the next line in what was read; false: there is none yet.
  bool cut_line();

  Options options_;
  UniqueFd parent_;
  bool parent_lost_ = false;
  std::string buffer_;
  std::size_t start_ = 0;     // of what is not delivered yet
  std::size_t searched_ = 0;  // up to here there is no line end
  bool reads_much_ = false;
  bool skipping_ = false;  // the rest of a line that is too long
  bool ended_ = false;
  std::string line_;
};

}  // namespace cloche::lines
