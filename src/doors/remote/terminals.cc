// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/terminals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/share_limit.h"
#include "doors/rpc/live_commands.h"

namespace cloche::remote {
namespace {

constexpr std::size_t limit_of_session = 32;
constexpr std::size_t limit_of_all = 2048;
constexpr std::size_t limit_of_owner = three_quarters(limit_of_all);  // others find room
constexpr std::size_t recent_bytes = 128 << 10;
constexpr std::size_t typed_bytes = 1 << 20;
constexpr std::chrono::minutes forgotten_after{10};
constexpr std::chrono::seconds taken_patience{5};

using Frame = http::WebSocket::Frame;
using Kind = http::WebSocket::Kind;

}  // namespace

// --- Terminal -----------------------------------------------------------------------------------

Terminal::Terminal(std::uint32_t number, std::string owner,
                   std::shared_ptr<session::Session> session, session::Session::Use sandbox,
                   Terminals& all)
    : number_(number),
      owner_(std::move(owner)),
      session_(std::move(session)),
      sandbox_(std::move(sandbox)),
      all_(all) {}

Terminal::~Terminal() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    socket_.reset();
    taken_.notify_all();
  }
  live_.reset();
}

void Terminal::start(LiveRunOptions options) {
  options.command.output = [this](Stream, std::string_view bytes) { print(bytes); };
  options.on_room = [this] {
    const MutexLock lock(input_mutex_);
    pass_on_typed();
  };
  options.on_end = [this](const RunResult& result) { all_.end(number_, result); };
  try {
    const MutexLock lock(input_mutex_);
    if (size_) options.terminal = size_;
    live_ = sandbox_->start(std::move(options));
    pass_on_typed();
  } catch (const std::exception& problem) {  // the host has no thread or memory for it
    all_.end(number_, rpc::not_started(problem));
  }
}

// Four bytes of the number, then what is printed.
std::string Terminal::frame(std::string_view bytes) const {
  std::string text;
  text.reserve(4 + bytes.size());
  for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(number_ >> shift & 0xff);
  return text.append(bytes);
}

void Terminal::print(std::string_view bytes) {
  std::shared_ptr<http::WebSocket> socket;
  {
    const MutexLock lock(mutex_);
    if (closing_) return;
    recent_.append(bytes.substr(bytes.size() - std::min(bytes.size(), recent_bytes)));
    if (recent_.size() > 2 * recent_bytes) recent_.erase(0, recent_.size() - recent_bytes);
    socket = socket_;
    if (socket) socket->send(Frame::binary, Kind::notice, frame(bytes));
    untaken_bytes_ += bytes.size();
  }
  // A program that prints faster than its reader reads is slowed down.
  if (!socket) return;
  (void)socket->wait_for_room();
  wait_until_taken(socket.get());
}

void Terminal::wait_until_taken(const http::WebSocket* socket) {
  const auto deadline = Clock::now() + taken_patience;
  const MutexLock lock(mutex_);
  while (!closing_ && socket_.get() == socket && window_bytes_ > 0 &&
         untaken_bytes_ >= window_bytes_) {
    if (taken_.wait_until(mutex_, deadline) == std::cv_status::timeout) window_bytes_ = 0;
  }
}

void Terminal::taken(const http::WebSocket* socket, std::size_t bytes) {
  const MutexLock lock(mutex_);
  if (socket_.get() != socket) return;
  untaken_bytes_ -= std::min(untaken_bytes_, bytes);
  taken_.notify_all();
}

void Terminal::tell_end(const RunResult& result) {
  const MutexLock lock(mutex_);
  if (!socket_) return;
  socket_->send(Frame::text, Kind::notice,
                rpc::server_message("terminal.exit", {{"terminal", number_},
                                                      {"exitCode", result.exit_code},
                                                      {"signal", result.signal},
                                                      {"reason", result.reason}}));
}

void Terminal::pass_on_typed() {
  if (!live_ || typed_.empty()) return;
  const Result<std::size_t> taken = live_->write(typed_);
  if (taken) all_.note_typing(*this);
  typed_.erase(0, taken ? *taken : typed_.size());  // nobody reads any more: as a closed pipe would
}

void Terminal::resize(const TerminalSize& size) {
  const MutexLock lock(input_mutex_);
  size_ = size;
  if (live_) live_->resize(size);
}

bool Terminal::type(std::string_view bytes) {
  const MutexLock lock(input_mutex_);
  if (typed_.size() + bytes.size() > typed_bytes) return false;
  typed_.append(bytes);
  pass_on_typed();
  return true;
}

void Terminal::show(std::shared_ptr<http::WebSocket> socket, std::size_t window_bytes) {
  const MutexLock lock(mutex_);
  socket_ = std::move(socket);
  window_bytes_ = window_bytes;
  untaken_bytes_ = std::min(recent_.size(), recent_bytes);
  taken_.notify_all();
  hidden_since_ = Clock::time_point::max();
  if (!recent_.empty()) {
    const std::size_t at = recent_.size() - std::min(recent_.size(), recent_bytes);
    socket_->send(Frame::binary, Kind::notice, frame(std::string_view(recent_).substr(at)));
  }
}

void Terminal::hide(const http::WebSocket* socket) {
  const MutexLock lock(mutex_);
  if (socket_.get() != socket) return;
  socket_.reset();
  taken_.notify_all();
  hidden_since_ = Clock::now();
}

Terminal::Clock::time_point Terminal::hidden_since() const {
  const MutexLock lock(mutex_);
  return hidden_since_;
}

// --- Terminals ----------------------------------------------------------------------------------

std::shared_ptr<Terminal> Terminals::open(std::string owner,
                                          std::shared_ptr<session::Session> session,
                                          session::Session::Use sandbox,
                                          std::shared_ptr<http::WebSocket> socket,
                                          std::size_t window_bytes) {
  std::shared_ptr<Terminal> terminal;
  {
    const MutexLock lock(mutex_);
    std::size_t of_session = 0, of_owner = 0;
    for (const auto& [number, other] : terminals_) {
      of_session += other->session() == session ? 1 : 0;
      of_owner += !owner.empty() && other->owner() == owner ? 1 : 0;
    }
    if (stopping_ || of_session >= limit_of_session || of_owner >= limit_of_owner ||
        terminals_.size() >= limit_of_all) {
      throw rpc::RpcError{rpc::code::sandbox_error,
                          fmt::format("EAGAIN: a session has {} terminals at most, a token {}, and "
                                      "a server {}: close one",
                                      limit_of_session, limit_of_owner, limit_of_all)};
    }
    terminal = std::make_shared<Terminal>(++last_, std::move(owner), std::move(session),
                                          std::move(sandbox), *this);
    terminals_.emplace(terminal->number(), terminal);
  }
  terminal->show(std::move(socket), window_bytes);
  return terminal;
}

std::shared_ptr<Terminal> Terminals::find(std::uint32_t number, std::string_view owner) const {
  const MutexLock lock(mutex_);
  const auto found = terminals_.find(number);
  if (found == terminals_.end() || found->second->owner() != owner) return nullptr;
  return found->second;
}

// Also from a callback of the terminal's own program: what waits for its end is done elsewhere.
void Terminals::close(std::uint32_t number) {
  if (auto terminal = take_out(number))
    workers_.post([terminal = std::move(terminal)]() mutable { terminal.reset(); });
}

void Terminals::end(std::uint32_t number, const RunResult& result) {
  std::shared_ptr<Terminal> terminal = take_out(number);
  if (!terminal) return;
  workers_.post([&sessions = sessions_, terminal = std::move(terminal), result]() mutable {
    RunResult told = result;
    const Result<void> saved = sessions.save(terminal->session());
    if (!saved) rpc::note_not_saved(told, saved.error());
    terminal->tell_end(told);
    terminal.reset();
  });
}

std::shared_ptr<Terminal> Terminals::take_out(std::uint32_t number) {
  const MutexLock lock(mutex_);
  const auto found = terminals_.find(number);
  if (found == terminals_.end()) return nullptr;
  std::shared_ptr<Terminal> terminal = std::move(found->second);
  terminals_.erase(found);
  return terminal;
}

void Terminals::hide_all(const http::WebSocket* socket) {
  std::vector<std::shared_ptr<Terminal>> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [number, terminal] : terminals_) all.push_back(terminal);
  }
  for (const auto& terminal : all) terminal->hide(socket);
}

void Terminals::drop_forgotten() {
  std::vector<std::uint32_t> forgotten;
  {
    const MutexLock lock(mutex_);
    const auto now = Terminal::Clock::now();
    for (const auto& [number, terminal] : terminals_) {
      const auto since = terminal->hidden_since();
      if (since < now && now - since > forgotten_after) forgotten.push_back(number);
    }
  }
  for (const std::uint32_t number : forgotten) close(number);
}

void Terminals::stop() {
  std::map<std::uint32_t, std::shared_ptr<Terminal>> all;
  const MutexLock lock(mutex_);
  stopping_ = true;
  all.swap(terminals_);
  for (auto& [number, terminal] : all)
    workers_.post([terminal = std::move(terminal)]() mutable { terminal.reset(); });
}

}  // namespace cloche::remote
