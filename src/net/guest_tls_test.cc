// SPDX-License-Identifier: Apache-2.0
#include "net/guest_tls.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace cloche::net {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// What lies between a program and us, as two texts.
class Wire final : public GuestStream {
 public:
  std::string from_program, to_program;
  std::size_t room = std::size_t{1} << 30;
  bool has_ended = false;     // the program's side
  bool is_shut_down = false;  // ours
  bool is_closed = false;

  void set_listener(Listener*) override {}
  void established(const kernel::InetAddress&) override {}
  void failed(Errno) override {}
  Result<std::size_t> receive(std::span<std::byte> to) override {
    if (from_program.empty()) return has_ended ? Result<std::size_t>(0) : Errno::again;
    const std::size_t count = std::min(to.size(), from_program.size());
    std::memcpy(to.data(), from_program.data(), count);
    from_program.erase(0, count);
    return count;
  }
  Result<std::size_t> send(std::span<const std::byte> from) override {
    const std::size_t count = std::min(from.size(), room - std::min(room, to_program.size()));
    if (count == 0) return Errno::again;
    to_program.append(reinterpret_cast<const char*>(from.data()), count);
    return count;
  }
  void shut_down_send() override { is_shut_down = true; }
  bool is_gone() const override { return false; }
  void close() override { is_closed = true; }
  void abort() override { is_closed = true; }
  std::size_t waiting_bytes() const override { return from_program.size(); }
};

// A program's own TLS.
class Program {
 public:
  Program(const std::string& trusted, const char* host, std::vector<std::string> protocols)
      : context_(SSL_CTX_new(TLS_client_method())), session_(SSL_new(context_)) {
    BIO* in = BIO_new_mem_buf(trusted.data(), static_cast<int>(trusted.size()));
    while (X509* certificate = PEM_read_bio_X509(in, nullptr, nullptr, nullptr)) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), certificate);
      X509_free(certificate);
    }
    BIO_free(in);
    ERR_clear_error();
    SSL_set_verify(session_, SSL_VERIFY_PEER, nullptr);
    X509_VERIFY_PARAM_set_flags(SSL_get0_param(session_), X509_V_FLAG_X509_STRICT);
    if (host != nullptr) {
      SSL_set_tlsext_host_name(session_, host);
      SSL_set1_host(session_, host);
    }
    std::string wire;
    for (const std::string& protocol : protocols) {
      wire += static_cast<char>(protocol.size());
      wire += protocol;
    }
    if (!wire.empty()) {
      SSL_set_alpn_protos(session_, reinterpret_cast<const unsigned char*>(wire.data()),
                          static_cast<unsigned>(wire.size()));
    }
    SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(session_), -1);
    SSL_set_connect_state(session_);
  }
  ~Program() {
    SSL_free(session_);
    SSL_CTX_free(context_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  SSL* session() { return session_; }

  // True once it is done; otherwise problem() says why not, where that is known.
  bool shake_hands(Wire& wire) {
    ERR_clear_error();
    take(wire);
    const int result = SSL_do_handshake(session_);
    if (result != 1 && SSL_get_error(session_, result) == SSL_ERROR_SSL)
      problem_ = ERR_reason_error_string(ERR_peek_error());
    give(wire);
    return result == 1;
  }
  const std::string& problem() const { return problem_; }

  void write(Wire& wire, const std::string& text) {
    EXPECT_EQ(SSL_write(session_, text.data(), static_cast<int>(text.size())),
              static_cast<int>(text.size()));
    give(wire);
  }
  std::string read(Wire& wire) {
    take(wire);
    std::string all(1 << 20, '\0');
    const int got = SSL_read(session_, all.data(), static_cast<int>(all.size()));
    all.resize(static_cast<std::size_t>(std::max(got, 0)));
    give(wire);
    return all;
  }
  void give(Wire& wire) {
    std::string out(BIO_ctrl_pending(SSL_get_wbio(session_)), '\0');
    if (out.empty()) return;
    BIO_read(SSL_get_wbio(session_), out.data(), static_cast<int>(out.size()));
    wire.from_program += out;
  }
  void take(Wire& wire) {
    BIO_write(SSL_get_rbio(session_), wire.to_program.data(),
              static_cast<int>(wire.to_program.size()));
    wire.to_program.clear();
  }

 private:
  SSL_CTX* context_;
  SSL* session_;
  std::string problem_;
};

class GuestsTls : public ::testing::Test {
 protected:
  const std::shared_ptr<const GuestAuthority> authority_ = std::make_shared<GuestAuthority>();
  const std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
  const std::shared_ptr<GuestTls> guest_ = GuestTls::start(authority_, wire_);
  kernel::KernelMutex mutex_;

  GuestTls::Hears hear_all() {
    return guest_->hear(bytes_of(std::exchange(wire_->from_program, {})));
  }

  // Until neither has anything to say.
  TlsProgress join(Program& program) {
    const kernel::KernelLock lock(mutex_);
    TlsProgress progress = TlsProgress::wants_read;
    for (int i = 0; i < 20; ++i) {
      if (progress == TlsProgress::wants_read) progress = guest_->handshake();
      (void)program.shake_hands(*wire_);
    }
    return progress;
  }
  void open(Program& program) {
    (void)program.shake_hands(*wire_);
    ASSERT_EQ(hear_all(), GuestTls::Hears::wish);
    ASSERT_TRUE(guest_->vouch(guest_->wish().host, GuestTls::Protocol::http));
    ASSERT_EQ(join(program), TlsProgress::done) << guest_->problem() << program.problem();
  }
};

TEST_F(GuestsTls, IsThatOfTheHostForAProgramThatTrustsInTheAuthority) {
  Program program(authority_->certificate(), "API.example.com", {"h2", "http/1.1"});
  open(program);
  EXPECT_EQ(guest_->wish().host, "api.example.com");
  EXPECT_EQ(SSL_get_verify_result(program.session()), X509_V_OK);
  const unsigned char* protocol = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(program.session(), &protocol, &length);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(protocol), length), "http/1.1");

  const kernel::KernelLock lock(mutex_);
  std::array<std::byte, 100> room;
  EXPECT_EQ(guest_->receive(room).error(), Errno::again);
  program.write(*wire_, "hello");
  ASSERT_EQ(*guest_->receive(room), 5U);
  EXPECT_EQ(std::memcmp(room.data(), "hello", 5), 0);
  const std::string much(100'000, 'x');
  std::string got;
  for (std::size_t at = 0; at < much.size();) {
    const Result<std::size_t> sent = guest_->send(bytes_of(much).subspan(at));
    ASSERT_TRUE(sent);
    at += *sent;
    for (std::string piece = program.read(*wire_); !piece.empty(); piece = program.read(*wire_))
      got += piece;
  }
  EXPECT_EQ(got, much);

  SSL_shutdown(program.session());
  program.give(*wire_);
  EXPECT_EQ(*guest_->receive(room), 0U);
  EXPECT_TRUE(guest_->send(bytes_of("answer"))) << "it may still read";
  guest_->shut_down_send();
  EXPECT_TRUE(wire_->is_shut_down);
  EXPECT_EQ(program.read(*wire_), "answer");
  EXPECT_EQ(program.read(*wire_), "");
  EXPECT_NE(SSL_get_shutdown(program.session()) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST_F(GuestsTls, TellsAnEndFromOneThatWasBrokenOff) {
  Program program(authority_->certificate(), "api.example.com", {});
  open(program);
  const kernel::KernelLock lock(mutex_);
  guest_->break_off();
  guest_->shut_down_send();
  EXPECT_TRUE(wire_->is_shut_down);
  EXPECT_EQ(program.read(*wire_), "");
  EXPECT_EQ(SSL_get_shutdown(program.session()) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST_F(GuestsTls, IsNotThatOfAnyHostForAnotherAuthority) {
  Program program(GuestAuthority().certificate(), "api.example.com", {});
  (void)program.shake_hands(*wire_);
  ASSERT_EQ(hear_all(), GuestTls::Hears::wish);
  ASSERT_TRUE(guest_->vouch("api.example.com", GuestTls::Protocol::none));
  EXPECT_EQ(join(program), TlsProgress::failed);
  EXPECT_EQ(program.problem(), "certificate verify failed");
  EXPECT_NE(guest_->problem(), "");
}

TEST_F(GuestsTls, VouchesForTheHostAlone) {
  Program program(authority_->certificate(), "evil.example.com", {});
  (void)program.shake_hands(*wire_);
  ASSERT_EQ(hear_all(), GuestTls::Hears::wish);
  ASSERT_TRUE(guest_->vouch("api.example.com", GuestTls::Protocol::none));
  EXPECT_EQ(join(program), TlsProgress::failed);
  EXPECT_EQ(SSL_get_verify_result(program.session()), X509_V_ERR_HOSTNAME_MISMATCH);
}

TEST_F(GuestsTls, ALongNameIsAHostToo) {
  const std::string name =
      std::string(60, 'a') + "." + std::string(60, 'b') + "." + std::string(60, 'c') + ".example";
  Program program(authority_->certificate(), name.c_str(), {});
  open(program);
}

TEST_F(GuestsTls, WhatWasHeardGoesOnAsItCame) {
  struct Case {
    const char* host;
    std::vector<std::string> protocols;
    GuestTls::Wish wish;
  };
  for (const Case& one : {Case{"a.example", {"h2"}, {"a.example", true, false}},
                          Case{nullptr, {}, {"", false, false}},
                          Case{"b.example", {"x", "http/1.1"}, {"b.example", true, true}}}) {
    Program program({}, one.host, one.protocols);
    const auto wire = std::make_shared<Wire>();
    const auto guest = GuestTls::start(authority_, wire);
    (void)program.shake_hands(*wire);
    const std::string said = wire->from_program;
    for (std::size_t i = 0; i + 1 < said.size(); ++i) {
      ASSERT_EQ(guest->hear(bytes_of(std::string_view(said).substr(i, 1))), GuestTls::Hears::more)
          << i;
    }
    ASSERT_EQ(guest->hear(bytes_of(said.substr(said.size() - 1))), GuestTls::Hears::wish);
    EXPECT_EQ(guest->wish().host, one.wish.host);
    EXPECT_EQ(guest->wish().has_protocols, one.wish.has_protocols);
    EXPECT_EQ(guest->wish().takes_http, one.wish.takes_http);
    EXPECT_EQ(guest->take_heard(), said);
    EXPECT_EQ(wire->to_program, "") << "nothing was answered";
  }
}

TEST_F(GuestsTls, NonsenseIsToldAsSuchAndIsBounded) {
  for (const std::string& text :
       {std::string("\x16GET / HTTP/1.1\r\n\r\n"),
        std::string("\x16\x03\x01\xff\xff") + std::string(70'000, 'x'),
        std::string("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10), std::string(9, '\x16')}) {
    const auto guest = GuestTls::start(authority_, std::make_shared<Wire>());
    EXPECT_EQ(guest->hear(bytes_of(text)), GuestTls::Hears::nonsense);
    EXPECT_EQ(guest->take_heard(), text);
  }
  // A greeting that never ends.
  std::string endless("\x01\x01\xff\xff", 4);
  endless.resize(std::size_t{200} * 1024);
  std::size_t heard = 0;
  GuestTls::Hears hears = GuestTls::Hears::more;
  while (hears == GuestTls::Hears::more && heard < endless.size()) {
    constexpr std::size_t piece = 1024;
    std::string record("\x16\x03\x01\x04\x00", 5);
    record += endless.substr(heard, piece);
    heard += piece;
    hears = guest_->hear(bytes_of(record));
  }
  EXPECT_EQ(hears, GuestTls::Hears::nonsense);
  EXPECT_LE(heard, std::size_t{128} * 1024);
}

TEST_F(GuestsTls, ARefusalSaysWhy) {
  Program program(authority_->certificate(), "api.example.com", {"h2"});
  (void)program.shake_hands(*wire_);
  ASSERT_EQ(hear_all(), GuestTls::Hears::wish);
  guest_->refuse(SSL_AD_NO_APPLICATION_PROTOCOL);
  EXPECT_EQ(join(program), TlsProgress::failed);
  EXPECT_EQ(program.problem(), "tlsv1 alert no application protocol");
}

TEST_F(GuestsTls, AProgramThatEndsInTheMiddleHasEnded) {
  Program program(authority_->certificate(), "api.example.com", {});
  (void)program.shake_hands(*wire_);
  ASSERT_EQ(hear_all(), GuestTls::Hears::wish);
  ASSERT_TRUE(guest_->vouch("api.example.com", GuestTls::Protocol::none));
  wire_->has_ended = true;
  const kernel::KernelLock lock(mutex_);
  EXPECT_EQ(guest_->handshake(), TlsProgress::failed);
}

TEST_F(GuestsTls, WhatIsNotReadIsBounded) {
  Program program(authority_->certificate(), "api.example.com", {});
  open(program);
  const kernel::KernelLock lock(mutex_);
  wire_->room = 0;
  // Answers.
  const std::string piece(60'000, 'x');
  EXPECT_TRUE(guest_->send(bytes_of(piece)));
  EXPECT_TRUE(guest_->has_unsent());
  EXPECT_EQ(guest_->send(bytes_of(piece)).error(), Errno::again);
  // New keys, each of which is answered by one.
  std::array<std::byte, 100> room;
  Result<std::size_t> got = Errno::again;
  for (int i = 0; i < 20'000 && !got && got.error() == Errno::again; ++i) {
    SSL_key_update(program.session(), SSL_KEY_UPDATE_REQUESTED);
    (void)SSL_do_handshake(program.session());
    program.give(*wire_);
    got = guest_->receive(room);
  }
  ASSERT_TRUE(got) << "it ends";
  EXPECT_EQ(*got, 0U);
  EXPECT_EQ(guest_->send(bytes_of("x")).error(), Errno::again) << "what it has is still there";
  wire_->room = std::size_t{1} << 30;
  EXPECT_EQ(guest_->send(bytes_of("x")).error(), Errno::pipe);
  EXPECT_LE(wire_->to_program.size(), std::size_t{400} * 1024);
}

TEST_F(GuestsTls, RubbishInTheMiddleIsAnEnd) {
  Program program(authority_->certificate(), "api.example.com", {});
  open(program);
  const kernel::KernelLock lock(mutex_);
  wire_->from_program = "rubbish, and not a little of it";
  std::array<std::byte, 100> room;
  EXPECT_EQ(*guest_->receive(room), 0U);
  EXPECT_EQ(guest_->send(bytes_of("x")).error(), Errno::pipe);
}

}  // namespace
}  // namespace cloche::net
