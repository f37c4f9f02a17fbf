// SPDX-License-Identifier: Apache-2.0
#include "doors/http/answer_memory.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/hex.h"
#include "base/sha256.h"
#include "doors/http/body_source.h"

namespace cloche::http {
namespace {

constexpr std::size_t key_max_bytes = 255;
constexpr std::uint64_t entry_bytes = 512;  // of one, besides its answer

bool is_good_key(std::string_view key) {
  return key.size() <= key_max_bytes &&
         std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
}

std::string digest_of(const Request& request) {
  Sha256 digest;
  for (const std::string_view part :
       {std::string_view(request.method), std::string_view(request.target),
        request.field("Content-Type")}) {
    digest.add(part);
    digest.add(std::string_view("\n"));
  }
  digest.add(std::string_view(request.body));
  return to_hex(digest.end());
}

constexpr std::string_view too_large =
    "this request was answered, and the answer was too large to keep";

Response replayed(Response response) {
  response.fields.emplace_back("X-Cloche-Replayed", "true");
  return response;
}

// Whether the request was, or may have been, done.
bool is_of_something_done(int status) { return status < 400 || status == 500 || status == 507; }

// Reads the body where it is not larger than that, so that it can be given twice. False where it
// breaks off.
bool make_whole(Response& response, std::uint64_t max_bytes) {
  if (!response.source || response.source->size() > max_bytes) return true;
  for (std::size_t had = 0;; had = response.body.size()) {
    if (!response.source->next(response.body)) return false;
    if (response.body.size() == had) break;
  }
  response.source = nullptr;
  return true;
}

}  // namespace

// Passes the answer on, also to those that wait for it.
class AnswerMemory::Remembering final : public Exchange {
 public:
  Remembering(AnswerMemory& memory, std::string name, std::shared_ptr<Exchange> inner,
              Reject reject)
      : memory_(memory),
        name_(std::move(name)),
        inner_(std::move(inner)),
        reject_(std::move(reject)) {}
  ~Remembering() override {
    if (!answered_) (void)memory_.forget(name_);  // those that wait go without an answer too
  }

  void send(Response response) override {
    answered_ = true;
    const bool is_whole = make_whole(response, memory_.limits_.answer_max_bytes);
    if (!is_whole) response = reject_(500, "the answer has broken off");
    if (is_whole && is_of_something_done(response.status)) {
      for (const auto& other : memory_.finish(name_, response)) other->send(again(response));
    } else {
      for (const auto& other : memory_.forget(name_)) other->send(again(response));
    }
    inner_->send(std::move(response));
  }
  void send_blanks_until_answer(std::chrono::milliseconds interval) override {
    memory_.slow(name_, interval);
    inner_->send_blanks_until_answer(interval);
  }
  void open_tunnel(Fields fields, std::function<void(int fd)> opened) override {
    inner_->open_tunnel(std::move(fields), std::move(opened));
  }
  // A connection that is handed over has no answer that could be kept.
  void hand_over(std::function<void(int fd)> taken) override {
    inner_->hand_over(std::move(taken));
  }
  std::shared_ptr<AnswerStream> begin(Response head, StreamOptions options) override {
    return inner_->begin(std::move(head), std::move(options));
  }
  void open_web_socket(Request head, std::string protocol,
                       std::shared_ptr<WebSocketUser> user) override {
    inner_->open_web_socket(std::move(head), std::move(protocol), std::move(user));
  }
  void relay_to(UniqueFd fd) override { inner_->relay_to(std::move(fd)); }

 private:
  Response again(const Response& response) const {
    return memory_.is_too_large(response) ? reject_(409, too_large) : replayed(response);
  }

  AnswerMemory& memory_;
  const std::string name_;
  const std::shared_ptr<Exchange> inner_;
  const Reject reject_;
  std::atomic<bool> answered_ = false;
};

std::shared_ptr<Exchange> AnswerMemory::admit(const Request& request, std::string_view owner,
                                              std::string_view scope,
                                              std::shared_ptr<Exchange> exchange,
                                              const Reject& reject) {
  const std::string_view key = request.field("Idempotency-Key");
  if (key.empty()) return exchange;
  if (!is_good_key(key)) {
    exchange->send(reject(400, "an Idempotency-Key has 1 to 255 visible ASCII characters"));
    return nullptr;
  }
  std::string content = digest_of(request);
  std::string name(scope);
  name += '\n';
  name += key;
  ReleasableMutexLock lock(mutex_);
  make_room();
  const auto [it, is_new] = entries_.try_emplace(name);
  Entry& entry = it->second;
  if (is_new) {
    entry.owner = owner;
    entry.scope = scope;
    entry.content = std::move(content);
    lock.unlock();
    return std::make_shared<Remembering>(*this, std::move(name), std::move(exchange), reject);
  }
  if (entry.content != content) {
    lock.unlock();
    exchange->send(reject(422, "this Idempotency-Key was used for another request"));
  } else if (!entry.finished) {
    entry.waiting.push_back(exchange);
    const bool is_slow = entry.is_slow;
    const auto interval = entry.blank_interval;
    lock.unlock();
    if (is_slow) exchange->send_blanks_until_answer(interval);
  } else if (entry.is_too_large) {
    lock.unlock();
    exchange->send(reject(409, too_large));
  } else {
    Response again = entry.answer;
    lock.unlock();
    exchange->send(replayed(std::move(again)));
  }
  return nullptr;
}

// Gives those that wait for it.
std::vector<std::shared_ptr<Exchange>> AnswerMemory::finish(const std::string& name,
                                                            const Response& answer) {
  const MutexLock lock(mutex_);
  Entry& entry = entries_.find(name)->second;
  std::vector<std::shared_ptr<Exchange>> waiting = std::exchange(entry.waiting, {});
  entry.finished = true;
  entry.since = now_();
  entry.is_too_large = is_too_large(answer);
  if (!entry.is_too_large) entry.answer = answer;
  Share& share = owners_[entry.owner];
  share.order.push_back(name);
  entry.place = std::prev(share.order.end());
  share.bytes += bytes_of(entry);
  bytes_ += bytes_of(entry);
  std::deque<std::string>& scope = scopes_[entry.scope];
  scope.push_back(name);
  if (scope.size() > limits_.answers_of_scope) erase(entries_.find(scope.front()));
  make_room();
  return waiting;
}

std::vector<std::shared_ptr<Exchange>> AnswerMemory::forget(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(name);
  std::vector<std::shared_ptr<Exchange>> waiting = std::exchange(it->second.waiting, {});
  entries_.erase(it);
  return waiting;
}

void AnswerMemory::slow(const std::string& name, std::chrono::milliseconds interval) {
  std::vector<std::shared_ptr<Exchange>> waiting;
  {
    const MutexLock lock(mutex_);
    Entry& entry = entries_.find(name)->second;
    entry.is_slow = true;
    entry.blank_interval = interval;
    waiting = entry.waiting;
  }
  for (const auto& exchange : waiting) exchange->send_blanks_until_answer(interval);
}

bool AnswerMemory::is_too_large(const Response& answer) const {
  return answer.source || answer.body.size() > limits_.answer_max_bytes;
}

// The entry is a finished one.
void AnswerMemory::erase(Entries::iterator it) {
  const Entry& entry = it->second;
  const auto share = owners_.find(entry.owner);
  share->second.bytes -= bytes_of(entry);
  bytes_ -= bytes_of(entry);
  share->second.order.erase(entry.place);
  if (share->second.order.empty()) owners_.erase(share);
  const auto scope = scopes_.find(entry.scope);
  std::erase(scope->second, it->first);
  if (scope->second.empty()) scopes_.erase(scope);
  entries_.erase(it);
}

void AnswerMemory::make_room() {
  drop_old();
  const auto bytes = [](const auto& owner) { return owner.second.bytes; };
  while (bytes_ > limits_.bytes)
    erase(entries_.find(std::ranges::max_element(owners_, {}, bytes)->second.order.front()));
}

void AnswerMemory::drop_old() {
  const auto oldest_kept = now_() - limits_.age;
  for (auto owner = owners_.begin(); owner != owners_.end();) {
    const std::list<std::string>& order = owner->second.order;
    const auto oldest = entries_.find(order.front());
    const auto next =
        oldest->second.since >= oldest_kept || order.size() == 1 ? std::next(owner) : owner;
    if (oldest->second.since < oldest_kept) erase(oldest);
    owner = next;
  }
}

std::uint64_t AnswerMemory::bytes_of(const Entry& entry) {
  std::uint64_t bytes =
      entry_bytes + entry.owner.size() + entry.scope.size() * 4 + entry.answer.body.size();
  for (const auto& [name, value] : entry.answer.fields) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace cloche::http
