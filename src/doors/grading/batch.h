// SPDX-License-Identifier: Apache-2.0
// Batch: requests that are answered together, in their order. A few of them are at the gate at a
// time, so that those of others come in between.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "doors/grading/gate.h"
#include "doors/grading/run_request.h"

namespace cloche::grading {

class Batch : public std::enable_shared_from_this<Batch> {
 public:
  // What all answers together may have; runs beyond it are errors that say so.
  static constexpr std::uint64_t answer_limit_bytes = 64ULL << 20;

  using Grade = std::function<RunVerdict(const RunRequest& request)>;
  // `done` gets the answer, JSON, once, on any thread.
  Batch(std::string owner, std::vector<RunRequest> requests, Grade grade,
        std::function<void(std::string)> done);
  // Not more than `width` at a time. The gate outlives the batch.
  void start(Gate& gate, std::size_t width);

 private:
  void post_next(Gate& gate);
  void answer(std::size_t index, const RunVerdict& verdict);

  const std::string owner_;
  const std::vector<RunRequest> requests_;
  const Grade grade_;
  const std::function<void(std::string)> done_;
  Mutex mutex_;
  std::vector<std::string> answers_ GUARDED_BY(mutex_);
  std::uint64_t answer_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t next_ GUARDED_BY(mutex_) = 0;
  std::size_t answered_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::grading
