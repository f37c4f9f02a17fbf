// SPDX-License-Identifier: Apache-2.0
// AnswerMemory: answers to requests with an Idempotency-Key, so that one whose answer was lost on
// its way can be asked again, and is not done again.
//
// The same key, asker and address with the same content is the same request: it gets the answer of
// the first, and waits for it where that is still being done. With another content it is refused.
// An answer by which nothing was done, such as "not now", is not kept: the next one is a new try.
//
// What is kept is bounded: 64 answers of one asker and address, some megabytes and an hour of all;
// the oldest go first, of the owner that has most: nobody's push out what somebody else may ask for
// again. Of an answer that is too large only that it was given is kept. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "doors/http/server.h"

namespace cloche::http {

class AnswerMemory {
 public:
  struct Limits {
    std::size_t answers_of_scope = 64;
    std::uint64_t answer_max_bytes = 1 << 20;
    std::uint64_t bytes = 64 << 20;
    std::chrono::steady_clock::duration age = std::chrono::hours(1);
  };
  using Reject = std::function<Response(int status, std::string_view reason)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // `reject` makes the answers that are no answer to the request. Must outlive all exchanges.
  AnswerMemory() : AnswerMemory(Limits{}, std::chrono::steady_clock::now) {}
  AnswerMemory(Limits limits, Clock now) : limits_(limits), now_(std::move(now)) {}
  AnswerMemory(const AnswerMemory&) = delete;
  AnswerMemory& operator=(const AnswerMemory&) = delete;

  // The exchange by which to handle the request; null: it is answered, or will be.
  // `scope` names asker and address, and `owner` whose memory it takes. A request without a key is
  // passed through.
  std::shared_ptr<Exchange> admit(const Request& request, std::string_view owner,
                                  std::string_view scope, std::shared_ptr<Exchange> exchange,
                                  const Reject& reject);

 private:
  class Remembering;
  struct Entry {
    std::string owner;
    std::string scope;
    std::string content;  // digest of it
    std::chrono::steady_clock::time_point since;
    bool finished = false;
    bool is_too_large = false;
    bool is_slow = false;  // blanks go out before the answer
    std::chrono::milliseconds blank_interval{0};
    Response answer;
    std::vector<std::shared_ptr<Exchange>> waiting;
    std::list<std::string>::iterator place;  // in the order of its owner, once it is finished
  };
  using Entries = std::unordered_map<std::string, Entry>;
  struct Share {
    std::list<std::string> order;  // of what is finished, the oldest first
    std::uint64_t bytes = 0;
  };

  std::vector<std::shared_ptr<Exchange>> finish(const std::string& name, const Response& answer);
  std::vector<std::shared_ptr<Exchange>> forget(const std::string& name);
  void slow(const std::string& name, std::chrono::milliseconds interval);
  bool is_too_large(const Response& answer) const;
  void erase(Entries::iterator it) REQUIRES(mutex_);
  void make_room() REQUIRES(mutex_);
  void drop_old() REQUIRES(mutex_);
  static std::uint64_t bytes_of(const Entry& entry);

  const Limits limits_;
  const Clock now_;
  Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);                      // by scope and key
  std::map<std::string, Share> owners_ GUARDED_BY(mutex_);  // who have what is finished
  std::unordered_map<std::string, std::deque<std::string>> scopes_
      GUARDED_BY(mutex_);  // the same by scope
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::http
