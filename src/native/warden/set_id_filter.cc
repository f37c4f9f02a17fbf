// SPDX-License-Identifier: Apache-2.0
#include "native/warden/set_id_filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "native/warden/load_filter.h"

namespace cloche::warden {
namespace {

constexpr std::uint32_t openat2_number = 437, fchmodat2_number = 452;

struct ModeCall {
  std::uint32_t number;
  std::uint8_t mode;  // which argument it is
  int flags = -1;     // the argument without whose O_CREAT and O_TMPFILE there is no mode
};

constexpr std::array mode_calls{
#if defined(SYS_chmod)
    ModeCall{SYS_chmod, 1},   ModeCall{SYS_creat, 1},    ModeCall{SYS_mknod, 1},
    ModeCall{SYS_mkdir, 1},   ModeCall{SYS_open, 2, 1},
#endif
    ModeCall{SYS_fchmod, 1},  ModeCall{SYS_fchmodat, 2}, ModeCall{fchmodat2_number, 2},
    ModeCall{SYS_mknodat, 2}, ModeCall{SYS_mkdirat, 2},  ModeCall{SYS_openat, 3, 2},
};

class Code {
 public:
  // The machine's own calls alone come here: the other filter has no others.
  Code() {
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, openat2_number, 0, 1);
    answer(SECCOMP_RET_ERRNO | ENOSYS);  // its mode is behind a pointer
    for (const ModeCall& call : mode_calls) {
      const std::size_t jump = size_;
      add(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 0);
      if (call.flags >= 0) {
        load_argument(static_cast<std::uint32_t>(call.flags));
        add(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 1, 0);
        answer(SECCOMP_RET_ALLOW);
      }
      load_argument(call.mode);
      add(BPF_JMP | BPF_JSET | BPF_K, S_ISUID | S_ISGID, 0, 1);
      answer(SECCOMP_RET_ERRNO | EPERM);
      answer(SECCOMP_RET_ALLOW);
      code_[jump].jf = static_cast<std::uint8_t>(size_ - jump - 1);
    }
    answer(SECCOMP_RET_ALLOW);
  }

  sock_fprog program() { return {static_cast<unsigned short>(size_), code_.data()}; }

 private:
  void add(std::uint16_t code, std::uint32_t value, std::uint8_t yes = 0, std::uint8_t no = 0) {
    code_[size_++] = {code, yes, no, value};
  }
  void answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  void load(std::size_t offset) {
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  void load_argument(std::uint32_t index) {
    load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
  }

  std::array<sock_filter, 16 + 8 * mode_calls.size()> code_{};
  std::size_t size_ = 0;
};

}  // namespace

bool refuse_set_id() noexcept {
  Code code;
  return load_filter(code.program()) == 0;
}

}  // namespace cloche::warden
