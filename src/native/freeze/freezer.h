// SPDX-License-Identifier: Apache-2.0
// Freezer: what a library that a process has loaded writes an image of that process with
// (native/thaw/image.h). The image goes on in another box as if freeze() had returned there.
//
// Private memory is written as far as the process has changed it, files of the box and the base are
// named. What cannot go along is an error: memory that is shared with other processes and is no
// file's. Without a C library, and without data of its own: what it works on is memory that is not
// frozen.
#pragma once

#include <linux/prctl.h>
#include <sys/mman.h>

#include <cerrno>

#include "native/caller/memory_calls.h"
#include "native/caller/system.h"
#include "native/thaw/image.h"
#include "native/thaw/process_maps.h"

#if !defined(__x86_64__)
#error "frozen processes are of x86-64"
#endif

extern "C" {
// 0; and is_thawed, where somebody returns by the registers again.
__attribute__((visibility("hidden"), returns_twice)) long cloche_keep_registers(void* registers);
}

__asm__(
    ".hidden cloche_keep_registers\n"
    ".globl cloche_keep_registers\n"
    ".type cloche_keep_registers, @function\n"
    "cloche_keep_registers:\n"
    "mov %rbx, 0(%rdi)\n"
    "mov %rbp, 8(%rdi)\n"
    "mov %r12, 16(%rdi)\n"
    "mov %r13, 24(%rdi)\n"
    "mov %r14, 32(%rdi)\n"
    "mov %r15, 40(%rdi)\n"
    "lea 8(%rsp), %rax\n"
    "mov %rax, 48(%rdi)\n"
    "mov (%rsp), %rax\n"
    "mov %rax, 56(%rdi)\n"
    "xor %eax, %eax\n"
    "ret\n");

namespace cloche::freeze {

using caller::address_of;
using caller::system_call;
using caller::word_of;

constexpr long get_thread_base = 0x1003;  // of arch_prctl
constexpr long populate_read = 22;        // of madvise, from Linux 5.14
constexpr std::size_t maps_room = 4 << 20;
constexpr std::size_t entries_at_once = 8192;

// Of an entry of pagemap.
constexpr std::uint64_t is_present = 1ULL << 63, is_swapped = 1ULL << 62, is_of_file = 1ULL << 61;

struct Work {
  Head head;
  Region regions[most_regions];
  Piece pieces[most_pieces];
  char names[most_name_bytes];
  std::uint64_t entries[entries_at_once];
  char maps[maps_room];
};

inline long write_all(int to, const void* bytes, std::uint64_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const long done = caller::write(to, from, size);
    if (done == -EINTR) continue;
    if (done <= 0) return done < 0 ? done : -EIO;
    from += done;
    size -= static_cast<std::uint64_t>(done);
  }
  return 0;
}

class Freezer {
 public:
  explicit Freezer(Work& work) : work_(work), head_(work.head) {}

  long find_memory() {
    const long size = read_whole("/proc/self/maps", work_.maps, sizeof work_.maps);
    if (size < 0) return size;
    pagemap_ =
        system_call(SYS_openat, AT_FDCWD, address_of("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC);
    if (pagemap_ < 0) return pagemap_;
    MapsReader reader(work_.maps, static_cast<std::size_t>(size));
    Mapping mapping;
    long result = 0;
    while (result == 0 && reader.next(mapping)) result = take(mapping);
    system_call(SYS_close, pagemap_);
    if (result == 0 && head_.vdso == 0) result = -EOPNOTSUPP;
    return result;
  }

  long find_thread(long restartable_offset) {
    std::uint64_t base = 0;
    if (const long result = system_call(SYS_arch_prctl, get_thread_base, address_of(&base));
        result < 0)
      return result;
    head_.thread = base;
    if (restartable_offset != 0)
      head_.restartable = base + static_cast<std::uint64_t>(restartable_offset);
    // After fork the C library has the kernel clear its number at the end; it must be the one that
    // the thread has, or the library is another than we know.
    if (const long result =
            system_call(SYS_prctl, PR_GET_TID_ADDRESS, address_of(&head_.thread_id));
        result < 0)
      return result;
    if (head_.thread_id == 0 ||
        *reinterpret_cast<const std::int32_t*>(head_.thread_id) != system_call(SYS_gettid))
      return -EOPNOTSUPP;
    (void)system_call(SYS_get_robust_list, 0, address_of(&head_.robust),
                      address_of(&head_.robust_bytes));
    return 0;
  }

  long find_signals() {
    for (int number = 1; number <= most_signals; ++number)
      (void)system_call(SYS_rt_sigaction, number, 0, address_of(&head_.actions[number]), 8);
    (void)system_call(SYS_sigaltstack, 0, address_of(&head_.signal_stack));
    return system_call(SYS_rt_sigprocmask, 0, 0, address_of(&head_.signal_mask), 8);
  }

  long find_layout() {
    const long size = read_whole("/proc/self/stat", work_.maps, sizeof work_.maps);
    if (size < 0) return size;
    Layout& layout = head_.layout;
    layout.start_code = field(26), layout.end_code = field(27), layout.start_stack = field(28);
    layout.start_data = field(45), layout.end_data = field(46), layout.start_brk = field(47);
    layout.arg_start = field(48), layout.arg_end = field(49);
    layout.env_start = field(50), layout.env_end = field(51);
    layout.brk = static_cast<std::uint64_t>(system_call(SYS_brk, 0));
    layout.program = static_cast<std::uint32_t>(-1);  // as it is
    return system_call(SYS_prctl, PR_GET_NAME, address_of(head_.name));
  }

  long write(int to) {
    const std::uint64_t regions = head_.regions * sizeof(Region),
                        pieces = head_.pieces * sizeof(Piece);
    const std::uint64_t tables = sizeof(Head) + regions + pieces + head_.name_bytes;
    std::uint64_t at = whole_pages(tables);
    const std::uint64_t filling = at - tables;
    for (std::uint32_t i = 0; i < head_.pieces; ++i) {
      work_.pieces[i].offset = at;
      at += work_.pieces[i].bytes;
    }
    head_.magic = image_magic;
    head_.total_bytes = at;
    long result = write_all(to, &head_, sizeof(Head));
    if (result == 0) result = write_all(to, work_.regions, regions);
    if (result == 0) result = write_all(to, work_.pieces, pieces);
    if (result == 0) result = write_all(to, work_.names, head_.name_bytes);
    if (result == 0) result = write_all(to, work_.entries, filling);  // whatever is there
    for (std::uint32_t i = 0; result == 0 && i < head_.pieces; ++i)
      result = write_piece(to, work_.pieces[i]);
    return result;
  }

 private:
  long write_piece(int to, const Piece& piece) {
    const Region& region = work_.regions[piece.region];
    if ((region.protection & PROT_READ) == 0) {
      long result =
          system_call(SYS_mprotect, word_of(piece.begin), word_of(piece.bytes), PROT_READ);
      if (result == 0) {
        result = write_all(to, reinterpret_cast<const void*>(piece.begin), piece.bytes);
        (void)system_call(SYS_mprotect, word_of(piece.begin), word_of(piece.bytes),
                          region.protection);
      }
      return result;
    }
    return write_all(to, reinterpret_cast<const void*>(piece.begin), piece.bytes);
  }

  // A number of /proc/self/stat, which lies where the maps were.
  std::uint64_t field(int number) const {
    const char* at = work_.maps;
    for (const char* c = at; *c != '\0'; ++c) {
      if (*c == ')') at = c;
    }
    for (int i = 2; i < number && *at != '\0'; ++i) {
      while (*at != ' ' && *at != '\0') ++at;
      if (*at == ' ') ++at;
    }
    std::uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; ++at)
      value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    return value;
  }

  long take(const Mapping& mapping) {
    const auto is = [&](const char* name) {
      return begins_with(mapping.path, mapping.path_size, name);
    };
    if (is("[vdso]")) head_.vdso = mapping.begin;
    if (is("[vdso]") || is("[vvar") || is("[vsyscall]")) return 0;
    if (mapping.begin == freezer_place && mapping.end - mapping.begin == whole_pages(sizeof(Work)))
      return 0;
    if (mapping.begin >= work_begin && mapping.end <= thaw_end) return 0;
    if (mapping.end > work_begin && mapping.begin < work_end) return -EOPNOTSUPP;
    if (head_.regions == most_regions) return -E2BIG;
    Region& region = work_.regions[head_.regions];
    region.begin = mapping.begin;
    region.end = mapping.end;
    region.offset = mapping.offset;
    region.protection = static_cast<std::uint8_t>((mapping.access[0] == 'r' ? PROT_READ : 0) |
                                                  (mapping.access[1] == 'w' ? PROT_WRITE : 0) |
                                                  (mapping.access[2] == 'x' ? PROT_EXEC : 0));
    region.is_stack = is("[stack]");
    const bool is_shared = mapping.access[3] == 's';
    const bool has_file = is("/");
    const bool has_name = has_file && can_be_opened(mapping);
    const bool is_base = is_of_base(mapping);
    if (is_shared && !has_name) return -EOPNOTSUPP;
    region.kind = is_shared  ? Kind::shared_file
                  : has_name ? Kind::file
                  : is_base  ? Kind::base
                             : Kind::anonymous;
    if (has_name && !add_name(mapping, region)) return -E2BIG;
    ++head_.regions;
    if (is_shared) return 0;
    return has_file && !has_name && !is_base ? take_whole(region) : take_changed(region);
  }

  static bool is_of_base(const Mapping& mapping) {
    constexpr char path[] = "/memfd:";
    constexpr std::size_t at = sizeof path - 1, name_size = sizeof base_name - 1;
    return begins_with(mapping.path, mapping.path_size, path) &&
           begins_with(mapping.path + at, mapping.path_size - at, base_name) &&
           begins_with(mapping.path + at + name_size, mapping.path_size - at - name_size,
                       " (deleted)");
  }

  // By its path, and it is the same file then as far as its path can tell.
  static bool can_be_opened(const Mapping& mapping) {
    if (ends_with(mapping.path, mapping.path_size, " (deleted)") ||
        begins_with(mapping.path, mapping.path_size, "/memfd:") ||
        begins_with(mapping.path, mapping.path_size, "/SYSV"))
      return false;
    for (std::size_t i = 0; i < mapping.path_size; ++i) {
      if (mapping.path[i] == '\\') return false;
    }
    return true;
  }

  bool add_name(const Mapping& mapping, Region& region) {
    if (last_path_ != nullptr && last_size_ == mapping.path_size &&
        begins_with(mapping.path, mapping.path_size, last_path_)) {
      region.name = last_name_;
      return true;
    }
    if (mapping.path_size + 1 > most_name_bytes - head_.name_bytes) return false;
    char* const name = work_.names + head_.name_bytes;
    memcpy(name, mapping.path, mapping.path_size);
    name[mapping.path_size] = '\0';
    region.name = last_name_ = head_.name_bytes;
    last_path_ = name;
    last_size_ = mapping.path_size;
    head_.name_bytes += static_cast<std::uint32_t>(mapping.path_size + 1);
    return true;
  }

  bool add_page(std::uint64_t page) {
    const std::uint32_t region = head_.regions - 1;
    if (head_.pieces > 0) {
      Piece& last = work_.pieces[head_.pieces - 1];
      if (last.region == region && last.begin + last.bytes == page) {
        last.bytes += page_bytes;
        return true;
      }
    }
    if (head_.pieces == most_pieces) return false;
    work_.pieces[head_.pieces++] = {page, page_bytes, 0, region};
    return true;
  }

  // Of a file that is gone: all that can be read.
  long take_whole(const Region& region) {
    const bool is_there = system_call(SYS_madvise, word_of(region.begin),
                                      word_of(region.end - region.begin), populate_read) == 0;
    for (std::uint64_t page = region.begin; page < region.end; page += page_bytes) {
      if (!is_there && system_call(SYS_madvise, word_of(page), page_bytes, populate_read) < 0)
        continue;
      if (!add_page(page)) return -E2BIG;
    }
    return 0;
  }

  // What is no file's any more.
  long take_changed(const Region& region) {
    for (std::uint64_t page = region.begin; page < region.end;) {
      std::uint64_t count = (region.end - page) / page_bytes;
      if (count > entries_at_once) count = entries_at_once;
      const long got =
          system_call(SYS_pread64, pagemap_, address_of(work_.entries),
                      word_of(count * sizeof(std::uint64_t)), word_of(page / page_bytes * 8));
      if (got != word_of(count * sizeof(std::uint64_t))) return got < 0 ? got : -EIO;
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t entry = work_.entries[i];
        if ((entry & (is_present | is_swapped)) == 0 || (entry & is_of_file) != 0) continue;
        if (!add_page(page + i * page_bytes)) return -E2BIG;
      }
      page += count * page_bytes;
    }
    return 0;
  }

  Work& work_;
  Head& head_;
  long pagemap_ = -1;
  const char* last_path_ = nullptr;
  std::size_t last_size_ = 0;
  std::uint32_t last_name_ = 0;
};

// The process has one thread, and no handler of a signal may run meanwhile.
// `restartable_offset`: where the C library has its area for restartable sequences, from the
// thread's base; 0: it has none. Returns has_frozen, an errno below 0, or, elsewhere, is_thawed.
inline long freeze(int to, long restartable_offset) {
  const long memory =
      system_call(SYS_mmap, word_of(freezer_place), sizeof(Work), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory < 0) return memory;
  Work& work = *reinterpret_cast<Work*>(memory);
  __asm__ volatile("stmxcsr %0\nfnstcw %1"
                   : "=m"(work.head.float_mode), "=m"(work.head.old_float_mode));
  if (cloche_keep_registers(&work.head.registers) != 0) return is_thawed;
  Freezer freezer(work);
  long result = freezer.find_thread(restartable_offset);
  if (result == 0) result = freezer.find_signals();
  if (result == 0) result = freezer.find_layout();
  if (result == 0) result = freezer.find_memory();
  if (result == 0) result = freezer.write(to);
  system_call(SYS_munmap, memory, sizeof(Work));
  return result;
}

}  // namespace cloche::freeze
