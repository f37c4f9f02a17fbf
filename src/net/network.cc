// SPDX-License-Identifier: Apache-2.0
#include "net/network.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/check.h"
#include "base/descriptor_share.h"
#include "base/host_error.h"
#include "base/json_lookup.h"
#include "base/thread_name.h"
#include "net/connection.h"
#include "net/dns.h"
#include "net/kernel_stream.h"

namespace cloche::net {
namespace {

constexpr std::size_t max_events = 4096;

UniqueFd must(int fd, const char* what) {
  if (fd < 0) throw HostError::from_errno(what, errno);
  return UniqueFd(fd);
}

struct HostAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  explicit HostAddress(const kernel::InetAddress& to) {
    if (to.ip.is_v4()) {
      auto& in = reinterpret_cast<sockaddr_in&>(storage);
      in.sin_family = AF_INET;
      in.sin_port = htons(to.port);
      std::memcpy(&in.sin_addr, to.ip.bytes.data() + 12, 4);
      size = sizeof in;
    } else {
      auto& in = reinterpret_cast<sockaddr_in6&>(storage);
      in.sin6_family = AF_INET6;
      in.sin6_port = htons(to.port);
      std::memcpy(&in.sin6_addr, to.ip.bytes.data(), 16);
      size = sizeof in;
    }
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::optional<TlsRequest> read_request(std::string_view text) {
  constexpr std::size_t max_text = 16384;
  if (text.size() > max_text || std::ranges::count(text, '[') > 4) return std::nullopt;
  const std::optional<Json> json = parse_json(text);
  const std::string* host = json ? find_text(*json, "host") : nullptr;
  if (host == nullptr) return std::nullopt;
  TlsRequest request{.host = *host, .alpn = {}, .token = text_in(*json, "token")};
  if (const Json* alpn = find_member(*json, "alpn"); alpn != nullptr && alpn->is_array()) {
    for (const Json& protocol : *alpn) {
      if (!protocol.is_string()) return std::nullopt;
      request.alpn.push_back(protocol.get<std::string>());
    }
  }
  request.only_tls_1_3 = text_in(*json, "minimum") == "TLSv1.3";
  return request;
}

}  // namespace

Network::Network(kernel::KernelMutex& mutex, const NetworkOptions& options,
                 std::shared_ptr<const SecretStore> secrets,
                 std::shared_ptr<const GuestAuthority> authority, Resolver::Lookup lookup)
    : mutex_(mutex),
      options_(options),
      secrets_(std::move(secrets)),
      authority_(std::move(authority)),
      epoll_(must(epoll_create1(EPOLL_CLOEXEC), "the host gives no epoll")),
      wake_(must(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "the host gives no eventfd")),
      resolver_(std::move(lookup)),
      policy_(options) {
  if (!options.trusted_certificates.empty())
    tls_ = std::make_unique<TlsContext>(options.trusted_certificates);
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0)
    throw HostError::from_errno("the host's epoll takes no descriptor", errno);
}

Network::~Network() { CLOCHE_CHECK(!thread_.joinable()); }

void Network::stop() {
  {
    const kernel::KernelLock lock(mutex_);
    stopping_ = true;
    const std::uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof one);
  }
  if (thread_.joinable()) thread_.join();
  tell_events();
  Connections rest;
  {
    const kernel::KernelLock lock(mutex_);
    rest.swap(connections_);
    woken_.clear();
  }
  for (const auto& connection : rest) connection->abort(Errno::netdown);
  const kernel::KernelLock lock(mutex_);
  for (const auto& connection : rest) connection->drop_guest();
}

void Network::set_policy(Policy policy) {
  const kernel::KernelLock lock(mutex_);
  policy_ = std::move(policy);
  policy_changed_ = true;
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

// Lock held.
bool Network::is_allowed(const Connection& connection) const {
  const Connection::Far& far = connection.far();
  std::set<std::string> names = known_names_.of(far.to.ip);
  // What it was made by is known as long as it lives.
  if (names.empty() && !far.host.empty()) names = {far.host};
  if (!connection.name().empty()) names = {connection.name()};
  return policy_.judge(far.to.ip, far.to.port, names).allowed;
}

const TlsContext& Network::tls() {
  if (!tls_) tls_ = std::make_unique<TlsContext>(std::string());
  return *tls_;
}

// --- What the sandbox asks; the lock is held ---

void Network::note(NetworkEvent event) {
  if (!options_.audit) return;
  if (events_.size() >= max_events || !ensure_thread()) {
    ++left_out_;
    return;
  }
  events_.push_back(std::move(event));
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

bool Network::ensure_thread() {
  if (stopping_) return false;
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread(with_name("cloche-network", [this] { run(); }));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Network::wake(Connection& connection) noexcept {
  try {
    if (!woken_.insert(&connection).second) return;
  } catch (const std::bad_alloc&) {
    return;  // the next wake tries again
  }
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

bool Network::count(std::uint64_t bytes) {
  const kernel::KernelLock lock(mutex_);
  bytes_ += bytes;
  return options_.max_bytes == 0 || bytes_ <= options_.max_bytes;
}

Result<void> Network::connect(const kernel::InetAddress& to,
                              std::shared_ptr<kernel::StreamConnection> stream,
                              std::weak_ptr<kernel::OutboundAttempt> attempt) {
  return connect(to, std::make_shared<KernelStream>(std::move(stream), std::move(attempt)));
}

Result<void> Network::connect(const kernel::InetAddress& to, std::shared_ptr<GuestStream> guest) {
  if (stopping_) return Errno::netdown;
  Verdict verdict = policy_.judge(to.ip, to.port, known_names_.of(to.ip));
  if (verdict.allowed && connections_.size() >= options_.max_connections)
    verdict = {false, fmt::format("{} connections are open already", connections_.size()),
               verdict.host};
  if (verdict.allowed && total_connections_ >= options_.max_total_connections)
    verdict = {false, fmt::format("all {} connections are used up", total_connections_),
               verdict.host};
  if (verdict.allowed && options_.max_bytes != 0 && bytes_ >= options_.max_bytes)
    verdict = {false, fmt::format("all {} bytes are used up", options_.max_bytes), verdict.host};
  note({NetworkEvent::Kind::connect, verdict.allowed, verdict.host, to.ip.text(), to.port,
        verdict.reason});
  if (!verdict.allowed) return Errno::acces;
  if (!ensure_thread()) return Errno::nobufs;
  const HostAddress address(to);
  UniqueFd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno_from_host(errno);
  auto place = DescriptorShare::of_this_process().acquire(fd, owner_);
  if (!place) return Errno::nfile;
  const int on = 1;
  (void)setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd.get(), address.get(), address.size) != 0 && errno != EINPROGRESS)
    return errno_from_host(errno);
  ++total_connections_;
  connections_.push_back(std::make_shared<Connection>(
      *this, std::move(fd), *std::move(place),
      Connection::Far{to, verdict.host, may_have_secret(to)}, std::move(guest), options_));
  wake(*connections_.back());
  return {};
}

bool Network::has_secret_for(const std::string& name, const kernel::InetAddress& to) const {
  const bool is_here = name == "localhost" && to.ip.is_loopback();
  return secrets_->is_for(name) && (is_here || known_names_.of(to.ip).contains(name)) &&
         policy_.judge(to.ip, to.port, {name}).allowed;
}

bool Network::may_have_secret(const kernel::InetAddress& to) const {
  if (!authority_) return false;
  std::set<std::string> names = known_names_.of(to.ip);
  names.insert("localhost");
  return std::ranges::any_of(names, [&](const std::string& name) REQUIRES(kernel::kernel_lock) {
    return has_secret_for(name, to);
  });
}

bool Network::has_loopback(const kernel::InetAddress& to) const {
  return !stopping_ && to.ip.is_loopback() &&
         policy_.judge(to.ip, to.port, known_names_.of(to.ip)).allowed;
}

void Network::query(std::vector<std::byte> packet, NameReply reply) {
  const std::optional<DnsQuery> query = parse_dns_query(packet);
  if (!query || stopping_) return;
  const Verdict verdict = policy_.judge_name(query->name);
  if (!verdict.allowed) {
    note({NetworkEvent::Kind::resolve, false, query->name, {}, 0, verdict.reason});
    reply(dns_reply(*query, DnsAnswer::not_permitted, {}));
    return;
  }
  const bool asked = resolver_.ask(
      query->name,
      [this, query = *query, reply, rule = verdict.reason](const Resolver::Found& found) {
        const kernel::KernelLock lock(mutex_);
        if (stopping_) return;
        std::string addresses;
        for (const kernel::IpAddress& address : found.addresses) {
          known_names_.learn(address, query.name);
          addresses += (addresses.empty() ? "" : " ") + address.text();
        }
        note({NetworkEvent::Kind::resolve, true, query.name, addresses, 0, rule});
        const DnsAnswer answer = found.failed   ? DnsAnswer::server_failure
                                 : found.exists ? DnsAnswer::success
                                                : DnsAnswer::no_such_name;
        reply(dns_reply(query, answer, found.addresses));
      });
  if (!asked) reply(dns_reply(*query, DnsAnswer::server_failure, {}));
}

std::shared_ptr<Connection> Network::find(const kernel::StreamConnection& stream) const {
  const auto found = std::ranges::find_if(
      connections_, [&](const auto& connection) { return connection->guest().is(stream); });
  return found == connections_.end() ? nullptr : *found;
}

Result<void> Network::start_tls(const kernel::StreamConnection& stream, std::string_view text) {
  const auto connection = find(stream);
  if (!connection) return Errno::notsup;
  std::optional<TlsRequest> request = read_request(text);
  if (!request) return Errno::inval;
  return connection->start_tls(*std::move(request));
}

std::string Network::origin(const kernel::StreamConnection& stream) const {
  const auto connection = find(stream);
  return connection ? connection->origin() : std::string();
}

// --- The thread ---

std::chrono::milliseconds Network::next_deadline() const {
  auto next = std::chrono::milliseconds(-1);
  const auto now = std::chrono::steady_clock::now();
  for (const auto& connection : connections_) {
    const auto deadline = connection->deadline();
    if (!deadline) continue;
    const auto left = std::max(std::chrono::milliseconds(0),
                               std::chrono::ceil<std::chrono::milliseconds>(*deadline - now));
    if (next.count() < 0 || left < next) next = left;
  }
  return next;
}

void Network::run() noexcept {
  std::array<epoll_event, 64> events;
  for (;;) {
    std::chrono::milliseconds timeout{};
    {
      const kernel::KernelLock lock(mutex_);
      if (stopping_) return;
      timeout = woken_.empty() ? next_deadline() : std::chrono::milliseconds(0);
    }
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(timeout.count()));
    std::set<Connection*> ready;
    for (int i = 0; i < count; ++i) {
      auto* connection = static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (connection != nullptr) {
        ready.insert(connection);
      } else {
        std::uint64_t wakes = 0;
        (void)!read(wake_.get(), &wakes, sizeof wakes);
      }
    }
    serve(ready);
    tell_events();
  }
}

void Network::serve(const std::set<Connection*>& ready) {
  Connections to_serve;
  Connections overdue;
  Connections revoked;
  {
    const kernel::KernelLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const bool judge_again = std::exchange(policy_changed_, false);
    for (const auto& connection : connections_) {
      const auto deadline = connection->deadline();
      if (judge_again && !is_allowed(*connection)) {
        revoked.push_back(connection);
      } else if (ready.contains(connection.get()) || woken_.contains(connection.get())) {
        to_serve.push_back(connection);
      } else if (deadline && *deadline <= now) {
        overdue.push_back(connection);
      }
    }
    woken_.clear();
  }
  std::set<const Connection*> ended;
  for (const auto& connection : to_serve) {
    if (!connection->serve()) ended.insert(connection.get());
  }
  for (const auto& connection : overdue) {
    connection->abort(Errno::timedout);
    ended.insert(connection.get());
  }
  for (const auto& connection : revoked) {
    connection->abort(Errno::connaborted);
    ended.insert(connection.get());
  }
  if (ended.empty()) return;
  Connections gone;  // their descriptors are closed without the lock
  const kernel::KernelLock lock(mutex_);
  std::erase_if(connections_, [&](const auto& connection) REQUIRES(kernel::kernel_lock) {
    if (!ended.contains(connection.get())) return false;
    woken_.erase(connection.get());
    connection->drop_guest();
    gone.push_back(connection);
    return true;
  });
}

void Network::tell_events() {
  std::vector<NetworkEvent> events;
  std::uint64_t left_out = 0;
  {
    const kernel::KernelLock lock(mutex_);
    events.swap(events_);
    left_out = std::exchange(left_out_, 0);
  }
  if (!options_.audit) return;
  for (const NetworkEvent& event : events) options_.audit(event);
  if (left_out == 0) return;
  NetworkEvent rest;
  rest.kind = NetworkEvent::Kind::left_out;
  rest.reason = fmt::format("{} more decisions came faster than they could be told", left_out);
  rest.count = left_out;
  options_.audit(rest);
}

}  // namespace cloche::net
