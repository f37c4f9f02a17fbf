// SPDX-License-Identifier: Apache-2.0
// The system calls of a program without a C library, and where it begins. What fails is a negative
// errno.
#pragma once

#include <linux/poll.h>
#include <sys/syscall.h>

#include <cstddef>

namespace cloche::caller {

inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#else
#error "the caller knows x86-64 and aarch64"
#endif
}

// Arguments: an address, a number without a sign.
inline long address_of(const void* pointer) { return reinterpret_cast<long>(pointer); }
inline long word_of(unsigned long number) { return static_cast<long>(number); }

inline long read(int fd, void* to, std::size_t size) {
  return system_call(SYS_read, fd, address_of(to), static_cast<long>(size));
}
inline long write(int fd, const void* from, std::size_t size) {
  return system_call(SYS_write, fd, address_of(from), static_cast<long>(size));
}
inline long poll(pollfd* files, unsigned count) {
  return system_call(SYS_ppoll, address_of(files), static_cast<long>(count), 0, 0, 0);
}
[[noreturn]] inline void leave(int status) {
  for (;;) system_call(SYS_exit_group, status);
}

// The program. `stack` is what the kernel has put there: the number of arguments, they, a null, the
// environment, a null.
extern "C" [[noreturn]] void cloche_caller_main(char** stack);

}  // namespace cloche::caller

#if defined(__x86_64__)
#define CLOCHE_CALLER_START "mov %rsp, %rdi\nand $-16, %rsp\ncall cloche_caller_main\n"
#else
#define CLOCHE_CALLER_START "mov x0, sp\nbl cloche_caller_main\n"
#endif
