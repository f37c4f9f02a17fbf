// SPDX-License-Identifier: Apache-2.0
// The binary interface of wasi_snapshot_preview1: numbers, and structures as they lie in guest
// memory.
//
// Every structure has its padding as members, so that a zero-initialised one writes no byte of the
// host's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cloche::kernel::wasi {

enum ClockId : std::uint32_t {
  clock_realtime = 0,
  clock_monotonic = 1,
  clock_process_cputime = 2,
  clock_thread_cputime = 3,
};

enum FileType : std::uint8_t {
  filetype_unknown = 0,
  filetype_block_device = 1,
  filetype_character_device = 2,
  filetype_directory = 3,
  filetype_regular_file = 4,
  filetype_socket_dgram = 5,
  filetype_socket_stream = 6,
  filetype_symbolic_link = 7,
};

using Rights = std::uint64_t;
inline constexpr Rights right_fd_datasync = 1 << 0, right_fd_read = 1 << 1, right_fd_seek = 1 << 2,
                        right_fd_fdstat_set_flags = 1 << 3, right_fd_sync = 1 << 4,
                        right_fd_tell = 1 << 5, right_fd_write = 1 << 6, right_fd_advise = 1 << 7,
                        right_fd_allocate = 1 << 8, right_path_create_directory = 1 << 9,
                        right_path_create_file = 1 << 10, right_path_link_source = 1 << 11,
                        right_path_link_target = 1 << 12, right_path_open = 1 << 13,
                        right_fd_readdir = 1 << 14, right_path_readlink = 1 << 15,
                        right_path_rename_source = 1 << 16, right_path_rename_target = 1 << 17,
                        right_path_filestat_get = 1 << 18, right_path_filestat_set_size = 1 << 19,
                        right_path_filestat_set_times = 1 << 20, right_fd_filestat_get = 1 << 21,
                        right_fd_filestat_set_size = 1 << 22, right_fd_filestat_set_times = 1 << 23,
                        right_path_symlink = 1 << 24, right_path_remove_directory = 1 << 25,
                        right_path_unlink_file = 1 << 26, right_poll_fd_readwrite = 1 << 27,
                        right_sock_shutdown = 1 << 28, right_sock_accept = 1 << 29;
inline constexpr Rights rights_all = (1 << 30) - 1;

inline constexpr std::uint32_t fdflag_append = 1, fdflag_dsync = 2, fdflag_nonblock = 4,
                               fdflag_rsync = 8, fdflag_sync = 16, fdflags_all = 31;
inline constexpr std::uint32_t oflag_creat = 1, oflag_directory = 2, oflag_excl = 4,
                               oflag_trunc = 8, oflags_all = 15;
inline constexpr std::uint32_t lookup_symlink_follow = 1;
inline constexpr std::uint32_t fstflag_atim = 1, fstflag_atim_now = 2, fstflag_mtim = 4,
                               fstflag_mtim_now = 8, fstflags_all = 15;
inline constexpr std::uint32_t whence_set = 0, whence_cur = 1, whence_end = 2;
inline constexpr std::uint32_t advice_last = 5;
inline constexpr std::uint32_t preopentype_dir = 0, preopentype_none = 1;
inline constexpr std::uint32_t riflag_peek = 1, riflag_waitall = 2, riflags_all = 3;
inline constexpr std::uint32_t roflag_data_truncated = 1;
inline constexpr std::uint32_t sdflag_rd = 1, sdflag_wr = 2;

enum EventType : std::uint8_t { event_clock = 0, event_fd_read = 1, event_fd_write = 2 };
inline constexpr std::uint16_t subclock_abstime = 1, eventrw_hangup = 1;

struct IoVec {
  std::uint32_t buf = 0;
  std::uint32_t length = 0;
};
static_assert(sizeof(IoVec) == 8);

struct FdStat {
  std::uint8_t filetype = 0;
  std::uint8_t pad0 = 0;
  std::uint16_t flags = 0;
  std::uint32_t pad1 = 0;
  Rights rights_base = 0;
  Rights rights_inheriting = 0;
};
static_assert(sizeof(FdStat) == 24 && offsetof(FdStat, rights_base) == 8);

struct FileStat {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::uint8_t filetype = 0;
  std::uint8_t pad[7] = {};
  std::uint64_t nlink = 0;
  std::uint64_t size = 0;
  std::uint64_t atim_ns = 0;
  std::uint64_t mtim_ns = 0;
  std::uint64_t ctim_ns = 0;
};
static_assert(sizeof(FileStat) == 64 && offsetof(FileStat, nlink) == 24);

struct Prestat {
  std::uint32_t tag = 0;
  std::uint32_t name_length = 0;
};
static_assert(sizeof(Prestat) == 8);

struct DirEnt {
  std::uint64_t next = 0;
  std::uint64_t ino = 0;
  std::uint32_t name_length = 0;
  std::uint8_t type = 0;
  std::uint8_t pad[3] = {};
};
static_assert(sizeof(DirEnt) == 24 && offsetof(DirEnt, type) == 20);

struct Subscription {
  std::uint64_t userdata = 0;
  std::uint8_t type = 0;
  std::uint8_t pad0[7] = {};
  std::uint32_t id = 0;  // the clock, or the descriptor
  std::uint32_t pad1 = 0;
  std::uint64_t timeout_ns = 0;
  std::uint64_t precision_ns = 0;
  std::uint16_t flags = 0;
  std::uint8_t pad2[6] = {};
};
static_assert(sizeof(Subscription) == 48 && offsetof(Subscription, id) == 16 &&
              offsetof(Subscription, timeout_ns) == 24 && offsetof(Subscription, flags) == 40);

struct Event {
  std::uint64_t userdata = 0;
  std::uint16_t error = 0;
  std::uint8_t type = 0;
  std::uint8_t pad0[5] = {};
  std::uint64_t nbytes = 0;
  std::uint16_t flags = 0;
  std::uint8_t pad1[6] = {};
};
static_assert(sizeof(Event) == 32 && offsetof(Event, nbytes) == 16 && offsetof(Event, flags) == 24);

}  // namespace cloche::kernel::wasi
