// SPDX-License-Identifier: Apache-2.0
// Sums of the pages of a memory image, by which two images of different processes or machines are
// told to be the same where it matters. They find damage and differences; they are no defence.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "wasm/memory_image.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {

class PageSums {
 public:
  PageSums() = default;
  PageSums(const PageSums&) = delete;
  PageSums& operator=(const PageSums&) = delete;

  // One sum, in hex, of all pages of `image` but those in `runs`, which are sorted and disjoint.
  // Always asked with the same image. Empty where the host refuses to map it.
  std::string outside(const MemoryImage& image, const std::vector<PageRun>& runs) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::vector<std::uint64_t> pages_ GUARDED_BY(mutex_);  // made at the first question
};

// Of these bytes, in hex.
std::string sum_of(std::span<const std::byte> bytes);

// The same of bytes that come in parts.
class RunningSum {
 public:
  RunningSum();
  ~RunningSum();
  RunningSum(const RunningSum&) = delete;
  RunningSum& operator=(const RunningSum&) = delete;

  void add(std::span<const std::byte> bytes);
  std::string end() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cloche::wasm
