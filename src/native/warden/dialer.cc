// SPDX-License-Identifier: Apache-2.0
#include "native/warden/dialer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "native/warden/joint.h"
#include "native/warden/packet.h"
#include "native/warden/routes.h"

namespace cloche::warden {
namespace {

constexpr in_port_t name_port = 53;
constexpr std::size_t address_bytes = 16;

bool is_inet(const SocketName& name) {
  const socklen_t least = name.bytes.ss_family == AF_INET    ? sizeof(sockaddr_in)
                          : name.bytes.ss_family == AF_INET6 ? offsetof(sockaddr_in6, sin6_scope_id)
                                                             : 0;
  return least > 0 && name.size >= least;
}

// Linux connects the unspecified address to the loopback.
void mean_loopback(SocketName& name) {
  if (name.bytes.ss_family == AF_INET) {
    auto& in = reinterpret_cast<sockaddr_in&>(name.bytes);
    if (in.sin_addr.s_addr == INADDR_ANY) in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return;
  }
  auto& in = reinterpret_cast<sockaddr_in6&>(name.bytes);
  if (IN6_IS_ADDR_UNSPECIFIED(&in.sin6_addr)) {
    in.sin6_addr = in6addr_loopback;
  } else if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) && in.sin6_addr.s6_addr32[3] == INADDR_ANY) {
    in.sin6_addr.s6_addr32[3] = htonl(INADDR_LOOPBACK);
  }
}

Dial dial_to(const SocketName& name) {
  Dial dial;
  if (name.bytes.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(name.bytes);
    dial.address[10] = dial.address[11] = 0xff;
    std::memcpy(dial.address + 12, &in.sin_addr, 4);
    dial.port = ntohs(in.sin_port);
    dial.is_loopback = (ntohl(in.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    return dial;
  }
  const auto& in = reinterpret_cast<const sockaddr_in6&>(name.bytes);
  std::memcpy(dial.address, &in.sin6_addr, address_bytes);
  dial.port = ntohs(in.sin6_port);
  dial.is_loopback =
      IN6_IS_ADDR_LOOPBACK(&in.sin6_addr) ||
      (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) && in.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
  return dial;
}

Fd name_socket(int family) {
  Fd socket(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(name_port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(name_port);
  v6.sin6_addr = in6addr_loopback;
  const int bound = family == AF_INET
                        ? ::bind(socket.get(), reinterpret_cast<sockaddr*>(&v4), sizeof v4)
                        : ::bind(socket.get(), reinterpret_cast<sockaddr*>(&v6), sizeof v6);
  return bound == 0 ? std::move(socket) : Fd();
}

}  // namespace

Outcome Dialer::open(Fd socket, std::array<Fd, 2>& names) noexcept {
  if (error_ != 0) return {Step::network, error_};
  if (!socket || socket_) return {Step::network, EINVAL};
  if (auto laid = lay_routes(); !laid) return laid;
  waiting_.reset(new (std::nothrow) Table);
  if (!waiting_) return {Step::network, ENOMEM};
  names = {name_socket(AF_INET), name_socket(AF_INET6)};
  socket_ = std::move(socket);
  return {};
}

// All but TCP to where nothing of the box's own is goes on by itself.
void Dialer::take_question(Question question) noexcept {
  if (!socket_) return questions_.let_go(question);
  if (!questions_.look(question)) return;
  if (!is_inet(question.to) || !is_tcp(question.socket) || !is_unconnected(question.socket))
    return questions_.let_go(question);
  mean_loopback(question.to);
  const bool is_loopback = dial_to(question.to).is_loopback;
  if (is_loopback && !listen_at(question.to) && errno == EADDRINUSE)
    return questions_.let_go(question);
  if (!ask(question, is_loopback)) questions_.answer(question, EAGAIN);
}

bool Dialer::ask(Question& question, bool is_loopback) noexcept {
  const auto place = std::find_if(waiting_->begin(), waiting_->end(),
                                  [](const Waiting& waiting) { return waiting.id == 0; });
  if (place == waiting_->end()) return false;
  if (++last_id_ == 0) ++last_id_;
  Dial dial = dial_to(question.to);
  dial.is_patient = !is_nonblocking(question.socket);
  dial.is_loopback = is_loopback;
  dial.id = last_id_;
  if (!send_record(socket_.get(), dial, {}, MSG_DONTWAIT)) return false;
  place->id = dial.id;
  place->question = std::move(question);
  return true;
}

bool Dialer::tell(Dial::Tell what, std::uint32_t id, int fd) noexcept {
  Dial dial;
  dial.tell = what;
  dial.id = id;
  return send_record(socket_.get(), dial, std::span(&fd, fd >= 0 ? 1 : 0), MSG_DONTWAIT);
}

bool Dialer::take_answer() noexcept {
  Packet packet;
  DialAnswer answer;
  if (!receive_record(socket_.get(), answer, packet, MSG_DONTWAIT)) return errno == EAGAIN;
  const auto place = std::find_if(waiting_->begin(), waiting_->end(), [&](const Waiting& waiting) {
    return waiting.id != 0 && waiting.id == answer.id;
  });
  if (place == waiting_->end()) return true;
  finish(*place, answer);
  *place = {};
  return true;
}

std::span<const pid_t> Dialer::waiting(Threads& to) const noexcept {
  std::size_t count = 0;
  if (!waiting_) return {};
  for (const Waiting& waiting : *waiting_) {
    if (waiting.id != 0) to[count++] = waiting.question.thread;
  }
  return std::span(to).first(count);
}

void Dialer::finish(Waiting& waiting, const DialAnswer& answer) noexcept {
  Question& question = waiting.question;
  switch (answer.say) {
    case DialAnswer::Say::stay: return questions_.let_go(question);
    case DialAnswer::Say::refuse: return questions_.answer(question, answer.error);
    case DialAnswer::Say::join: return questions_.answer(question, join_and_tell(waiting));
  }
}

// An errno; 0: it is done.
int Dialer::join_and_tell(const Waiting& waiting) noexcept {
  int error = EINTR;  // the program has been ended
  if (questions_.is_open(waiting.question.id)) {
    const Fd ours = join(waiting.question.socket, waiting.question.to);
    error = ours ? 0 : errno;
    if (ours && tell(Dial::Tell::joined, waiting.id, ours.get())) return 0;
  }
  (void)tell(Dial::Tell::dropped, waiting.id);
  return error > 0 ? error : EAGAIN;
}

}  // namespace cloche::warden
