// SPDX-License-Identifier: Apache-2.0
#include "cluster/peer_wire.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <new>
#include <thread>
#include <utility>

#include "base/host_error.h"
#include "base/thread_name.h"
#include "cluster/ask.h"
#include "doors/http/relay.h"

namespace cloche::cluster {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::seconds made_patience{10};
constexpr std::size_t remembered_max = 1024;

struct FreeTlsSession {
  void operator()(SSL_SESSION* session) const { ::SSL_SESSION_free(session); }
};
using TlsSessionPtr = std::unique_ptr<SSL_SESSION, FreeTlsSession>;

// By the name that its certificate was checked for.
using Remembered = std::map<std::string, TlsSessionPtr>;

// Whom this server trusts, and what is remembered of those: a ticket that comes late is of no use to
// whoever trusts in others by then. Used by the one thread of the wire.
struct Trust {
  ssl::context context{ssl::context::tls_client};
  Remembered sessions;
};

// What the callback of OpenSSL needs. The connection has it as data of ours: its first is asio's.
struct Memory {
  Remembered& sessions;
  const std::string name;
};

int memory_index() {
  static const int index = ::SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

int remember(SSL* connection, SSL_SESSION* session) noexcept try {
  auto* const memory = static_cast<Memory*>(::SSL_get_ex_data(connection, memory_index()));
  if (memory->sessions.size() >= remembered_max) memory->sessions.clear();
  TlsSessionPtr& place = memory->sessions[memory->name];
  place.reset(session);
  return 1;  // it is ours now
} catch (const std::bad_alloc&) {
  return 0;
}

// A connection by TLS, between the caller's pair of sockets and the peer.
class Link : public std::enable_shared_from_this<Link> {
 public:
  using Made = std::function<void(bool)>;

  Link(asio::io_context& context, std::shared_ptr<Trust> trust, const Address& address,
       UniqueFd inside, Made made)
      : trust_(std::move(trust)),
        stream_(context, trust_->context),
        deadline_(context),
        address_(address),
        memory_{trust_->sessions, address.host},
        inside_(std::move(inside)),
        made_(std::move(made)) {}

  void start() {
    if (!prepare()) return fail();
    deadline_.expires_after(made_patience);
    deadline_.async_wait([self = shared_from_this()](ErrorCode error) {
      if (!error) self->end_now();
    });
    tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), &address_.bytes, address_.size);
    endpoint.resize(address_.size);
    stream_.next_layer().async_connect(endpoint, [self = shared_from_this()](ErrorCode error) {
      if (error) return self->fail();
      (void)self->stream_.next_layer().set_option(tcp::no_delay(true), error);
      self->shake_hands();
    });
  }

  void end_now() {
    deadline_.cancel();
    ErrorCode ignored;
    (void)stream_.next_layer().close(ignored);
  }

 private:
  bool prepare() {
    SSL* const connection = stream_.native_handle();
    ErrorCode is_name;
    (void)asio::ip::make_address(address_.host, is_name);
    if (is_name && ::SSL_set_tlsext_host_name(connection, address_.host.c_str()) != 1) return false;
    ErrorCode error;
    (void)stream_.set_verify_callback(ssl::host_name_verification(address_.host), error);
    if (error) return false;
    if (::SSL_set_ex_data(connection, memory_index(), &memory_) != 1) return false;
    const auto known = memory_.sessions.find(address_.host);
    return known == memory_.sessions.end() ||
           ::SSL_set_session(connection, known->second.get()) == 1;
  }

  void shake_hands() {
    stream_.async_handshake(ssl::stream_base::client, [self = shared_from_this()](ErrorCode error) {
      if (error) return self->fail();
      self->deadline_.cancel();
      self->made_(true);
      http::start_relay(self, self->stream_, std::move(self->inside_), std::string());
    });
  }

  void fail() {
    inside_.reset();
    end_now();
    made_(false);
  }

  const std::shared_ptr<Trust> trust_;
  ssl::stream<tcp::socket> stream_;
  asio::steady_timer deadline_;
  const Address address_;
  Memory memory_;
  UniqueFd inside_;
  const Made made_;
};

}  // namespace

class PeerWire::Tls {
 public:
  explicit Tls(std::string authorities)
      : authorities_(std::move(authorities)), trust_(make_trust()) {
    thread_ = std::thread(with_name("cloche-peer", [this] { work(); }));
  }

  ~Tls() {
    loop_.stop();
    thread_.join();
  }

  void read_authorities() {
    asio::post(loop_, [this, trust = make_trust()] { trust_ = trust; });
  }

  UniqueFd begin(const Address& address, Link::Made made) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
      return UniqueFd();
    UniqueFd outside(ends[0]);
    auto inside = std::make_shared<UniqueFd>(ends[1]);
    asio::post(loop_, [this, address, inside, made = std::move(made)] {
      std::make_shared<Link>(loop_, trust_, address, std::move(*inside), made)->start();
    });
    return outside;
  }

 private:
  std::shared_ptr<Trust> make_trust() const {
    auto trust = std::make_shared<Trust>();
    ErrorCode error;
    (void)trust->context.set_verify_mode(ssl::verify_peer, error);
    if (!error && authorities_ == system) {
      (void)trust->context.set_default_verify_paths(error);
    } else if (!error) {
      (void)trust->context.load_verify_file(authorities_, error);
    }
    ::SSL_CTX* const handle = trust->context.native_handle();
    if (error || ::SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION) != 1)
      throw HostError(fmt::format("{}: no certificates to trust can be read there", authorities_));
    ::SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    ::SSL_CTX_sess_set_new_cb(handle, remember);
    return trust;
  }

  void work() {
    for (;;) {
      try {
        loop_.run();
        return;
      } catch (const std::exception&) {
        // Whose turn it was ends, as a connection does that nobody serves.
      }
    }
  }

  const std::string authorities_;
  std::shared_ptr<Trust> trust_;  // the thread's
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_{loop_.get_executor()};
  std::thread thread_;
};

PeerWire::PeerWire(const std::string& authorities)
    : tls_(authorities.empty() ? nullptr : std::make_unique<Tls>(authorities)) {}

PeerWire::~PeerWire() = default;

void PeerWire::read_authorities() {
  if (tls_) tls_->read_authorities();
}

UniqueFd PeerWire::begin(const Address& address) const {
  return tls_ ? tls_->begin(address, [](bool) {}) : begin_connect(address);
}

UniqueFd PeerWire::connect(const Address& address,
                           std::chrono::steady_clock::time_point deadline) const {
  if (!tls_) {
    UniqueFd fd = begin_connect(address);
    return fd && finish_connect(fd.get(), deadline) ? std::move(fd) : UniqueFd();
  }
  auto made = std::make_shared<std::promise<bool>>();
  std::future<bool> is_made = made->get_future();
  UniqueFd fd = tls_->begin(address, [made](bool done) { made->set_value(done); });
  const bool is_there = fd && is_made.wait_until(deadline) == std::future_status::ready;
  try {
    return is_there && is_made.get() ? std::move(fd) : UniqueFd();
  } catch (const std::future_error&) {
    return UniqueFd();  // there was no memory for it
  }
}

}  // namespace cloche::cluster
