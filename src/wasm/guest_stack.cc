// SPDX-License-Identifier: Apache-2.0
#include "wasm/guest_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <new>

#include "base/check.h"
#include "wasm/engine.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace cloche::wasm {
namespace {

// Of a guest's thread, what its frames below the guest's may have used.
constexpr std::size_t enough_bytes = max_guest_stack_bytes + (std::size_t{512} << 10);

// The lowest address of the stack that the thread is on; 0: not looked up yet.
thread_local std::uintptr_t lowest_address = 0;

std::uintptr_t lowest_of_this_thread() noexcept {
  pthread_attr_t attributes;
  void* address = nullptr;
  std::size_t size = 0;
  CLOCHE_CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
  CLOCHE_CHECK(pthread_attr_getstack(&attributes, &address, &size) == 0);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(address);
}

class GuestStack {
 public:
  // Null when the host gives no memory.
  static std::unique_ptr<GuestStack> create() noexcept {
    const std::size_t guard = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* base = mmap(nullptr, guard + guest_thread_stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    std::unique_ptr<GuestStack> stack(new (std::nothrow) GuestStack(base, guard));
    if (!stack || mprotect(base, guard, PROT_NONE) != 0) {
      if (!stack) munmap(base, guard + guest_thread_stack_bytes);
      return nullptr;
    }
    // Used as touched: a little of it, nearly always.
    (void)madvise(base, guard + guest_thread_stack_bytes, MADV_NOHUGEPAGE);
    return stack;
  }

  ~GuestStack() { munmap(base_, guard_ + guest_thread_stack_bytes); }
  GuestStack(const GuestStack&) = delete;
  GuestStack& operator=(const GuestStack&) = delete;

  void run(const std::function<void()>& work) noexcept {
    CLOCHE_CHECK(work_ == nullptr);
    work_ = &work;
    CLOCHE_CHECK(getcontext(&inside_) == 0);
    inside_.uc_stack.ss_sp = bottom();
    inside_.uc_stack.ss_size = guest_thread_stack_bytes;
    inside_.uc_link = &outside_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&GuestStack::entry), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    const std::uintptr_t own_lowest = lowest_address;
    lowest_address = reinterpret_cast<std::uintptr_t>(bottom());
    leave_own_stack();
    // swapcontext in two steps: ASan warns of that function in the program's error stream.
    volatile bool inside = false;
    CLOCHE_CHECK(getcontext(&outside_) == 0);
    if (!inside) {
      inside = true;
      setcontext(&inside_);
      CLOCHE_CHECK(false);
    }
    back_on_own_stack();
    lowest_address = own_lowest;
    work_ = nullptr;
  }

 private:
  GuestStack(void* base, std::size_t guard) : base_(base), guard_(guard) {}

  std::byte* bottom() const noexcept { return static_cast<std::byte*>(base_) + guard_; }

  // makecontext passes ints.
  static void entry(unsigned high, unsigned low) noexcept {
    const auto address = (static_cast<std::uintptr_t>(high) << 32) | low;
    auto& self = *reinterpret_cast<GuestStack*>(address);
    self.on_guests_stack();
    (*self.work_)();
    self.leave_guests_stack();
  }

#if defined(__SANITIZE_ADDRESS__)
  void leave_own_stack() noexcept {
    __sanitizer_start_switch_fiber(&own_fake_, bottom(), guest_thread_stack_bytes);
  }
  void on_guests_stack() noexcept {
    __sanitizer_finish_switch_fiber(nullptr, &own_bottom_, &own_size_);
  }
  void leave_guests_stack() noexcept {
    __sanitizer_start_switch_fiber(nullptr, own_bottom_, own_size_);
  }
  void back_on_own_stack() noexcept {
    __sanitizer_finish_switch_fiber(own_fake_, nullptr, nullptr);
  }
  void* own_fake_ = nullptr;
  const void* own_bottom_ = nullptr;
  std::size_t own_size_ = 0;
#else
  void leave_own_stack() noexcept {}
  void on_guests_stack() noexcept {}
  void leave_guests_stack() noexcept {}
  void back_on_own_stack() noexcept {}
#endif

  void* base_;
  std::size_t guard_;
  const std::function<void()>* work_ = nullptr;
  ucontext_t inside_{};
  ucontext_t outside_{};
};

// The thread ends, and its stack has gone: objects that are destroyed later still may run guests.
thread_local bool ending = false;

struct OwnStack {
  std::unique_ptr<GuestStack> stack;
  ~OwnStack() { ending = true; }
};

thread_local OwnStack own;

}  // namespace

std::size_t stack_left_bytes() noexcept {
  if (lowest_address == 0) lowest_address = lowest_of_this_thread();
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - lowest_address;
}

bool has_guest_stack() noexcept {
  if (stack_left_bytes() >= enough_bytes) return true;
  if (ending) return false;
  if (own.stack) return true;
#if defined(__SANITIZE_THREAD__)
  return false;  // it takes two stacks for two threads
#else
  own.stack = GuestStack::create();
  return own.stack != nullptr;
#endif
}

void on_guest_stack(const std::function<void()>& work) noexcept {
  if (stack_left_bytes() >= enough_bytes) return work();
  CLOCHE_CHECK(has_guest_stack());
  own.stack->run(work);
}

}  // namespace cloche::wasm
