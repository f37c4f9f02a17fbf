// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace cloche::grading {
namespace {

RunVerdict error(std::string sentence) {
  RunVerdict verdict;
  verdict.message = std::move(sentence);
  return verdict;
}

RunVerdict graded(const Batch::Grade& grade, const RunRequest& request) {
  try {
    return grade(request);
  } catch (const std::exception& why) {
    return error(why.what());
  }
}

}  // namespace

Batch::Batch(std::string owner, std::vector<RunRequest> requests, Grade grade,
             std::function<void(std::string)> done)
    : owner_(std::move(owner)),
      requests_(std::move(requests)),
      grade_(std::move(grade)),
      done_(std::move(done)),
      answers_(requests_.size()) {}

void Batch::start(Gate& gate, std::size_t width) {
  if (requests_.empty()) return done_(R"({"results":[]})");
  for (std::size_t i = 0; i < std::min(width, requests_.size()); ++i) post_next(gate);
}

void Batch::post_next(Gate& gate) {
  std::size_t index = 0;
  {
    const MutexLock lock(mutex_);
    if (next_ == requests_.size()) return;
    index = next_++;
  }
  gate.enter({.owner = owner_,
              .work =
                  [self = shared_from_this(), index, &gate] {
                    self->answer(index, graded(self->grade_, self->requests_[index]));
                    self->post_next(gate);
                  },
              .refused =
                  [self = shared_from_this(), index, &gate] {
                    self->answer(index, error("the server is about to end"));
                    self->post_next(gate);
                  },
              .bytes = 0,
              .patience = Gate::Patience::endless});
}

void Batch::answer(std::size_t index, const RunVerdict& verdict) {
  std::string text = to_json(verdict);
  ReleasableMutexLock lock(mutex_);
  if (text.size() > answer_limit_bytes - answer_bytes_) {
    text = to_json(
        error(fmt::format("the answers of this batch have more than {} bytes: send fewer at once",
                          answer_limit_bytes)));
  }
  // The sentence of an error is not counted: there is one of them for each request at most.
  answer_bytes_ = std::min(answer_bytes_ + text.size(), answer_limit_bytes);
  answers_[index] = std::move(text);
  if (++answered_ < answers_.size()) return;
  std::string all = R"({"results":[)";
  for (std::string& one : answers_) {
    if (&one != &answers_.front()) all += ',';
    all += one;
    one = {};
  }
  lock.unlock();
  done_(all + "]}");
}

}  // namespace cloche::grading
