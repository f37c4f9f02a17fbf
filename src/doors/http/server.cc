// SPDX-License-Identifier: Apache-2.0
#include "doors/http/server.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <climits>
#include <exception>
#include <future>
#include <optional>
#include <system_error>
#include <thread>

#include "base/host_error.h"
#include "base/mutex.h"
#include "doors/http/alpn.h"
#include "doors/http/connection.h"
#include "doors/http/connection_table.h"
#include "doors/http/loops.h"
#include "doors/http/owner_limit.h"
#include "doors/http/received_bytes.h"
#include "doors/http/unsent_bytes.h"

namespace cloche::http {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

namespace {

// Half of what the process may have, or less where that is little: sessions need descriptors too,
// and so does the machine code of each program of the guests' system.
std::size_t descriptors_for_connections() {
  constexpr rlim_t for_programs = 192;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const rlim_t others = std::max(limit.rlim_cur / 2, for_programs);
  return static_cast<std::size_t>(limit.rlim_cur - std::min(limit.rlim_cur - 1, others));
}

}  // namespace

class Server::Impl final : public Host {
 public:
  Impl(const ServerOptions& options, Application& application)
      : options_(options),
        application_(application),
        connections_(std::min(options.connection_limit, descriptors_for_connections())),
        stream_limit_(options.connection_limit),
        owner_limit_(std::min(options.connection_limit, descriptors_for_connections())),
        unsent_(options.unsent_limit_bytes, options.unsent_limit_bytes / 2),
        received_(std::make_shared<ReceivedBytes>(options.received_limit_bytes,
                                                  options.received_limit_bytes / 2)),
        loops_(options.threads > 0 ? options.threads
                                   : std::max(std::thread::hardware_concurrency(), 1U)),
        acceptor_(loops_[0].context()) {
    prepare_loops();
    if (options_.has_tls()) read_certificate();
    if (options_.listens) {
      listen();
      asio::post(acceptor_.get_executor(), [this] { accept(); });
    }
    try {
      loops_.start();
    } catch (const std::system_error& error) {
      throw HostError(std::string("cannot start a thread: ") + error.what());
    }
  }

  ~Impl() override {
    drain(std::chrono::milliseconds(0));
    for (const auto& connection : connections_.all()) connection->end_now();
    // Each connection goes with its last operation; what is left then has no operation.
    (void)connections_.wait_until_empty(std::chrono::seconds(5));
    loops_.stop();
  }

  const ServerOptions& options() const override { return options_; }
  Application& application() override { return application_; }
  bool draining() const override { return draining_; }
  bool closes_after_answers() const override { return closes_after_answers_; }

  ShareLimit& stream_limit() override { return stream_limit_; }
  OwnerLimit& owner_limit() override { return owner_limit_; }

  void keep_unsent(const std::shared_ptr<AnswerKeeper>& keeper, const std::string& owner,
                   std::uint64_t bytes) override {
    for (const auto& leaving : unsent_.keep(keeper, owner, bytes)) leaving->end_now();
  }
  void sent(AnswerKeeper* keeper) override { unsent_.release(keeper); }
  const std::shared_ptr<ReceivedBytes>& received() const override { return received_; }

  void ended(Connection* connection) override {
    unsent_.release(connection);
    connections_.remove(connection);
  }

  std::uint16_t port() const noexcept { return port_; }

  std::size_t connections() const { return connections_.size(); }

  void adopt(UniqueFd fd) {
    const std::size_t number = next_adopting_++ % loops_.size();
    Loop& loop = loops_[number];
    // All that differs from a socket of TCP is the address of its peer, which is this machine.
    boost::system::error_code error;
    Tcp::socket socket(loop.context());
    socket.assign(Tcp::v4(), fd.get(), error);
    if (error) return;
    (void)fd.release();
    serve(loop, std::move(socket));
  }

  void read_certificate() {
    auto tls = make_tls();
    const MutexLock lock(tls_mutex_);
    tls_.swap(tls);
  }

  void close_after_answers() { closes_after_answers_ = true; }

  void drain(std::chrono::milliseconds patience) {
    draining_ = true;
    refuse_connections();
    on_acceptor([this] {
      accept_those_who_wait();
      boost::system::error_code ignored;
      acceptor_.close(ignored);
    });
    on_acceptor([] {});  // after the turn of one that was taken just before
    for (const auto& connection : connections_.all()) connection->end_soon();
    (void)connections_.wait_until_empty(patience);
  }

 private:
  static constexpr int backlog = 4096;
  static constexpr std::chrono::milliseconds half_connected_patience{20};

  // A loop gets what it watches sockets with when it has the first one: too late to be told that the
  // host has no descriptors.
  void prepare_loops() try {
    for (std::size_t i = 0; i < loops_.size(); ++i) Tcp::socket(loops_[i].context());
  } catch (const boost::system::system_error& error) {
    throw HostError(std::string("cannot wait for connections: ") + error.what());
  }

  std::shared_ptr<asio::ssl::context> make_tls() const {
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                     asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                     asio::ssl::context::no_tlsv1_1 | SSL_OP_NO_RENEGOTIATION);
    offer_protocols(tls->native_handle(), offers_http2_);
    boost::system::error_code error;
    if (const auto& own = options_.own_certificate) {
      tls->use_certificate_chain(asio::buffer(own->certificate), error);
      if (!error) tls->use_private_key(asio::buffer(own->key), asio::ssl::context::pem, error);
      if (error) throw HostError("cannot use the server's own certificate: " + error.message());
      return tls;
    }
    tls->use_certificate_chain_file(options_.tls_certificate, error);
    if (error) {
      throw HostError("cannot use the certificate " + options_.tls_certificate + ": " +
                      error.message());
    }
    tls->use_private_key_file(options_.tls_key, asio::ssl::context::pem, error);
    if (error) throw HostError("cannot use the key " + options_.tls_key + ": " + error.message());
    return tls;
  }

  std::shared_ptr<asio::ssl::context> tls() const {
    const MutexLock lock(tls_mutex_);
    return tls_;
  }

  void listen() {
    const std::string place = options_.host + ":" + std::to_string(options_.port);
    boost::system::error_code error;
    const auto found =
        Tcp::resolver(loops_[0].context())
            .resolve(options_.host, std::to_string(options_.port), Tcp::resolver::passive, error);
    if (error || found.empty()) throw HostError("there is no address " + options_.host);
    const Tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(backlog, error);
    if (error)
      throw HostError("cannot listen on " + place + ": " + error.message() +
                      ": say another --port or --host");
    port_ = acceptor_.local_endpoint().port();
  }

  void accept() {
    next_loop_ = (next_loop_ + 1) % loops_.size();
    Loop& loop = loops_[next_loop_];
    acceptor_.async_accept(
        loop.context(), [this, &loop](boost::system::error_code error, Tcp::socket socket) {
          // It may have been taken before the acceptor was closed, and its turn come after that.
          if (!error) serve(loop, std::move(socket));
          if (!acceptor_.is_open()) return;
          if (error == asio::error::no_descriptors || error == asio::error::no_memory) {
            for (const auto& leaving : connections_.shed()) leaving->end_now();
            return pause_accepting();
          }
          accept();
        });
  }

  // A client whose connection is made between the last look at the acceptor and its end would be
  // reset, and lose what it has sent already. So first the acceptor is bound to a device that is
  // not there: the host refuses who begins to connect, and completes what is half connected.
  void refuse_connections() {
    bool refused = false;
    on_acceptor([this, &refused] {
      constexpr int no_device = INT_MAX;
      refused =
          acceptor_.is_open() && ::setsockopt(acceptor_.native_handle(), SOL_SOCKET,
                                              SO_BINDTOIFINDEX, &no_device, sizeof no_device) == 0;
    });
    if (refused) std::this_thread::sleep_for(half_connected_patience);
  }

  // Does it on the acceptor's loop, after all that has its turn there already, and waits for it.
  template <typename Work>
  void on_acceptor(Work work) {
    std::promise<void> done;
    asio::post(acceptor_.get_executor(), [&work, &done] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Clients that have connected and are not accepted yet: closing the acceptor would reset them.
  void accept_those_who_wait() {
    boost::system::error_code error;
    acceptor_.non_blocking(true, error);
    for (int taken = 0; !error && taken < backlog; ++taken) {
      next_loop_ = (next_loop_ + 1) % loops_.size();
      Tcp::socket socket(loops_[next_loop_].context());
      acceptor_.accept(socket, error);
      if (!error) serve(loops_[next_loop_], std::move(socket));
    }
  }

  // The host is out of something: asking again at once would not help.
  void pause_accepting() {
    pause_.expires_after(std::chrono::milliseconds(50));
    pause_.async_wait([this](boost::system::error_code) {
      asio::post(acceptor_.get_executor(), [this] {
        if (acceptor_.is_open()) accept();
      });
    });
  }

  void serve(Loop& loop, Tcp::socket socket) {
    const auto tls = this->tls();
    const std::shared_ptr<Connection> connection =
        tls ? make_tls_connection(*this, loop, std::move(socket), *tls)
            : make_plain_connection(*this, loop, std::move(socket));
    const ConnectionTable::Verdict verdict = connections_.add(connection);
    for (const auto& leaving : verdict.leaving) leaving->end_now();
    if (verdict.taken) connection->start();
  }

  const ServerOptions options_;
  Application& application_;
  mutable Mutex tls_mutex_;
  std::shared_ptr<asio::ssl::context> tls_ GUARDED_BY(tls_mutex_);  // null: there is none
  const OffersHttp2 offers_http2_ = [this](std::string_view name) {
    return options_.use_http2 && application_.offers_http2(name);
  };
  ConnectionTable connections_;
  ShareLimit stream_limit_;
  OwnerLimit owner_limit_;
  UnsentBytes unsent_;
  const std::shared_ptr<ReceivedBytes> received_;  // shared with requests, which may outlive it
  std::atomic<bool> draining_ = false;
  std::atomic<bool> closes_after_answers_ = false;
  std::uint16_t port_ = 0;
  // Each connection belongs to one loop for all of its life: no locks among them.
  Loops loops_;
  std::size_t next_loop_ = 0;
  std::atomic<std::size_t> next_adopting_ = 0;
  Tcp::acceptor acceptor_;
  asio::steady_timer pause_{loops_[0].context()};
};

Server::Server(const ServerOptions& options, Application& application)
    : impl_(std::make_shared<Impl>(options, application)) {}
Server::~Server() = default;

std::uint16_t Server::port() const noexcept { return impl_->port(); }
std::size_t Server::connections() const { return impl_->connections(); }
void Server::adopt(UniqueFd connection) { impl_->adopt(std::move(connection)); }
void Server::read_certificate() { impl_->read_certificate(); }
void Server::close_after_answers() { impl_->close_after_answers(); }
void Server::drain(std::chrono::milliseconds patience) { impl_->drain(patience); }

namespace {

Response to_be_asked_again(Application& application, std::string_view reason) {
  Response refusal = application.reject(503, reason);
  refusal.fields.emplace_back("Retry-After", "1");
  return refusal;
}

}  // namespace

Response refusal_for_now(Application& application) {
  return to_be_asked_again(application, "the server has no memory for this body now: ask again");
}

Response refusal_of_more(Application& application) {
  return to_be_asked_again(application,
                           "as many requests with this token are in progress as may be: ask again");
}

void handle_by(Application& application, Request request, std::shared_ptr<Exchange> exchange) try {
  application.handle(std::move(request), std::move(exchange));
} catch (const std::exception&) {
  // Nobody has the exchange any more: it has answered.
}

}  // namespace cloche::http
