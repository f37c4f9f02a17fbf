// SPDX-License-Identifier: Apache-2.0
#include "net/guest_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "net/client_hello.h"
#include "net/rule.h"

namespace cloche::net {
namespace {

constexpr std::size_t most_heard_bytes = 64 * 1024;
constexpr std::size_t piece_of_guest_bytes = 16 * 1024;
constexpr int pieces_at_once = 8;
// What was sent to the program and not read by it: a piece, and what TLS says of itself.
constexpr std::size_t most_piece_bytes = 64 * 1024;
constexpr std::size_t most_unsent_bytes = 2 * most_piece_bytes;
constexpr std::string_view http_wire("\x08http/1.1");

std::string_view extension(SSL* session, unsigned kind, bool& is_there) {
  const unsigned char* data = nullptr;
  std::size_t size = 0;
  is_there = SSL_client_hello_get0_ext(session, kind, &data, &size) == 1;
  return is_there ? std::string_view(reinterpret_cast<const char*>(data), size)
                  : std::string_view();
}

}  // namespace

std::shared_ptr<GuestTls> GuestTls::start(std::shared_ptr<const GuestAuthority> authority,
                                          std::shared_ptr<GuestStream> below) {
  SSL* session = SSL_new(authority->context());
  if (session == nullptr) return nullptr;
  const std::shared_ptr<GuestTls> made(
      new GuestTls(std::move(authority), std::move(below), session));
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  if (in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return nullptr;
  }
  BIO_set_mem_eof_return(in, -1);  // there may be more
  SSL_set_bio(session, in, out);
  SSL_set_app_data(session, made.get());
  SSL_set_accept_state(session);
  return made;
}

GuestTls::~GuestTls() { SSL_free(session_); }

// --- What the program asks for

int GuestTls::take_hello(ssl_st* session, int* alert, void*) noexcept {
  auto* self = static_cast<GuestTls*>(SSL_get_app_data(session));
  switch (self->state_) {
    case State::hearing: try { self->read_wish();
      } catch (...) {
        return SSL_CLIENT_HELLO_ERROR;
      }
      self->state_ = State::heard;
      return SSL_CLIENT_HELLO_RETRY;
    case State::heard: return SSL_CLIENT_HELLO_RETRY;
    case State::vouched: return SSL_CLIENT_HELLO_SUCCESS;
    case State::refused:
    case State::broken: break;
  }
  *alert = self->alert_;
  return SSL_CLIENT_HELLO_ERROR;
}

void GuestTls::read_wish() {
  bool is_there = false;
  const std::string_view name = extension(session_, TLSEXT_TYPE_server_name, is_there);
  if (is_there) wish_.host = canonical_name(read_server_name(name));
  const std::string_view protocols =
      extension(session_, TLSEXT_TYPE_application_layer_protocol_negotiation, wish_.has_protocols);
  wish_.takes_http = wish_.has_protocols && offers_protocol(protocols, http_wire.substr(1));
}

int GuestTls::choose_protocol(ssl_st* session, const unsigned char** chosen, unsigned char* length,
                              const unsigned char*, unsigned, void*) noexcept {
  const auto* self = static_cast<const GuestTls*>(SSL_get_app_data(session));
  if (self->protocol_ == Protocol::none) return SSL_TLSEXT_ERR_NOACK;
  *chosen = reinterpret_cast<const unsigned char*>(http_wire.data() + 1);
  *length = static_cast<unsigned char>(http_wire.size() - 1);
  return SSL_TLSEXT_ERR_OK;
}

void GuestTls::prepare(ssl_ctx_st* context) noexcept {
  SSL_CTX_set_client_hello_cb(context, take_hello, nullptr);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

GuestTls::Hears GuestTls::hear(std::span<const std::byte> bytes) {
  heard_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (heard_.size() > most_heard_bytes) return Hears::nonsense;
  const auto size = static_cast<int>(bytes.size());
  if (BIO_write(SSL_get_rbio(session_), bytes.data(), size) != size) return Hears::nonsense;
  ERR_clear_error();
  switch (SSL_get_error(session_, SSL_do_handshake(session_))) {
    case SSL_ERROR_WANT_READ: return Hears::more;
    case SSL_ERROR_WANT_CLIENT_HELLO_CB: return Hears::wish;
    default: return Hears::nonsense;
  }
}

// --- TLS with it

bool GuestTls::vouch(const std::string& host, Protocol protocol) {
  heard_ = {};
  protocol_ = protocol;
  state_ = State::vouched;
  return authority_->vouch(session_, host);
}

void GuestTls::refuse(int alert) noexcept {
  heard_ = {};
  alert_ = alert;
  state_ = State::refused;
}

TlsProgress GuestTls::handshake() {
  for (int i = 0; i < pieces_at_once; ++i) {
    ERR_clear_error();
    const int result = SSL_do_handshake(session_);
    const int why = SSL_get_error(session_, result);
    if (result != 1 && why != SSL_ERROR_WANT_READ) problem_ = last_tls_error();
    take_output();
    (void)flush();
    if (result == 1) {
      below_->acknowledge();  // TLS answers nothing to a program's last word of the handshake
      return TlsProgress::done;
    }
    if (why != SSL_ERROR_WANT_READ) return TlsProgress::failed;
    const Result<std::size_t> fed = feed();
    if (!fed) return TlsProgress::wants_read;
    if (*fed == 0) {
      problem_ = "it ended the connection";
      return TlsProgress::failed;
    }
  }
  return TlsProgress::wants_read;
}

Result<std::size_t> GuestTls::feed() {
  std::array<std::byte, piece_of_guest_bytes> piece;
  const Result<std::size_t> got = below_->receive(piece);
  if (!got || *got == 0) return got;
  const auto size = static_cast<int>(*got);
  return BIO_write(SSL_get_rbio(session_), piece.data(), size) == size ? got
                                                                       : Result<std::size_t>(0);
}

Result<std::size_t> GuestTls::receive(std::span<std::byte> to) {
  for (int i = 0; i < pieces_at_once && state_ != State::broken; ++i) {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(session_, to.data(), to.size(), &count);
    if (result == 1) return count;
    const int why = SSL_get_error(session_, result);
    take_output();  // keys are changed when the program wants it
    (void)flush();
    if (why == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
    if (why != SSL_ERROR_WANT_READ || unsent_.size() - sent_ > most_unsent_bytes)
      state_ = State::broken;
    if (state_ == State::broken) break;
    const Result<std::size_t> fed = feed();
    if (!fed || *fed == 0) return fed;
  }
  if (state_ == State::broken) return std::size_t{0};
  return Errno::again;
}

Result<std::size_t> GuestTls::send(std::span<const std::byte> from) {
  if (!flush()) return Errno::again;
  const std::size_t most = std::min(from.size(), most_piece_bytes);
  std::size_t done = 0;
  while (done < most && state_ != State::broken) {
    ERR_clear_error();
    std::size_t count = 0;
    if (SSL_write_ex(session_, from.data() + done, most - done, &count) != 1)
      state_ = State::broken;
    done += count;
  }
  if (state_ == State::broken) return Errno::pipe;
  take_output();
  (void)flush();
  return done;
}

void GuestTls::shut_down_send() {
  ERR_clear_error();
  if (says_end_ && state_ == State::vouched && SSL_is_init_finished(session_) == 1) {
    (void)SSL_shutdown(session_);
    take_output();
  }
  ends_ = true;
  (void)flush();
}

void GuestTls::close() {
  (void)flush();
  below_->close();
}

void GuestTls::take_output() {
  BIO* out = SSL_get_wbio(session_);
  const std::size_t waiting = BIO_ctrl_pending(out);
  if (waiting == 0) return;
  const std::size_t before = unsent_.size();
  unsent_.resize(before + waiting);
  const int got = BIO_read(out, unsent_.data() + before, static_cast<int>(waiting));
  unsent_.resize(before + static_cast<std::size_t>(std::max(got, 0)));
}

bool GuestTls::flush() {
  while (sent_ < unsent_.size()) {
    const Result<std::size_t> done = below_->send(std::as_bytes(std::span(unsent_)).subspan(sent_));
    if (!done && done.error() == Errno::again) return false;
    if (!done) {  // nobody reads any more
      state_ = State::broken;
      break;
    }
    sent_ += *done;
  }
  unsent_.clear();
  sent_ = 0;
  if (std::exchange(ends_, false)) below_->shut_down_send();
  return true;
}

}  // namespace cloche::net
