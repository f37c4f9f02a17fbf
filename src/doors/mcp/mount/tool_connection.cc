// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include "base/host_error.h"
#include "base/host_thread.h"
#include "base/json_lookup.h"
#include "base/thread_name.h"
#include "doors/mcp/protocol.h"

namespace cloche::mcp::mount {
namespace {

constexpr JsonBounds message_bounds{
    .depth = 64, .values = 200'000, .repeated = RepeatedNames::last_wins};
constexpr std::size_t read_bytes = std::size_t{256} << 10;

Error failure(const std::string& sentence) { return {ErrorKind::host, Errno::io, sentence}; }

UniqueFd make_eventfd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) throw HostError::from_errno("cannot make an eventfd", errno);
  return fd;
}

std::string time_text(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace

ToolConnection::ToolConnection(std::string name, ToolRun program)
    : name_(std::move(name)), program_(std::move(program)), woken_(make_eventfd()) {
  greeting_ = ask("initialize",
                  {{"protocolVersion", newest_legacy_version},
                   {"capabilities", OrderedJson::object()},
                   {"clientInfo", server_info()}},
                  handshake_limit, [](Outcome) {});
  unwritten_ = held_.front() + '\n';
  held_.clear();
  thread_ = host_thread("a tool server", with_name("cloche-tool", [this] { run(); }));
}

ToolConnection::~ToolConnection() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

std::string ToolConnection::named(std::string_view what) const {
  return fmt::format("the tool server '{}' {}", name_, what);
}

void ToolConnection::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(woken_.get(), &one, sizeof one);  // a counter that is full wakes as well
}

std::uint64_t ToolConnection::ask(std::string_view method, OrderedJson params,
                                  std::chrono::milliseconds limit, Done done) {
  std::string refusal;
  {
    const MutexLock lock(mutex_);
    refusal = over_;
    if (open_.size() >= open_limit)
      refusal = named(fmt::format("has {} calls in progress: wait for some of them", open_limit));
    if (refusal.empty()) {
      const std::uint64_t number = ++last_;
      send_question(number, method, std::move(params));
      open_.emplace(number, Question{std::move(done), Clock::now() + limit, limit});
      wake();
      return number;
    }
  }
  done(failure(refusal));
  return 0;
}

void ToolConnection::send_question(std::uint64_t number, std::string_view method,
                                   OrderedJson params) {
  const OrderedJson message = {
      {"jsonrpc", "2.0"}, {"id", number}, {"method", method}, {"params", std::move(params)}};
  if (is_greeted_) {
    send(message);
  } else {
    held_.push_back(write_json(message));
  }
}

void ToolConnection::send(const OrderedJson& message) {
  unwritten_ += write_json(message);
  unwritten_ += '\n';
}

void ToolConnection::forget(std::uint64_t number) {
  {
    const MutexLock lock(mutex_);
    if (open_.erase(number) == 0 || !is_greeted_) return;
    send({{"jsonrpc", "2.0"},
          {"method", "notifications/cancelled"},
          {"params", {{"requestId", number}, {"reason", "nobody waits for it any more"}}}});
  }
  wake();
}

bool ToolConnection::is_over() const {
  const MutexLock lock(mutex_);
  return !over_.empty();
}

void ToolConnection::run() {
  for (;;) {
    wait_for_work();
    {
      const MutexLock lock(mutex_);
      if (stopping_) break;
    }
    if (!read_some() || !write_some()) break;
    end_late();
    if (is_over()) break;
  }
  program_.end();
  end_all(named("has been ended"));
}

void ToolConnection::wait_for_work() {
  int limit_ms = -1;
  bool has_more = written_ < writing_.size();
  {
    const MutexLock lock(mutex_);
    has_more = has_more || !unwritten_.empty();
    for (const auto& [number, question] : open_) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(question.deadline - Clock::now());
      constexpr std::int64_t longest = 1'000'000;
      const int left_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, longest));
      if (limit_ms < 0 || left_ms < limit_ms) limit_ms = left_ms;
    }
  }
  std::array<pollfd, 3> fds{pollfd{program_.output(), POLLIN, 0}, pollfd{woken_.get(), POLLIN, 0},
                            pollfd{has_more ? program_.input() : -1, POLLOUT, 0}};
  (void)::poll(fds.data(), fds.size(), limit_ms);
  std::uint64_t count = 0;
  (void)!::read(woken_.get(), &count, sizeof count);
}

bool ToolConnection::read_some() {
  const std::size_t had = buffer_.size();
  buffer_.resize(had + read_bytes);
  const ssize_t got = ::read(program_.output(), buffer_.data() + had, read_bytes);
  const int error = errno;
  buffer_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && (error == EAGAIN || error == EINTR)) return true;
  if (got <= 0) {
    end_all(named("has ended"));
    return false;
  }
  unasked_bytes_ += static_cast<std::size_t>(got);
  std::size_t start = 0;
  for (std::size_t end = buffer_.find('\n', had); end != std::string::npos;
       end = buffer_.find('\n', start)) {
    take_line(std::string_view(buffer_).substr(start, end - start));
    start = end + 1;
  }
  buffer_.erase(0, start);
  if (buffer_.size() > message_limit_bytes) {
    end_all(named(fmt::format("sent a message of more than {} bytes", message_limit_bytes)));
    return false;
  }
  if (unasked_bytes_ > unasked_limit_bytes) {
    end_all(named(fmt::format("sent {} bytes that nobody asked for", unasked_bytes_)));
    return false;
  }
  return !is_over();
}

bool ToolConnection::write_some() {
  if (written_ == writing_.size()) {
    writing_.clear();
    written_ = 0;
    const MutexLock lock(mutex_);
    std::swap(writing_, unwritten_);
  }
  if (writing_.empty()) return true;
  const ssize_t done =
      ::write(program_.input(), writing_.data() + written_, writing_.size() - written_);
  if (done < 0 && errno != EAGAIN && errno != EINTR) {
    end_all(named("takes no more calls"));
    return false;
  }
  written_ += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
  const MutexLock lock(mutex_);
  if (writing_.size() - written_ + unwritten_.size() <= unread_limit_bytes) return true;
  over_ = named("does not read what it is sent");
  return false;
}

void ToolConnection::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const auto read = read_json<OrderedJson>(line, message_bounds);
  const auto* message = std::get_if<OrderedJson>(&read);
  if (message == nullptr) return take_unreadable(line);
  // Programs print other things than messages: what is no message does not concern us.
  if (!message->is_object()) return;
  const OrderedJson& id = member_or_null(*message, "id");
  if (const OrderedJson& method = member_or_null(*message, "method"); method.is_string()) {
    if (!id.is_string() && !id.is_number_integer()) return;
    OrderedJson answer = {{"jsonrpc", "2.0"}, {"id", id}};
    if (method == "ping") {
      answer["result"] = OrderedJson::object();
    } else {
      answer["error"] = {{"code", code::no_such_method},
                         {"message", "this client serves no such method"}};
    }
    const MutexLock lock(mutex_);
    send(answer);
  } else if (id.is_number_unsigned()) {
    take_answer(id.get<std::uint64_t>(), *message);
  }
}

// Nor does what looks like one, unless it is the answer to a call: its writer has put into it what
// JSON has not, such as NaN, and does not know.
void ToolConnection::take_unreadable(std::string_view line) {
  constexpr std::string_view name = "\"id\"";
  if (line.find("\"jsonrpc\"") == line.npos) return;
  const OrderedJson answer = {
      {"error", {{"message", named("gives an answer that cannot be read: it is no JSON")}}}};
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const std::size_t digits = line.find_first_not_of(" :", at + name.size());
    std::uint64_t number = 0;
    if (digits == line.npos) return;
    const char* const end = line.data() + line.size();
    if (std::from_chars(line.data() + digits, end, number).ec == std::errc())
      return take_answer(number, answer);
  }
}

void ToolConnection::take_answer(std::uint64_t number, const OrderedJson& message) {
  Done done;
  {
    const MutexLock lock(mutex_);
    const auto found = open_.find(number);
    if (found == open_.end()) return;
    done = std::move(found->second.done);
    open_.erase(found);
  }
  unasked_bytes_ = 0;
  Outcome outcome = member_or_null(message, "result");
  if (const OrderedJson& error = member_or_null(message, "error"); error.is_object()) {
    const OrderedJson& why = member_or_null(error, "message");
    outcome = failure(why.is_string() ? shown(why.get<std::string>())
                                      : named("says that it failed, and not why"));
  }
  if (number == greeting_) greet(outcome);
  done(std::move(outcome));
}

// The handshake's answer: with it the questions go out that came before.
void ToolConnection::greet(const Outcome& outcome) {
  const MutexLock lock(mutex_);
  if (!outcome || !outcome->is_object()) {
    over_ = named(fmt::format("refuses the handshake: {}",
                              outcome ? "its answer is no object" : outcome.error().what()));
    return;
  }
  is_greeted_ = true;
  send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  for (const std::string& line : std::exchange(held_, {})) unwritten_ += line + '\n';
}

void ToolConnection::end_late() {
  std::vector<Ended> late;
  {
    const MutexLock lock(mutex_);
    const Clock::time_point now = Clock::now();
    for (auto question = open_.begin(); question != open_.end();) {
      if (question->second.deadline > now) {
        ++question;
        continue;
      }
      if (question->first == greeting_)
        over_ = named(fmt::format("did not shake hands within {}", time_text(handshake_limit)));
      if (is_greeted_) {
        send({{"jsonrpc", "2.0"},
              {"method", "notifications/cancelled"},
              {"params", {{"requestId", question->first}, {"reason", "its time is over"}}}});
      }
      late.emplace_back(
          std::move(question->second.done),
          Error(ErrorKind::host, Errno::timedout,
                named(fmt::format("gave no answer within {}", time_text(question->second.limit)))));
      question = open_.erase(question);
    }
  }
  for (auto& [done, outcome] : late) done(std::move(outcome));
}

void ToolConnection::end_all(const std::string& why) {
  std::map<std::uint64_t, Question> open;
  std::string sentence;
  {
    const MutexLock lock(mutex_);
    if (over_.empty()) over_ = why;
    sentence = over_;
    open.swap(open_);
    held_.clear();
    unwritten_.clear();
  }
  for (auto& [number, question] : open) question.done(failure(sentence));
}

}  // namespace cloche::mcp::mount
