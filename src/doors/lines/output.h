// SPDX-License-Identifier: Apache-2.0
// Output: the lines to the client, each whole, from any thread.
//
// A writer waits while the client does not read. When the client is gone, or a line cannot be
// written for another reason (a full disk), nothing is written any more, and `gone` says so.
#pragma once

#include <atomic>
#include <string>

#include "base/mutex.h"
#include "base/unique_fd.h"

namespace cloche::lines {

class Output {
 public:
  // `fd` is not closed here. Throws HostError.
  explicit Output(int fd);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Writes the line and its end.
  void send(std::string line) noexcept;
  // Writes one last line: what is sent afterwards is dropped.
  void send_last(std::string line) noexcept;
  // From here on nothing is written.
  void close() noexcept { closed_ = true; }

  bool gone() const noexcept { return closed_; }
  // Is readable once a line could not be written.
  int lost() const noexcept { return lost_.get(); }

 private:
  void write_all(const std::string& line) noexcept REQUIRES(mutex_);

  const int fd_;
  const UniqueFd lost_;
  Mutex mutex_;
  std::atomic<bool> closed_ = false;
};

}  // namespace cloche::lines
