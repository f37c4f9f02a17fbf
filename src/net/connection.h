// SPDX-License-Identifier: Apache-2.0
// Connection: one TCP connection of a sandbox to the world outside, plain or with TLS. All but
// guest_changed, start_tls and the constructor is for the network's thread, without the network's
// lock.
//
// A guest asks for TLS by start_tls, or speaks it itself. That passes as it comes, unless it is for
// a host with a secret: then it ends here (GuestTls), once the host's own TLS has been checked, and
// what is between the two is written anew as any other requests are.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor_share.h"
#include "base/unique_fd.h"
#include "kernel/time/kernel_lock.h"
#include "net/guest_stream.h"
#include "net/guest_tls.h"
#include "net/network.h"
#include "net/secrets.h"
#include "net/tls.h"

namespace cloche::net {

class Connection final : public GuestStream::Listener {
 public:
  struct Far {
    kernel::InetAddress to;
    std::string host;              // canonical; empty: none
    bool may_have_secret = false;  // for one of its names, and guests speak TLS themselves
  };

  // `fd`: a non-blocking socket on its way to the far end. Network's lock held.
  Connection(Network& network, UniqueFd fd, DescriptorShare::Permit place, Far far,
             std::shared_ptr<GuestStream> guest, const NetworkOptions& options);
  ~Connection() override;

  void guest_changed() noexcept override REQUIRES(kernel::kernel_lock) { network_.wake(*this); }

  // Network's lock held.
  const GuestStream& guest() const noexcept { return *guest_; }
  const Far& far() const noexcept { return far_; }  // from any thread
  Result<void> start_tls(TlsRequest request) REQUIRES(kernel::kernel_lock);
  std::string origin() const;
  // The name that it is judged by; empty: there is none.
  const std::string& name() const REQUIRES(kernel::kernel_lock) {
    return name_.empty() ? far_.host : name_;
  }
  // The last thing that happens to it.
  void drop_guest() noexcept {
    guest_.reset();
    guest_tls_.reset();
  }

  // Does what can be done now; false when the connection has ended.
  bool serve();
  // Its time is over, or the network's.
  void abort(Errno error);
  // When serve wants to be called at the latest.
  std::optional<std::chrono::steady_clock::time_point> deadline() const;

 private:
  enum class State : std::uint8_t { connecting, open, ended };
  // What is known of the guest's own TLS: nothing yet, or a part of what it says first; it joins
  // ours with the host; all is known.
  enum class Front : std::uint8_t { waits, hears, joins, settled };
  // What epoll has been told of a descriptor.
  struct Watch {
    int fd = -1;  // -1: nothing
    std::uint32_t events = 0;
  };

  bool finish_connect() EXCLUDES(kernel::kernel_lock);
  void begin_tls() EXCLUDES(kernel::kernel_lock);
  bool shake_hands() EXCLUDES(kernel::kernel_lock);
  bool take_from_guest() EXCLUDES(kernel::kernel_lock);
  bool may_pass(std::string_view& bytes, std::string& heard) EXCLUDES(kernel::kernel_lock);
  bool begin_join() EXCLUDES(kernel::kernel_lock);
  void answer_guest(bool good);
  bool join_guest() EXCLUDES(kernel::kernel_lock);
  void end_in_order() EXCLUDES(kernel::kernel_lock);
  void make_rewriter(std::string host);
  void note(NetworkEvent::Kind kind, bool allowed, std::string reason)
      EXCLUDES(kernel::kernel_lock);
  bool send_to_host();
  bool read_from_host();
  bool give_to_guest() EXCLUDES(kernel::kernel_lock);
  void settle() EXCLUDES(kernel::kernel_lock);
  void end(Errno error) EXCLUDES(kernel::kernel_lock);
  void watch() EXCLUDES(kernel::kernel_lock);
  void watch(Watch& watch, int fd, std::uint32_t events);
  void touched(std::size_t bytes);

  Network& network_;
  const DescriptorShare::Permit place_;
  UniqueFd fd_;
  const Far far_;
  std::shared_ptr<GuestStream> guest_;
  const std::chrono::milliseconds connect_timeout_;
  const std::chrono::milliseconds idle_timeout_;
  State state_ = State::connecting;
  std::chrono::steady_clock::time_point last_activity_ = std::chrono::steady_clock::now();

  std::string to_host_;
  std::size_t sent_ = 0;  // of to_host_
  std::string from_host_;
  std::size_t given_ = 0;  // of from_host_
  bool guest_ended_ = false;
  bool guest_end_told_ = false;
  bool host_ended_ = false;
  bool host_end_told_ = false;
  bool over_limit_ = false;

  std::optional<TlsRequest> tls_request_;  // lock held
  std::size_t plain_left_ = 0;             // bytes that the guest wrote before TLS; lock held
  bool tls_asked_ = false;                 // lock held
  std::unique_ptr<TlsSession> tls_;
  bool shaking_hands_ = false;
  bool tls_wants_read_ = false;
  bool tls_wants_write_ = false;
  std::unique_ptr<RequestRewriter> rewriter_;

  Front front_;
  std::chrono::steady_clock::time_point front_since_;  // of `hears` and `joins`
  bool host_spoke_ = false;                            // before the guest's first words were known
  std::shared_ptr<GuestTls> guest_tls_;                // guest_ is this from `joins` on
  bool is_refused_ = false;                            // the guest's TLS fails, and it was said why
  std::string name_ GUARDED_BY(kernel::kernel_lock);   // which the guest's TLS is for

  Watch host_watch_;
  Watch guest_watch_;
};

}  // namespace cloche::net
