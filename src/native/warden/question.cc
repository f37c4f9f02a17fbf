// SPDX-License-Identifier: Apache-2.0
#include "native/warden/question.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "native/warden/alarm.h"
#include "native/warden/filter.h"
#include "native/warden/load_filter.h"

namespace cloche::warden {
namespace {

constexpr unsigned long wait_killable = 1UL << 5;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
constexpr unsigned pidfd_of_thread = O_EXCL;       // PIDFD_THREAD
constexpr long pidfd_getfd = 438;

constexpr int close_wait_ms = 1;

constexpr std::uint32_t offset_of(unsigned argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                    argument * sizeof(std::uint64_t));
}

constexpr std::array<sock_filter, 12> filter{{
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 0, 9),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset_of(2)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, Questions::own_length, 4, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset_of(3)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 2),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
}};

// The listener's descriptor; -1, with errno: there is none.
int load(unsigned long flags) {
  const sock_fprog program{filter.size(), const_cast<sock_filter*>(filter.data())};
  return load_filter(program, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags);
}

// The process that a thread is of; 0: it is gone.
pid_t process_of(pid_t thread) {
  std::array<char, 64> path{"/proc/"};
  char* const end = std::to_chars(path.data() + 6, path.data() + path.size() - 8, thread).ptr;
  std::copy_n("/status", 8, end);
  std::array<char, 1024> text{};
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  const std::string_view status(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  constexpr std::string_view field("\nTgid:\t");
  const std::size_t at = status.find(field);
  pid_t process = 0;
  if (at != std::string_view::npos)
    (void)std::from_chars(status.data() + at + field.size(), status.data() + status.size(),
                          process);
  return process;
}

Fd socket_of(pid_t thread, int number) {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, thread, pidfd_of_thread)));
  if (!process) process.reset(static_cast<int>(::syscall(SYS_pidfd_open, process_of(thread), 0)));
  if (!process) return {};
  return Fd(static_cast<int>(::syscall(pidfd_getfd, process.get(), number, 0)));
}

bool copy_name(pid_t thread, std::uint64_t address, std::uint64_t size, SocketName& to) {
  to.size = static_cast<socklen_t>(size);
  if (size > sizeof to.bytes) return false;
  const iovec here{&to.bytes, size};
  const iovec there{reinterpret_cast<void*>(address), size};
  return ::process_vm_readv(thread, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

// A guest may have closed it meanwhile, and have told it to wait.
void leave_socket(Question& question) {
  if (!question.socket) return;
  const Alarm ends(close_wait_ms);
  question.socket.reset();
}

}  // namespace

// Only a fatal signal ends a call whose question was taken; an older kernel begins it anew.
bool Questions::begin() noexcept {
  int listener = load(wait_killable);
  if (listener < 0 && errno == EINVAL) listener = load(0);
  listener_ = Fd(listener);
  return static_cast<bool>(listener_);
}

bool Questions::take(Question& question) const noexcept {
  seccomp_notif asked{};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return false;
  question.id = asked.id;
  question.thread = static_cast<pid_t>(asked.pid);
  question.call = asked.data.nr == SYS_mmap ? Question::Call::map : Question::Call::connect;
  std::copy_n(asked.data.args, question.arguments.size(), question.arguments.begin());
  return true;
}

bool Questions::look(Question& question) const noexcept {
  const std::uint64_t size = question.arguments[2] & 0xffffffff;
  // What cannot be read is the kernel's to refuse.
  if (copy_name(question.thread, question.arguments[1], size, question.to))
    question.socket = socket_of(question.thread, static_cast<int>(question.arguments[0]));
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

}  // namespace cloche::warden
