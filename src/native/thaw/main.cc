// SPDX-License-Identifier: Apache-2.0
// The program that becomes a process which another box has frozen: it lays the image over itself and
// goes on where that left off. It needs no privilege and gains none; where something is not as it was
// (a file that is gone, another kernel), it ends with a status that says at which step, and nobody
// has seen anything.
//
// Descriptors are what it was given: this program is `program_fd`, the image `image_fd`, its base, if
// it has one, `base_fd`, and all are closed in the end. Without a C library, at an address where nobody else is.
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/mman.h>

#include "native/caller/memory_calls.h"
#include "native/caller/system.h"
#include "native/thaw/image.h"
#include "native/thaw/process_maps.h"
#include "native/thaw/thaw_wire.h"

#if !defined(__x86_64__)
#error "frozen processes are of x86-64"
#endif

extern "C" {
alignas(64) char cloche_thaw_stack[1 << 16];
[[noreturn]] void cloche_thaw_main();
}

// On a stack of its own: the kernel's is where the process to come may have something else.
__asm__(
    ".globl _start\n_start:\n"
    "movabs $cloche_thaw_stack + 65536, %rsp\n"
    "call cloche_thaw_main\n");

namespace cloche::freeze {
namespace {

using caller::address_of;
using caller::system_call;
using caller::word_of;

constexpr std::size_t most_kernel_parts = 8;
constexpr std::uint64_t bytes_worth_a_mapping = 16 * page_bytes;
constexpr long set_thread_base = 0x1002;  // of arch_prctl
constexpr std::uint32_t no_restartable_sequences = static_cast<std::uint32_t>(-2);
constexpr int signal_kill = 9, signal_stop = 19;

alignas(4096) char tables[most_table_bytes];
char maps[1 << 16];
static_assert(sizeof tables + sizeof maps + (1 << 20) < thaw_end - work_begin);

[[noreturn]] void give_up(ThawStep step) { caller::leave(static_cast<int>(step)); }

void need(long result, ThawStep step) {
  if (result < 0 && result > -4096) give_up(step);
}

// What the kernel puts into each process: the code of the vdso, and the data that it reads.
struct KernelParts {
  struct Part {
    std::uint64_t begin, bytes;
  };
  Part parts[most_kernel_parts];
  std::size_t count = 0;
  std::uint64_t vdso = 0;
};

void move(std::uint64_t from, std::uint64_t bytes, std::uint64_t to) {
  need(system_call(SYS_mremap, word_of(from), word_of(bytes), word_of(bytes),
                   MREMAP_MAYMOVE | MREMAP_FIXED, word_of(to)),
       ThawStep::kernel_parts);
}

// All that is not this program goes.
void clear_out(KernelParts& kernel) {
  const long size = read_whole("/proc/self/maps", maps, sizeof maps);
  need(size, ThawStep::maps);
  MapsReader reader(maps, static_cast<std::size_t>(size));
  Mapping mapping;
  while (reader.next(mapping)) {
    const auto is = [&](const char* name) {
      return begins_with(mapping.path, mapping.path_size, name);
    };
    const std::uint64_t bytes = mapping.end - mapping.begin;
    if (is("[vvar") || is("[vdso]")) {
      if (kernel.count == most_kernel_parts) give_up(ThawStep::kernel_parts);
      if (is("[vdso]")) kernel.vdso = mapping.begin;
      kernel.parts[kernel.count++] = {mapping.begin, bytes};
    } else if (is("[stack]") || is("[heap]")) {
      need(system_call(SYS_munmap, word_of(mapping.begin), word_of(bytes)), ThawStep::maps);
    }
  }
  if (kernel.vdso == 0) give_up(ThawStep::kernel_parts);
}

// From the beginning of the image, as far as it goes.
long read_image(long from, long to) {
  while (from < to) {
    const long got = system_call(SYS_pread64, image_fd, address_of(tables) + from, to - from, from);
    need(got, ThawStep::image);
    if (got == 0) break;
    from += got;
  }
  return from;
}

const Head& read_tables() {
  constexpr long head_bytes = sizeof(Head);
  if (read_image(0, head_bytes) < head_bytes) give_up(ThawStep::image);
  const Head& head = *reinterpret_cast<const Head*>(tables);
  if (head.magic != image_magic || head.regions > most_regions || head.pieces > most_pieces ||
      head.name_bytes > most_name_bytes)
    give_up(ThawStep::image);
  const long bytes = head_bytes + word_of(head.regions * sizeof(Region)) +
                     word_of(head.pieces * sizeof(Piece)) + word_of(head.name_bytes);
  if (read_image(head_bytes, bytes) < bytes) give_up(ThawStep::image);
  return head;
}

// The regions of one file lie side by side: it is opened once for all.
class Files {
 public:
  explicit Files(const char* names) : names_(names) {}
  ~Files() { close(); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  int open(const Region& region) {
    const bool writes = region.kind == Kind::shared_file && (region.protection & PROT_WRITE) != 0;
    if (fd_ >= 0 && name_ == region.name && writes_ == writes) return static_cast<int>(fd_);
    close();
    fd_ = system_call(SYS_openat, AT_FDCWD, address_of(names_ + region.name),
                      (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    need(fd_, ThawStep::file);
    name_ = region.name;
    writes_ = writes;
    return static_cast<int>(fd_);
  }

 private:
  void close() {
    if (fd_ >= 0) system_call(SYS_close, fd_);
    fd_ = -1;
  }
  const char* names_;
  long fd_ = -1;
  std::uint32_t name_ = 0;
  bool writes_ = false;
};

void map(const Region& region, Files& files) {
  int flags = MAP_FIXED, fd = -1;
  if (region.kind == Kind::anonymous) {
    flags |= MAP_PRIVATE | MAP_ANONYMOUS | (region.is_stack ? MAP_GROWSDOWN : 0);
  } else if (region.kind == Kind::base) {
    flags |= MAP_PRIVATE;
    fd = base_fd;
  } else {
    flags |= region.kind == Kind::shared_file ? MAP_SHARED : MAP_PRIVATE;
    fd = files.open(region);
  }
  need(system_call(SYS_mmap, word_of(region.begin), word_of(region.end - region.begin),
                   region.protection, flags, fd, fd < 0 ? 0 : word_of(region.offset)),
       ThawStep::region);
}

void fill(const Piece& piece, const Region& region) {
  if (piece.bytes >= bytes_worth_a_mapping || (region.protection & PROT_WRITE) == 0) {
    need(system_call(SYS_mmap, word_of(piece.begin), word_of(piece.bytes), region.protection,
                     MAP_FIXED | MAP_PRIVATE, image_fd, word_of(piece.offset)),
         ThawStep::piece);
    return;
  }
  for (std::uint64_t done = 0; done < piece.bytes;) {
    const long got = system_call(SYS_pread64, image_fd, word_of(piece.begin + done),
                                 word_of(piece.bytes - done), word_of(piece.offset + done));
    if (got <= 0) give_up(ThawStep::piece);
    done += static_cast<std::uint64_t>(got);
  }
}

void map_all(const Head& head) {
  const auto* regions = reinterpret_cast<const Region*>(&head + 1);
  const auto* pieces = reinterpret_cast<const Piece*>(regions + head.regions);
  const char* names = reinterpret_cast<const char*>(pieces + head.pieces);
  Files files(names);
  for (std::uint32_t i = 0; i < head.regions; ++i) {
    const Region& region = regions[i];
    if (region.end <= region.begin || region.name > head.name_bytes ||
        (region.end > work_begin && region.begin < work_end))
      give_up(ThawStep::image);
    map(region, files);
  }
  for (std::uint32_t i = 0; i < head.pieces; ++i) {
    if (pieces[i].region >= head.regions) give_up(ThawStep::image);
    fill(pieces[i], regions[pieces[i].region]);
  }
}

void restore_signals(const Head& head) {
  for (int number = 1; number <= most_signals; ++number) {
    const SignalAction& action = head.actions[number];
    if (number == signal_kill || number == signal_stop || action.handler == 0) continue;
    need(system_call(SYS_rt_sigaction, number, address_of(&action), 0, 8), ThawStep::signals);
  }
  if (head.signal_stack.bytes != 0)
    need(system_call(SYS_sigaltstack, address_of(&head.signal_stack), 0), ThawStep::signals);
  constexpr long set_mask = 2;
  need(system_call(SYS_rt_sigprocmask, set_mask, address_of(&head.signal_mask), 0, 8),
       ThawStep::signals);
}

// The C library goes on to know itself by the number that the thread has here, and asks the kernel
// where it runs: its area is not registered again.
void restore_thread(const Head& head) {
  need(system_call(SYS_arch_prctl, set_thread_base, word_of(head.thread)), ThawStep::thread);
  const long id = system_call(SYS_set_tid_address, word_of(head.thread_id));
  *reinterpret_cast<std::int32_t*>(head.thread_id) = static_cast<std::int32_t>(id);
  if (head.robust != 0)
    need(system_call(SYS_set_robust_list, word_of(head.robust), word_of(head.robust_bytes)),
         ThawStep::thread);
  if (head.restartable != 0) {
    auto* const area = reinterpret_cast<std::uint32_t*>(head.restartable);
    area[0] = 0;
    area[1] = no_restartable_sequences;
  }
}

[[noreturn]] void go_on(const Head& head) {
  __asm__ volatile("ldmxcsr %0\nfldcw %1" ::"m"(head.float_mode), "m"(head.old_float_mode));
  __asm__ volatile(
      "mov 0(%0), %%rbx\n"
      "mov 8(%0), %%rbp\n"
      "mov 16(%0), %%r12\n"
      "mov 24(%0), %%r13\n"
      "mov 32(%0), %%r14\n"
      "mov 40(%0), %%r15\n"
      "mov 48(%0), %%rsp\n"
      "mov %1, %%rax\n"
      "jmp *56(%0)\n" ::"D"(&head.registers),
      "i"(is_thawed)
      : "memory");
  __builtin_unreachable();
}

}  // namespace

extern "C" [[noreturn]] void cloche_thaw_main() {
  KernelParts kernel;
  clear_out(kernel);
  const Head& head = read_tables();
  const std::uint64_t here = kernel.parts[0].begin;
  for (std::size_t i = 0; i < kernel.count; ++i)
    move(kernel.parts[i].begin, kernel.parts[i].bytes,
         kernel_place + (kernel.parts[i].begin - here));
  map_all(head);
  const std::uint64_t there = head.vdso - (kernel.vdso - here);
  for (std::size_t i = 0; i < kernel.count; ++i) {
    const std::uint64_t distance = kernel.parts[i].begin - here;
    move(kernel_place + distance, kernel.parts[i].bytes, there + distance);
  }
  need(system_call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, address_of(&head.layout),
                   sizeof head.layout, 0),
       ThawStep::layout);
  (void)system_call(SYS_prctl, PR_SET_NAME, address_of(head.name));
  restore_signals(head);
  restore_thread(head);
  system_call(SYS_close, base_fd);
  system_call(SYS_close, image_fd);
  system_call(SYS_close, program_fd);
  go_on(head);
}

}  // namespace cloche::freeze
