// SPDX-License-Identifier: Apache-2.0
// The image of a frozen process: what an interpreter of one box writes of itself
// (src/native/freeze), and another box begins with (main.cc). The host carries it from one to the
// other and reads nothing of it but its size: both ends are guests, each behind its own wall, and
// what a forged image does it does to the process that is made of it.
//
// The head, then the regions, the pieces and the names, then from the next page on what the pieces
// say, each at its place.
//
// A process that has gone on from an image named base_name has what it has not changed of that from
// there: its own image says where, and is of use together with that alone. No image that is named
// so says such a thing, so an image has one base at most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cloche::freeze {

inline constexpr char base_name[] = "cloche-start";  // of the file in memory
inline constexpr std::uint64_t image_magic = 0x31'657a'6565'7266;
inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint32_t most_regions = 16384;
inline constexpr std::uint32_t most_pieces = 65536;
inline constexpr std::uint32_t most_name_bytes = 1 << 20;

// Where the program that restores has itself and its work, and the one that freezes its tables: a
// process with something of its own there cannot be frozen. What the first leaves behind stays
// below thaw_end, and does not go along again.
inline constexpr std::uint64_t work_begin = 0x100'0000'0000, work_end = 0x300'0000'0000;
inline constexpr std::uint64_t thaw_end = work_begin + (16 << 20);
inline constexpr std::uint64_t freezer_place = 0x110'0000'0000, kernel_place = 0x200'0000'0000;

// What a call keeps, the stack after it, and where it returns to.
struct Registers {
  std::uint64_t rbx, rbp, r12, r13, r14, r15, stack, next;
};

// As rt_sigaction has it.
struct SignalAction {
  std::uint64_t handler, flags, restorer, mask;
};

// As sigaltstack has it.
struct SignalStack {
  std::uint64_t address;
  std::uint64_t flags;
  std::uint64_t bytes;
};

// As prctl(PR_SET_MM_MAP) has it.
struct Layout {
  std::uint64_t start_code, end_code, start_data, end_data, start_brk, brk, start_stack, arg_start,
      arg_end, env_start, env_end, auxv;
  std::uint32_t auxv_bytes, program;
};

inline constexpr int most_signals = 64;

struct Head {
  std::uint64_t magic;
  std::uint64_t total_bytes;  // of the image
  std::uint32_t regions, pieces, name_bytes;
  std::uint32_t float_mode;  // mxcsr
  std::uint16_t old_float_mode;
  Registers registers;
  std::uint64_t thread;       // the base of fs
  std::uint64_t thread_id;    // where the C library has it
  std::uint64_t restartable;  // its area for restartable sequences; 0: none
  std::uint64_t robust, robust_bytes;
  std::uint64_t vdso;
  std::uint64_t signal_mask;
  SignalStack signal_stack;
  Layout layout;
  char name[16];  // that lists of processes show
  SignalAction actions[most_signals + 1];
};

enum class Kind : std::uint8_t {
  anonymous,    // what no piece says of it is empty
  file,         // of the box, copied when it is written
  shared_file,  // of the box, written through
  base,         // of the base, copied when it is written
};

struct Region {
  std::uint64_t begin, end;
  std::uint64_t offset;  // in its file
  std::uint32_t name;    // of the file: where it begins among the names
  std::uint8_t protection;
  Kind kind;
  bool is_stack;
};

// Whole pages of a region that are as the image has them.
struct Piece {
  std::uint64_t begin, bytes;
  std::uint64_t offset;  // in the image
  std::uint32_t region;
};

inline constexpr std::size_t most_table_bytes =
    sizeof(Head) + most_regions * sizeof(Region) + most_pieces * sizeof(Piece) + most_name_bytes;

inline constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// What cloche_freeze returns besides a negative errno.
inline constexpr long has_frozen = 0, is_thawed = 1;

}  // namespace cloche::freeze
