// SPDX-License-Identifier: Apache-2.0
// GuestTls: the guest's side of a connection whose TLS ends in this process: a GuestStream of the
// plain bytes over the one of the program's own.
//
// First it hears what the program asks for, which decides whether TLS ends here at all: until then
// nothing is answered, and what was heard can go on to the far end as it came. Then it vouches for
// the host, or refuses, and shakes hands. What a program sends may be anything; no more of it is
// held than a piece and OpenSSL's own buffers.
//
// One thread. The network's lock is held where it says so.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernel/time/kernel_lock.h"
#include "net/guest_authority.h"
#include "net/guest_stream.h"
#include "net/tls.h"

namespace cloche::net {

class GuestTls final : public GuestStream {
 public:
  // The first byte of what a program says in TLS.
  static constexpr std::byte first_byte{22};

  // What a program wants, by its ClientHello.
  struct Wish {
    std::string host;            // canonical; empty: it names none, or none that is a name
    bool has_protocols = false;  // it asks for protocols by ALPN
    bool takes_http = false;     // HTTP/1.1 is one of them
  };

  // Null without memory.
  static std::shared_ptr<GuestTls> start(std::shared_ptr<const GuestAuthority> authority,
                                         std::shared_ptr<GuestStream> below);
  ~GuestTls() override;
  GuestTls(const GuestTls&) = delete;
  GuestTls& operator=(const GuestTls&) = delete;

  // The first bytes of the program, until `hears` changes: what it wants is known then, or that
  // this is no TLS, or more than a ClientHello may have.
  enum class Hears : std::uint8_t { more, wish, nonsense };
  Hears hear(std::span<const std::byte> bytes);
  const Wish& wish() const noexcept { return wish_; }
  // All that was heard, to go on without this.
  std::string take_heard() noexcept { return std::move(heard_); }

  // Once, after a wish: from now on it is this host, with HTTP/1.1 where the program is to be told
  // so; or it fails with an alert of TLS. False without memory.
  enum class Protocol : std::uint8_t { none, http };
  bool vouch(const std::string& host, Protocol protocol);
  void refuse(int alert) noexcept;
  // After that, until it is done or has failed.
  TlsProgress handshake() REQUIRES(kernel::kernel_lock);
  // One sentence, after it has failed.
  const std::string& problem() const noexcept { return problem_; }

  // Sends what waits for room. Nothing waits: true.
  bool flush() REQUIRES(kernel::kernel_lock);
  bool has_unsent() const override { return sent_ < unsent_.size() || ends_; }
  // The far end has broken off: so does this one, without TLS's word for an end.
  void break_off() noexcept { says_end_ = false; }

  void set_listener(Listener* listener) override { below_->set_listener(listener); }
  void established(const kernel::InetAddress& far) override REQUIRES(kernel::kernel_lock) {
    below_->established(far);
  }
  void failed(Errno error) override REQUIRES(kernel::kernel_lock) { below_->failed(error); }
  Result<std::size_t> receive(std::span<std::byte> to) override REQUIRES(kernel::kernel_lock);
  Result<std::size_t> send(std::span<const std::byte> from) override REQUIRES(kernel::kernel_lock);
  void shut_down_send() override REQUIRES(kernel::kernel_lock);
  bool is_gone() const override { return below_->is_gone(); }
  void close() override REQUIRES(kernel::kernel_lock);
  void abort() override REQUIRES(kernel::kernel_lock) { below_->abort(); }
  std::size_t waiting_bytes() const override { return below_->waiting_bytes(); }
  int descriptor() const override { return below_->descriptor(); }

 private:
  friend class GuestAuthority;
  enum class State : std::uint8_t { hearing, heard, vouched, refused, broken };

  GuestTls(std::shared_ptr<const GuestAuthority> authority, std::shared_ptr<GuestStream> below,
           ssl_st* session)
      : authority_(std::move(authority)), below_(std::move(below)), session_(session) {}

  // Of the sessions that are made of it.
  static void prepare(ssl_ctx_st* context) noexcept;
  static int take_hello(ssl_st* session, int* alert, void* nothing) noexcept;
  static int choose_protocol(ssl_st* session, const unsigned char** chosen, unsigned char* length,
                             const unsigned char* offered, unsigned offered_length,
                             void* nothing) noexcept;
  void read_wish();
  // More of what the program sends; what receive() says.
  Result<std::size_t> feed() REQUIRES(kernel::kernel_lock);
  void take_output();

  const std::shared_ptr<const GuestAuthority> authority_;
  const std::shared_ptr<GuestStream> below_;
  ssl_st* session_;
  State state_ = State::hearing;
  Wish wish_;
  std::string heard_;
  Protocol protocol_ = Protocol::none;
  int alert_ = 0;
  std::string problem_;
  std::string unsent_;
  std::size_t sent_ = 0;  // of unsent_
  bool says_end_ = true;
  bool ends_ = false;  // when all is sent
};

}  // namespace cloche::net
