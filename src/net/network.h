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
#include "base/owner.h"
#include "base/unique_fd.h"
#include "kernel/sockets/outbound.h"
#include "kernel/time/kernel_lock.h"
#include "net/guest_authority.h"
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
  // `authority`: in which guests trust that speak TLS themselves; null where they do not.
  Network(kernel::KernelMutex& mutex, const NetworkOptions& options,
          std::shared_ptr<const SecretStore> secrets,
          std::shared_ptr<const GuestAuthority> authority = nullptr,
          Resolver::Lookup lookup = Resolver::look_up_on_host);
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Ends all connections; nothing works any more. Lock not held.
  void stop() EXCLUDES(kernel::kernel_lock);

  // From now on this one judges, and connections that it does not allow end. Lock not held.
  void set_policy(Policy policy) EXCLUDES(kernel::kernel_lock);

  // Whose the connections are that are made from now on; null, as at first: nobody's.
  void set_owner(std::shared_ptr<Owner> owner) REQUIRES(kernel::kernel_lock) {
    owner_ = std::move(owner);
  }
  const std::shared_ptr<Owner>& owner() const REQUIRES(kernel::kernel_lock) { return owner_; }

  const SecretStore& secrets() const noexcept { return *secrets_; }
  const std::shared_ptr<const GuestAuthority>& authority() const noexcept { return authority_; }

  Result<void> connect(const kernel::InetAddress& to,
                       std::shared_ptr<kernel::StreamConnection> stream,
                       std::weak_ptr<kernel::OutboundAttempt> attempt) override
      REQUIRES(kernel::kernel_lock);
  // The same for whoever's stream this is.
  Result<void> connect(const kernel::InetAddress& to, std::shared_ptr<GuestStream> guest)
      REQUIRES(kernel::kernel_lock);
  bool has_loopback(const kernel::InetAddress& to) const override REQUIRES(kernel::kernel_lock);
  void query(std::vector<std::byte> packet, NameReply reply) override REQUIRES(kernel::kernel_lock);
  Result<void> start_tls(const kernel::StreamConnection& stream, std::string_view request) override
      REQUIRES(kernel::kernel_lock);
  std::string origin(const kernel::StreamConnection& stream) const override
      REQUIRES(kernel::kernel_lock);

  // For Connection.
  kernel::KernelMutex& mutex() noexcept { return mutex_; }
  int epoll() const noexcept { return epoll_.get(); }
  const TlsContext& tls();
  // Counts bytes; false when there may be no more.
  bool count(std::uint64_t bytes) EXCLUDES(kernel::kernel_lock);
  // Lock held.
  void wake(Connection& connection) noexcept REQUIRES(kernel::kernel_lock);
  void note(NetworkEvent event) REQUIRES(kernel::kernel_lock);
  // Whether the name has led to the address, is allowed there, and a secret is for it.
  bool has_secret_for(const std::string& name, const kernel::InetAddress& to) const
      REQUIRES(kernel::kernel_lock);

 private:
  using Connections = std::vector<std::shared_ptr<Connection>>;

  bool ensure_thread() REQUIRES(kernel::kernel_lock);
  // Null: it is none of this layer, or has ended.
  std::shared_ptr<Connection> find(const kernel::StreamConnection& stream) const
      REQUIRES(kernel::kernel_lock);
  void run() noexcept EXCLUDES(kernel::kernel_lock);
  void serve(const std::set<Connection*>& ready) EXCLUDES(kernel::kernel_lock);
  std::chrono::milliseconds next_deadline() const REQUIRES(kernel::kernel_lock);
  void tell_events() EXCLUDES(kernel::kernel_lock);
  bool is_allowed(const Connection& connection) const REQUIRES(kernel::kernel_lock);
  bool may_have_secret(const kernel::InetAddress& to) const REQUIRES(kernel::kernel_lock);

  kernel::KernelMutex& mutex_;
  const NetworkOptions options_;
  const std::shared_ptr<const SecretStore> secrets_;
  const std::shared_ptr<const GuestAuthority> authority_;
  UniqueFd epoll_;
  UniqueFd wake_;  // eventfd
  Resolver resolver_;
  std::unique_ptr<TlsContext> tls_;  // made when it is first wanted; the thread's own

  Policy policy_ GUARDED_BY(kernel::kernel_lock);
  std::shared_ptr<Owner> owner_ GUARDED_BY(kernel::kernel_lock);
  bool policy_changed_ GUARDED_BY(kernel::kernel_lock) = false;  // connections must be judged again
  Connections connections_ GUARDED_BY(kernel::kernel_lock);
  std::set<Connection*> woken_ GUARDED_BY(kernel::kernel_lock);
  KnownNames known_names_ GUARDED_BY(kernel::kernel_lock);
  std::vector<NetworkEvent> events_ GUARDED_BY(kernel::kernel_lock);
  std::uint64_t left_out_ GUARDED_BY(kernel::kernel_lock) = 0;  // of the events, after those
  std::uint64_t total_connections_ GUARDED_BY(kernel::kernel_lock) = 0;
  std::uint64_t bytes_ GUARDED_BY(kernel::kernel_lock) = 0;
  bool stopping_ GUARDED_BY(kernel::kernel_lock) = false;
  std::thread thread_;
};

}  // namespace cloche::net
