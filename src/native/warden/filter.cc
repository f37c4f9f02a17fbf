// SPDX-License-Identifier: Apache-2.0
#include "native/warden/filter.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "native/warden/filter_table.h"
#include "native/warden/load_filter.h"

namespace cloche::warden {
namespace {

constexpr std::uint32_t call_numbers = 512;  // further ones there are none
constexpr std::uint32_t new_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                         CLONE_NEWNET | 0x80U /* CLONE_NEWTIME, of unshare */;
constexpr std::uint32_t linux_console = 0x541C;  // TIOCLINUX
constexpr std::uint32_t icmp = 1, tcp = 6, udp = 17, icmp6 = 58;
constexpr std::uint32_t persona_query = 0xffffffff;
constexpr std::uint32_t old_set_options = 21;                  // PTRACE_OLDSETOPTIONS
constexpr std::uint32_t set_futex_table = 78;                  // PR_FUTEX_HASH
constexpr std::uint32_t cold_pages = 20, unwanted_pages = 21;  // MADV_COLD, MADV_PAGEOUT

constexpr std::uint32_t refusal(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
}

std::uint32_t action_of(Rule rule) {
  switch (rule) {
    case Rule::allow: return SECCOMP_RET_ALLOW;
    case Rule::refuse: return refusal(EPERM);
    case Rule::pretend: return refusal(0);
    default: return refusal(ENOSYS);
  }
}

bool is_plain(Rule rule) { return rule <= Rule::pretend; }

}  // namespace

Rule rule_of(std::uint32_t number) noexcept {
  for (const CallRule& call : special_calls) {
    if (call.number == number) return call.rule;
  }
  const auto has = [number](std::span<const std::uint32_t> calls) {
    return std::find(calls.begin(), calls.end(), number) != calls.end();
  };
  if (has(pretended_calls)) return Rule::pretend;
  if (has(refused_calls)) return Rule::refuse;
  return has(plain_calls) ? Rule::allow : Rule::absent;
}

void Filter::add(std::uint16_t code, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  if (size_ == most_code) std::abort();  // the table has grown: most_code must grow too
  code_[size_++] = {code, yes, no, value};
}

void Filter::answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }

// The lower half, which is all that the kernel looks at where these calls take an int.
void Filter::load_argument(unsigned index) {
  add(BPF_LD | BPF_W | BPF_ABS,
      static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t)));
}

void Filter::add_rule(Rule rule) {
  constexpr std::uint16_t equal = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr std::uint16_t any_bit = BPF_JMP | BPF_JSET | BPF_K;
  const auto is = [&](std::uint32_t value, std::uint32_t action) {
    add(equal, value, 0, 1);
    answer(action);
  };
  switch (rule) {
    case Rule::clone:
      load_argument(0);
      add(any_bit, new_namespaces, 0, 1);
      answer(refusal(EPERM));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::socket: {
      load_argument(0);
      is(AF_UNIX, SECCOMP_RET_ALLOW);
      add(equal, AF_NETLINK, 3, 0);
      add(equal, AF_INET, 6, 0);
      add(equal, AF_INET6, 5, 0);
      answer(refusal(EAFNOSUPPORT));
      load_argument(2);  // of NETLINK: routes alone
      is(0, SECCOMP_RET_ALLOW);
      answer(refusal(EPROTONOSUPPORT));
      load_argument(2);
      for (const std::uint32_t protocol : {0U, tcp, udp, icmp, icmp6})
        is(protocol, SECCOMP_RET_ALLOW);
      return answer(refusal(EPROTONOSUPPORT));
    }
    case Rule::ioctl:
      load_argument(1);
      for (const std::uint32_t request :
           {std::uint32_t{TIOCSTI}, std::uint32_t{TIOCSETD}, linux_console})
        is(request, refusal(EPERM));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::limit:
      load_argument(0);
      is(1, refusal(EPERM));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::persona:
      load_argument(0);
      for (const std::uint32_t persona : {std::uint32_t{PER_LINUX}, std::uint32_t{PER_LINUX32},
                                          std::uint32_t{ADDR_NO_RANDOMIZE}, persona_query})
        is(persona, SECCOMP_RET_ALLOW);
      return answer(refusal(EPERM));
    // A process that stops on its way out ends with who traces it, and of two that trace each other
    // neither ends: no signal reaches them there, and their box waits for them.
    case Rule::trace:
      load_argument(0);
      add(equal, PTRACE_SETOPTIONS, 3, 0);
      add(equal, PTRACE_SEIZE, 2, 0);
      add(equal, old_set_options, 1, 0);
      answer(SECCOMP_RET_ALLOW);
      load_argument(3);
      add(any_bit, PTRACE_O_TRACEEXIT, 0, 1);
      answer(refusal(EPERM));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::map:
    case Rule::segment:
      load_argument(rule == Rule::map ? 3 : 2);
      add(any_bit, rule == Rule::map ? MAP_HUGETLB : SHM_HUGETLB, 0, 1);
      answer(refusal(ENOMEM));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::option: return add_option_rule();
    case Rule::seccomp:
      load_argument(0);
      is(SECCOMP_SET_MODE_FILTER, refusal(EINVAL));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::control:
      load_argument(0);
      is(set_futex_table, refusal(EINVAL));
      add(equal, PR_SET_SECCOMP, 1, 0);
      answer(SECCOMP_RET_ALLOW);
      load_argument(1);
      is(SECCOMP_MODE_FILTER, refusal(EINVAL));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::advice:  // that is no more than a hint
      load_argument(3);
      is(POSIX_FADV_DONTNEED, refusal(0));
      return answer(SECCOMP_RET_ALLOW);
    case Rule::memory_advice:
      load_argument(2);
      for (const std::uint32_t advice : {cold_pages, unwanted_pages}) is(advice, refusal(0));
      return answer(SECCOMP_RET_ALLOW);
    default: return answer(action_of(rule));
  }
}

void Filter::add_option_rule() {
  constexpr std::uint16_t equal = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr std::array<std::uint32_t, 4> programs{
      SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF};
  const auto refuse = [&](std::span<const std::uint32_t> names) {
    load_argument(2);
    for (const std::uint32_t name : names) {
      add(equal, name, 0, 1);
      answer(refusal(EPERM));
    }
    answer(SECCOMP_RET_ALLOW);
  };
  load_argument(1);
  constexpr auto length_of_first = static_cast<std::uint8_t>(2 * programs.size() + 2);
  add(equal, SOL_SOCKET, 0, length_of_first);
  refuse(programs);
  load_argument(1);
  add(equal, tcp, 1, 0);
  answer(SECCOMP_RET_ALLOW);
  constexpr std::array<std::uint32_t, 1> upper_protocols{TCP_ULP};
  refuse(upper_protocols);
}

namespace {

Rule rule_behind_gvisor(std::uint32_t number) noexcept {
  constexpr std::array<std::uint32_t, 6> at_a_process{
      SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open};
  const Rule rule = rule_of(number);
  const bool is_one = std::ranges::find(at_a_process, number) != at_a_process.end();
  return is_one && rule == Rule::allow ? Rule::limit : rule;
}

}  // namespace

// Numbers in ascending order, in stretches with one rule: past the stretch, or its rule.
Filter::Filter(Isolation isolation) noexcept {
  const auto own_rule = isolation == Isolation::gvisor ? rule_behind_gvisor : rule_of;
  constexpr std::uint16_t equal = BPF_JMP | BPF_JEQ | BPF_K;
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  add(equal, own_architecture, 1, 0);
  answer(refusal(ENOSYS));
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  std::uint32_t first = 0;
  while (first < call_numbers) {
    const Rule rule = own_rule(first);
    std::uint32_t next = first + 1;
    while (next < call_numbers && own_rule(next) == rule && is_plain(rule)) ++next;
    const std::size_t jump = size_;
    add(BPF_JMP | BPF_JGE | BPF_K, next);
    add_rule(rule);
    code_[jump].jt = static_cast<std::uint8_t>(size_ - jump - 1);
    first = next;
  }
  answer(refusal(ENOSYS));
}

bool Filter::load() const noexcept {
  const sock_fprog program{static_cast<unsigned short>(size_),
                           const_cast<sock_filter*>(code_.data())};
  return load_filter(program) == 0;
}

}  // namespace cloche::warden
