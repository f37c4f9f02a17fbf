// SPDX-License-Identifier: Apache-2.0
#include "native/warden/question.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include "native/warden/filter.h"
#include "native/warden/guest_file.h"
#include "native/warden/load_filter.h"

namespace cloche::warden {
namespace {

constexpr unsigned long wait_killable = 1UL << 5;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
constexpr std::uint32_t offset_of(unsigned argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                    argument * sizeof(std::uint64_t));
}

constexpr unsigned secret_argument = 5;

using Program = std::array<sock_filter, 22>;

constexpr Program program_with(std::uint64_t secret) {
  constexpr std::uint16_t equal = BPF_JMP | BPF_JEQ | BPF_K, load = BPF_LD | BPF_W | BPF_ABS,
                          any_bit = BPF_JMP | BPF_JSET | BPF_K;
  constexpr std::uint32_t upper_half = sizeof(std::uint32_t);
  return {{
      BPF_STMT(load, offsetof(seccomp_data, arch)),
      BPF_JUMP(equal, own_architecture, 0, 19),
      BPF_STMT(load, offsetof(seccomp_data, nr)),
      BPF_JUMP(equal, SYS_mmap, 4, 0),
      BPF_JUMP(equal, SYS_setsockopt, 6, 0),
      BPF_JUMP(equal, SYS_connect, 0, 15),
      BPF_STMT(load, offset_of(2)),
      BPF_JUMP(equal, Questions::own_length, 13, 12),
      BPF_STMT(load, offset_of(3)),  // of mmap
      BPF_JUMP(any_bit, MAP_SHARED, 0, 11),
      BPF_JUMP(any_bit, MAP_ANONYMOUS, 9, 10),
      BPF_STMT(load, offset_of(1)),  // of setsockopt
      BPF_JUMP(equal, SOL_SOCKET, 0, 8),
      BPF_STMT(load, offset_of(2)),
      BPF_JUMP(equal, SO_SNDBUF, 1, 0),
      BPF_JUMP(equal, SO_RCVBUF, 0, 5),
      BPF_STMT(load, offset_of(secret_argument)),
      BPF_JUMP(equal, static_cast<std::uint32_t>(secret), 0, 2),
      BPF_STMT(load, offset_of(secret_argument) + upper_half),
      BPF_JUMP(equal, static_cast<std::uint32_t>(secret >> 32), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
}

// The listener's descriptor; -1, with errno: there is none.
int load(Program& filter, unsigned long flags) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return load_filter(program, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags);
}

bool copy_from(pid_t thread, std::uint64_t address, void* to, std::size_t size) {
  const iovec here{to, size};
  const iovec there{reinterpret_cast<void*>(address), size};
  return ::process_vm_readv(thread, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

bool copy_name(pid_t thread, std::uint64_t address, std::uint64_t size, SocketName& to) {
  to.size = static_cast<socklen_t>(size);
  return size <= sizeof to.bytes && copy_from(thread, address, &to.bytes, size);
}

Question::Call call_of(int number) {
  switch (number) {
    case SYS_mmap: return Question::Call::map;
    case SYS_setsockopt: return Question::Call::buffer;
    default: return Question::Call::connect;
  }
}

void leave_socket(Question& question) {
  if (question.socket) leave_guest_file(question.socket);
}

}  // namespace

// Only a fatal signal ends a call whose question was taken; an older kernel begins it anew.
bool Questions::begin() noexcept {
  if (::getrandom(&secret_, sizeof secret_, 0) != sizeof secret_) return false;
  Program filter = program_with(secret_);
  int listener = load(filter, wait_killable);
  if (listener < 0 && errno == EINVAL) listener = load(filter, 0);
  listener_ = Fd(listener);
  return static_cast<bool>(listener_);
}

bool Questions::take(Question& question) const noexcept {
  seccomp_notif asked{};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return false;
  question.id = asked.id;
  question.thread = static_cast<pid_t>(asked.pid);
  question.call = call_of(asked.data.nr);
  std::copy_n(asked.data.args, question.arguments.size(), question.arguments.begin());
  return true;
}

bool Questions::look(Question& question) const noexcept {
  const std::uint64_t size = question.arguments[2] & 0xffffffff;
  // What cannot be read is the kernel's to refuse.
  if (copy_name(question.thread, question.arguments[1], size, question.to))
    question.socket = guest_file(question.thread, static_cast<int>(question.arguments[0]));
  // Only now is it certain that the thread was that one.
  if (is_open(question.id)) return true;
  leave_socket(question);
  return false;
}

bool Questions::is_open(std::uint64_t id) const noexcept {
  return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void Questions::answer(Question& question, int error) const noexcept {
  leave_socket(question);
  seccomp_notif_resp said{};
  said.id = question.id;
  said.error = -error;
  (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &said);
}

void Questions::let_go(Question& question) const noexcept {
  leave_socket(question);
  seccomp_notif_resp said{};
  said.id = question.id;
  said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &said);
}

// As the kernel would, which is never told to: it would read the size once more. A program that may
// not be looked into has the size that all begin with.
void Questions::size_buffer(Question& question) const noexcept {
  Fd socket = guest_file(question.thread, static_cast<int>(question.arguments[0]));
  const int error = errno;
  question.socket = std::move(socket);
  answer(question, question.socket ? set_size(question) : error == EPERM ? 0 : error);
}

int Questions::set_size(const Question& question) const noexcept {
  const auto& [socket, level, name, value, length] = question.arguments;
  std::uint32_t size = 0;
  if (static_cast<std::int32_t>(length) < static_cast<std::int32_t>(sizeof size)) return EINVAL;
  if (!copy_from(question.thread, value, &size, sizeof size)) return EFAULT;
  if (!is_open(question.id)) return EINTR;
  size = std::min(size, most_buffer);
  return ::syscall(SYS_setsockopt, question.socket.get(), level, name, &size, sizeof size,
                   secret_) == 0
             ? 0
             : errno;
}

}  // namespace cloche::warden
