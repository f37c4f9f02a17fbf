// SPDX-License-Identifier: Apache-2.0
// Socket: what all kinds of sockets have in common, as the system calls see it. Kernel lock held.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/sockets/address.h"
#include "kernel/sockets/message_queue.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Kernel;
class SocketTable;
class Task;

// SOCK_* and MSG_* numbers.
enum class SocketType : std::uint32_t { stream = 1, datagram = 2, seqpacket = 5 };

inline constexpr std::uint32_t msg_oob = 1, msg_peek = 2, msg_dontroute = 4, msg_ctrunc = 8,
                               msg_trunc = 0x20, msg_dontwait = 0x40, msg_eor = 0x80,
                               msg_waitall = 0x100, msg_nosignal = 0x4000, msg_more = 0x8000,
                               msg_waitforone = 0x10000, msg_cmsg_cloexec = 0x40000000;

// What setsockopt has stored; most of it means nothing on a loopback and is only given back.
struct SocketOptions {
  std::int32_t reuse_address = 0;
  std::int32_t reuse_port = 0;
  std::int32_t keep_alive = 0;
  std::int32_t broadcast = 0;
  std::int32_t oob_inline = 0;
  std::int32_t dont_route = 0;
  std::int32_t priority = 0;
  std::int32_t receive_low = 1;
  std::int32_t pass_credentials = 0;
  std::int32_t send_bytes = static_cast<std::int32_t>(MessageQueue::default_limit_bytes);
  std::int32_t receive_bytes = static_cast<std::int32_t>(MessageQueue::default_limit_bytes);
  std::int32_t linger_on = 0;
  std::int32_t linger_s = 0;
  std::int32_t no_delay = 0;
  std::int32_t cork = 0;
  std::int32_t keep_idle_s = 7200;
  std::int32_t keep_interval_s = 75;
  std::int32_t keep_count = 9;
  std::int32_t user_timeout_ms = 0;
  std::int32_t quick_ack = 1;
  std::int32_t type_of_service = 0;
  std::int32_t time_to_live = 64;
  std::int32_t v6_only = 0;
  std::chrono::nanoseconds receive_timeout{0};  // 0: none
  std::chrono::nanoseconds send_timeout{0};
};

struct SendRequest {
  Gather bytes;
  std::uint32_t flags = 0;
  std::optional<SocketAddress> to;
  Ancillary ancillary;
};

struct Received {
  std::size_t count = 0;       // written to the pieces
  std::size_t full_count = 0;  // the length that the datagram had
  std::uint32_t flags = 0;     // MSG_TRUNC, MSG_EOR
  SocketAddress from;
  Ancillary ancillary;
};

class Socket : public File {
 public:
  Socket(Kernel& kernel, SocketFamily family, SocketType type, std::int32_t protocol,
         std::uint32_t status_flags);
  ~Socket() override;

  SocketFamily family() const noexcept { return family_; }
  SocketType type() const noexcept { return type_; }
  std::int32_t protocol() const noexcept { return protocol_; }
  SocketOptions& options() noexcept { return options_; }
  // SO_ERROR: takes it.
  std::int32_t take_error() noexcept;
  virtual bool listening() const noexcept { return false; }

  virtual Result<void> bind(Task& task, const SocketAddress& address) REQUIRES(kernel_lock) = 0;
  virtual Result<void> listen(Task& task, std::int32_t backlog) REQUIRES(kernel_lock);
  virtual Result<void> connect(Task& task, const SocketAddress& address) REQUIRES(kernel_lock) = 0;
  // `status_flags`: O_NONBLOCK for the new one. Its peer's address is peer_address().
  virtual Result<std::shared_ptr<Socket>> accept(Task& task, std::uint32_t status_flags)
      REQUIRES(kernel_lock);
  virtual SocketAddress local_address() const = 0;
  virtual Result<SocketAddress> peer_address() const = 0;
  virtual std::optional<PeerCredentials> peer_credentials() const { return std::nullopt; }
  virtual Result<std::size_t> send(Task& task, SendRequest request) REQUIRES(kernel_lock) = 0;
  virtual Result<Received> receive(Task& task, Scatter to, std::uint32_t flags)
      REQUIRES(kernel_lock) = 0;
  // `how`: 0 read, 1 write, 2 both.
  virtual Result<void> shutdown(std::uint32_t how) REQUIRES(kernel_lock) = 0;
  // Bytes that FIONREAD tells.
  virtual std::size_t readable_bytes() const = 0;
  // See Outbound::start_tls.
  virtual Result<void> start_tls(std::string_view request) REQUIRES(kernel_lock);
  // See Outbound::origin.
  virtual std::string origin() const REQUIRES(kernel_lock) { return {}; }
  // SO_SNDBUF and SO_RCVBUF have changed.
  virtual void buffers_changed() {}

  Result<std::size_t> read(Task& task, std::span<std::byte> to) final REQUIRES(kernel_lock);
  Result<std::size_t> write(Task& task, std::span<const std::byte> from) final
      REQUIRES(kernel_lock);
  WaitQueue* poll_queue() override REQUIRES(kernel_lock) { return &changed; }
  Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                             std::uint32_t argument) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  std::string description() const override REQUIRES(kernel_lock);

  // Woken when anything about this socket has changed; both its readers and its writers sleep here.
  // Others that wait for it hold the queue and not the socket, so that it can be closed meanwhile.
  const std::shared_ptr<WaitQueue> changed_queue = std::make_shared<WaitQueue>();
  WaitQueue& changed = *changed_queue;

 protected:
  Kernel& kernel() const noexcept { return kernel_; }
  SocketTable& table() const noexcept REQUIRES(kernel_lock);
  void set_error(Errno error) noexcept { error_ = error; }
  std::optional<Errno> pending_error() noexcept { return std::exchange(error_, std::nullopt); }
  bool has_error() const noexcept { return error_.has_value(); }

  // Sleeps until `changed` is woken: EAGAIN when it may not block or its timeout has passed; EINTR
  // rather than a restart with a timeout, as signal(7) has it.
  Result<void> wait(Task& task, std::uint32_t flags, std::chrono::nanoseconds timeout,
                    Deadline& deadline) REQUIRES(kernel_lock);
  // EPIPE, with SIGPIPE unless MSG_NOSIGNAL.
  static Errno broken(Task& task, std::uint32_t flags) REQUIRES(kernel_lock);

 private:
  Kernel& kernel_;
  SocketFamily family_;
  SocketType type_;
  std::int32_t protocol_;
  std::uint64_t id_;
  SocketOptions options_;
  std::optional<Errno> error_;
};

PeerCredentials credentials_of(const Task& task) REQUIRES(kernel_lock);

}  // namespace cloche::kernel
