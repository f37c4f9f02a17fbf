// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/port_relays.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_name.h"
#include "cloche/loopback.h"
#include "doors/http/lost_peer.h"

namespace cloche::e2b {
namespace {

namespace asio = boost::asio;

constexpr std::size_t threads_count = 2;
constexpr std::size_t piece_bytes = 32 << 10;
constexpr std::size_t dropped_max_bytes = 256 << 10;
constexpr int turns_max = 16;                 // before the other relays have theirs
constexpr std::chrono::seconds last_call{2};  // for the other side, once one has ended
constexpr std::string_view agreed = "HTTP/1.1 101";
constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

constexpr auto never = std::chrono::steady_clock::time_point::max();

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

// Not Boost's thread_pool: where its second thread cannot be started it waits for the first for ever.
struct PortRelays::Threads {
  Threads() {
    try {
      while (all.size() < threads_count)
        all.emplace_back(with_name("cloche-relays", [this] { context.run(); }));
    } catch (...) {
      join();
      throw;
    }
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { join(); }

  // When all that there is to do is done.
  void join() {
    work.reset();
    for (std::thread& thread : all) thread.join();
    all.clear();
  }

  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::vector<std::thread> all;
};

// All but the constructor and connect() runs on its strand.
class PortRelays::Relay : public std::enable_shared_from_this<Relay> {
 public:
  Relay(PortRelays& relays, std::uint64_t number, Wish wish)
      : relays_(relays),
        number_(number),
        id_(std::move(wish.id)),
        owner_(std::move(wish.owner)),
        strand_(asio::make_strand(relays.threads_->context)),
        client_(strand_),
        last_call_(strand_),
        stall_(strand_),
        use_(std::move(wish.use)),
        port_(wish.port),
        request_bytes_(wish.request.text.size()),
        asks_for_web_socket_(wish.request.asks_for_web_socket),
        body_(wish.request.body),
        inward_(std::move(wish.request.text)),
        outward_(wish.request.wants_continue ? go_on : std::string_view()),
        last_words_(std::move(wish.last_words)) {}

  const std::string& id() const noexcept { return id_; }
  const std::string& owner() const noexcept { return owner_; }
  // On any thread.
  bool has_ended_client() const noexcept { return client_ended_; }
  std::size_t request_bytes() const noexcept { return request_bytes_; }

  // Before begin(); the relay may end meanwhile. The connection keeps the sandbox that it leads to.
  Result<void> connect(std::shared_ptr<Sandbox> sandbox) {
    // Called under the kernel's lock, where the relay must not be let go of.
    const auto poke = [strand = strand_, weak = weak_from_this()] {
      asio::post(strand, [weak] {
        if (const auto self = weak.lock()) self->move();
      });
    };
    auto made = sandbox->connect(port_, poke);
    if (!made) return made.error();
    std::shared_ptr<LoopbackConnection> server(
        made->release(), [held = std::move(sandbox)](LoopbackConnection* gone) mutable {
          delete gone;
          held.reset();
        });
    asio::post(strand_, [self = shared_from_this(), server = std::move(server)]() mutable {
      if (!self->is_over_) self->server_ = std::move(server);
    });
    return {};
  }

  void begin(int fd) {
    asio::post(strand_, [self = shared_from_this(), fd] {
      boost::system::error_code error;
      self->client_.assign(fd, error);
      if (error) ::close(fd);
      if (error || !self->server_) return self->close();
      http::notice_lost_peer(fd);
      self->move();
    });
  }

  void end() {
    asio::post(strand_, [self = shared_from_this()] { self->close(); });
  }

 private:
  void move() {
    if (!client_.is_open()) return;
    push_inward();
    pull_outward();
    watch_progress();
  }

  // --- what moves ---

  void moved() { progress_ = std::chrono::steady_clock::now(); }

  // How long nothing may move now; nothing: for ever.
  std::optional<std::chrono::milliseconds> patience() const {
    if (is_ending_ || !client_.is_open()) return std::nullopt;
    const bool owes_body = !is_web_socket_ && !body_.is_done();
    if (owes_body || !inward_.empty() || !outward_.empty()) return relays_.patience_.stall;
    if (is_web_socket_ && !client_ended_) return std::nullopt;
    return relays_.patience_.silence;
  }

  // One timer, which looks again where something has moved meanwhile.
  void watch_progress() {
    const auto limit = patience();
    if (!limit || watched_until_ <= progress_ + *limit) return;
    watched_until_ = progress_ + *limit;
    stall_.expires_at(watched_until_);
    stall_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (error) return;
      self->watched_until_ = never;
      const auto now = std::chrono::steady_clock::now();
      if (const auto left = self->patience(); left && self->progress_ + *left <= now)
        return self->close();
      self->watch_progress();
    });
  }

  // --- to the server ---

  void push_inward() {
    while (server_ && inward_at_ < inward_.size()) {
      const auto taken = server_->write(std::string_view(inward_).substr(inward_at_));
      if (taken ? *taken == 0 : taken.error() == Errno::again) return;
      inward_at_ = taken ? inward_at_ + *taken : inward_.size();  // or nobody will read it
      moved();
    }
    inward_ = {};
    inward_at_ = 0;
    if (client_ended_) return pass_end_on();
    read_client();
  }

  void pass_end_on() {
    if (server_ && !std::exchange(has_passed_end_on_, true)) server_->close_input();
  }

  // Whether what the client sends now is the server's.
  bool is_for_server() const { return (is_web_socket_ || !body_.is_done()) && !is_ending_; }

  // Of a client whose request is whole, and which is in no WebSocket, only the end is awaited.
  void read_client() {
    if (is_reading_ || client_ended_ || !client_.is_open()) return;
    if (is_for_server() ? !inward_.empty() : asks_for_web_socket_ && !is_ending_) return;
    is_reading_ = true;
    client_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](boost::system::error_code error) {
                         self->is_reading_ = false;
                         if (!error) self->take_from_client();
                       });
  }

  void take_from_client() {
    if (!client_.is_open()) return;
    std::array<char, piece_bytes> piece;
    const ssize_t got = ::recv(client_.native_handle(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got < 0 && !is_for_later(errno)) return close();
    if (got == 0) return note_client_end();
    if (got > 0) {
      moved();
      take_bytes({piece.data(), static_cast<std::size_t>(got)});
    }
    read_client();
    watch_progress();
  }

  // Half a body is no request; otherwise the client still waits for the answer, or has gone.
  void note_client_end() {
    client_ended_ = true;
    if (is_ending_ || (!is_web_socket_ && !body_.is_done())) return close();
    if (inward_.empty()) pass_end_on();
    client_.async_wait(asio::posix::stream_descriptor::wait_error,
                       [self = shared_from_this()](boost::system::error_code error) {
                         if (!error) self->close();
                       });
    watch_progress();
  }

  void take_bytes(std::string_view bytes) {
    if (is_for_server()) {
      const std::size_t taken = is_web_socket_ ? bytes.size() : body_.take(bytes);
      if (body_.is_broken()) return close();
      inward_.assign(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      push_inward();
    }
    // One that ends has little time left, and may have been answered before it had said all.
    if (is_ending_) return;
    dropped_bytes_ += bytes.size();
    if (dropped_bytes_ > dropped_max_bytes) close();
  }

  // --- to the client ---

  void pull_outward() {
    if (is_writing_) return;
    for (int turn = 0; turn < turns_max; ++turn) {
      if (outward_.empty() && !take_from_server()) return;
      const ssize_t sent = ::send(client_.native_handle(), outward_.data(), outward_.size(),
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && !is_for_later(errno)) return close();
      if (sent < 0) return await_room();
      outward_.erase(0, static_cast<std::size_t>(sent));
      moved();
    }
    asio::post(strand_, [self = shared_from_this()] { self->move(); });
  }

  void await_room() {
    is_writing_ = true;
    client_.async_wait(asio::posix::stream_descriptor::wait_write,
                       [self = shared_from_this()](boost::system::error_code error) {
                         self->is_writing_ = false;
                         if (!error) self->move();
                       });
  }

  // False: there is nothing for the client now.
  bool take_from_server() {
    if (server_) {
      std::array<char, piece_bytes> piece;
      const Result<std::size_t> got = server_->read(piece);
      if (!got && got.error() == Errno::again) return false;
      if (got && *got > 0) {
        outward_.assign(piece.data(), *got);
        judge_answer();
        return true;
      }
      server_.reset();
      outward_ = std::exchange(last_words_, {});
      if (!outward_.empty()) return true;
    }
    finish_outward();
    return false;
  }

  // The first bytes say whether there is a WebSocket now.
  void judge_answer() {
    last_words_.clear();
    if (!asks_for_web_socket_ || is_web_socket_) return;
    answer_begin_.append(outward_, 0, agreed.size() - answer_begin_.size());
    if (answer_begin_.size() < agreed.size()) return;
    is_web_socket_ = answer_begin_ == agreed;
    asks_for_web_socket_ = false;
    read_client();
  }

  // The client has been told all: it may read it before the connection ends.
  void finish_outward() {
    if (client_ended_) return close();
    ::shutdown(client_.native_handle(), SHUT_WR);
    begin_to_end();
    read_client();
  }

  void begin_to_end() {
    if (std::exchange(is_ending_, true)) return;
    last_call_.expires_after(last_call);
    last_call_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->close();
    });
  }

  void close() {
    is_over_ = true;
    boost::system::error_code ignored;
    client_.close(ignored);
    last_call_.cancel();
    stall_.cancel();
    server_.reset();
    use_ = {};
    relays_.forget(number_);
  }

  PortRelays& relays_;
  const std::uint64_t number_;
  const std::string id_;
  const std::string owner_;
  const asio::strand<asio::io_context::executor_type> strand_;
  asio::posix::stream_descriptor client_;
  asio::steady_timer last_call_;
  asio::steady_timer stall_;
  session::Session::Use use_;
  std::shared_ptr<LoopbackConnection> server_;  // null: it has ended
  const std::uint16_t port_;
  const std::size_t request_bytes_;

  bool asks_for_web_socket_;  // and the server has not answered that yet
  bool is_web_socket_ = false;
  http::BodyEnd body_;  // of the request, as far as it has not come
  std::string answer_begin_;
  std::string inward_;  // for the server, which has taken inward_at_ bytes of it
  std::size_t inward_at_ = 0;
  std::string outward_;  // not yet sent to the client
  std::string last_words_;
  std::size_t dropped_bytes_ = 0;  // of what the client sent for nobody
  bool is_reading_ = false;
  bool is_writing_ = false;
  std::atomic<bool> client_ended_ = false;  // it says nothing more
  bool has_passed_end_on_ = false;
  bool is_ending_ = false;
  bool is_over_ = false;
  std::chrono::steady_clock::time_point progress_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point watched_until_ = never;  // by stall_
};

// The relay until it has its client; where that has gone meanwhile it ends.
class PortRelays::Handover {
 public:
  explicit Handover(std::shared_ptr<Relay> relay) : relay_(std::move(relay)) {}
  ~Handover() {
    if (relay_) relay_->end();
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  void take(int fd) { std::exchange(relay_, nullptr)->begin(fd); }

 private:
  std::shared_ptr<Relay> relay_;
};

PortRelays::PortRelays(Patience patience)
    : patience_(patience), threads_(std::make_unique<Threads>()) {}

PortRelays::~PortRelays() {
  std::map<std::uint64_t, std::shared_ptr<Relay>> relays;
  {
    const MutexLock lock(mutex_);
    relays = relays_;
  }
  for (const auto& [number, relay] : relays) relay->end();
  relays.clear();
  threads_->join();
}

PortRelays::Crowd PortRelays::crowd(const Wish& wish) const {
  std::size_t of_sandbox = 0, of_owner = 0;
  for (const auto& [number, relay] : relays_) {
    of_sandbox += relay->id() == wish.id ? 1 : 0;
    of_owner += relay->owner() == wish.owner ? 1 : 0;
  }
  if (of_sandbox >= of_sandbox_max) return Crowd::sandbox;
  if (of_owner >= of_owner_max) return Crowd::owner;
  const bool is_full = relays_.size() >= relays_max ||
                       request_bytes_ + wish.request.text.size() > requests_max_bytes;
  return is_full ? Crowd::all : Crowd::none;
}

bool PortRelays::end_one(const Wish& wish, Crowd of) {
  const auto found = std::ranges::find_if(relays_, [&](const auto& each) {
    const Relay& relay = *each.second;
    return relay.has_ended_client() && (of != Crowd::sandbox || relay.id() == wish.id) &&
           (of != Crowd::owner || relay.owner() == wish.owner);
  });
  if (found == relays_.end()) return false;
  found->second->end();
  request_bytes_ -= found->second->request_bytes();
  relays_.erase(found);
  return true;
}

Result<void> PortRelays::start(Wish wish, http::Exchange& exchange) {
  std::shared_ptr<Relay> relay;
  std::shared_ptr<Sandbox> sandbox = wish.use.sandbox();
  {
    const MutexLock lock(mutex_);
    for (Crowd of = crowd(wish); of != Crowd::none; of = crowd(wish)) {
      if (!end_one(wish, of)) return Errno::mfile;
    }
    request_bytes_ += wish.request.text.size();
    relay = std::make_shared<Relay>(*this, ++last_, std::move(wish));
    relays_[last_] = relay;
  }
  if (const Result<void> connected = relay->connect(std::move(sandbox)); !connected) {
    relay->end();
    return connected.error();
  }
  exchange.hand_over(
      [handover = std::make_shared<Handover>(relay)](int fd) { handover->take(fd); });
  return {};
}

void PortRelays::drop(const std::string& id) {
  const MutexLock lock(mutex_);
  for (const auto& [number, relay] : relays_) {
    if (relay->id() == id) relay->end();
  }
}

void PortRelays::forget(std::uint64_t number) {
  std::shared_ptr<Relay> relay;  // goes without the lock
  const MutexLock lock(mutex_);
  const auto found = relays_.find(number);
  if (found == relays_.end()) return;
  relay = std::move(found->second);
  relays_.erase(found);
  request_bytes_ -= relay->request_bytes();
}

}  // namespace cloche::e2b
