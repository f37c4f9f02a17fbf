// SPDX-License-Identifier: Apache-2.0
// Network: the world outside of one sandbox: makes the TCP connections that its policy allows, and
// answers its queries for names. One thread of the host moves the bytes of all connections; it
// starts with the first of them.
//
// A sandbox of the kernel gives it the kernel's lock; one of native programs has one for it alone.
//
// Lifetime: stop() is called, without the lock, before what the lock belongs to ends.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/network.h"
#include "base/unique_fd.h"
#include "kernel/sockets/outbound.h"
#include "net/guest_stream.h"
#include "net/known_names.h"
#include "net/policy.h"
#include "net/resolver.h"
#include "net/secrets.h"
#include "net/tls.h"

namespace cloche::net {

class Connection;

class Network final : public kernel::Outbound {
 public:
  // Throws Error with one sentence for options that make no sense, HostError when
  // the host gives no descriptor.
  Network(std::mutex& mutex, const NetworkOptions& options,
          std::shared_ptr<const SecretStore> secrets,
          Resolver::Lookup lookup = Resolver::look_up_on_host);
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Ends all connections; nothing works any more. Lock not held.
  void stop();

  // From now on this one judges, and connections that it does not allow end. Lock not held.
  void set_policy(Policy policy);

  const SecretStore& secrets() const noexcept { return *secrets_; }

  Result<void> connect(const kernel::InetAddress& to,
                       std::shared_ptr<kernel::StreamConnection> stream,
                       std::weak_ptr<kernel::OutboundAttempt> attempt) override;
  // The same for whoever's stream this is.
  Result<void> connect(const kernel::InetAddress& to, std::shared_ptr<GuestStream> guest);
  bool has_loopback(const kernel::InetAddress& to) const override;
  void query(std::vector<std::byte> packet, NameReply reply) override;
  Result<void> start_tls(const kernel::StreamConnection& stream, std::string_view request) override;
  std::string origin(const kernel::StreamConnection& stream) const override;

  // For Connection.
  std::mutex& mutex() noexcept { return mutex_; }
  int epoll() const noexcept { return epoll_.get(); }
  const TlsContext& tls();
  // Counts bytes; false when there may be no more.
  bool count(std::uint64_t bytes);
  // Lock held.
  void wake(Connection& connection) noexcept;
  void note(NetworkEvent event);

 private:
  using Connections = std::vector<std::shared_ptr<Connection>>;

  bool ensure_thread();
  // Null: it is none of this layer, or has ended.
  std::shared_ptr<Connection> find(const kernel::StreamConnection& stream) const;
  void run() noexcept;
  void serve(const std::set<Connection*>& ready);
  std::chrono::milliseconds next_deadline() const;
  void tell_events();
  bool is_allowed(const Connection& connection) const;

  std::mutex& mutex_;
  const NetworkOptions options_;
  const std::shared_ptr<const SecretStore> secrets_;
  UniqueFd epoll_;
  UniqueFd wake_;  // eventfd
  Resolver resolver_;
  std::unique_ptr<TlsContext> tls_;  // made when it is first wanted; the thread's own

  // Under the lock.
  Policy policy_;
  bool policy_changed_ = false;  // connections must be judged again
  Connections connections_;
  std::set<Connection*> woken_;
  KnownNames known_names_;
  std::vector<NetworkEvent> events_;
  std::uint64_t total_connections_ = 0;
  std::uint64_t bytes_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cloche::net
