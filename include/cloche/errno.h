// SPDX-License-Identifier: Apache-2.0
// The errors that a guest sees, and the one table that says what each is called at every door.
//
// Values are Linux's (asm-generic), so that the Linux system calls return them as they are; `wasi`
// is the WASI preview1 number (wasi_snapshot_preview1, `errno`). JSON-RPC, HTTP and SFTP columns
// are what the doors answer when an operation on a sandbox fails with that error.
#pragma once

#include <cstdint>
#include <string_view>

namespace cloche {

enum class Errno : std::uint16_t {
  perm = 1,
  noent = 2,
  srch = 3,
  intr = 4,
  io = 5,
  nxio = 6,
  toobig = 7,
  noexec = 8,
  badf = 9,
  child = 10,
  again = 11,
  nomem = 12,
  acces = 13,
  fault = 14,
  notblk = 15,
  busy = 16,
  exist = 17,
  xdev = 18,
  nodev = 19,
  notdir = 20,
  isdir = 21,
  inval = 22,
  nfile = 23,
  mfile = 24,
  notty = 25,
  txtbsy = 26,
  fbig = 27,
  nospc = 28,
  spipe = 29,
  rofs = 30,
  mlink = 31,
  pipe = 32,
  dom = 33,
  range = 34,
  deadlk = 35,
  nametoolong = 36,
  nolck = 37,
  nosys = 38,
  notempty = 39,
  loop = 40,
  idrm = 43,
  nodata = 61,
  proto = 71,
  overflow = 75,
  ilseq = 84,
  notsock = 88,
  destaddrreq = 89,
  msgsize = 90,
  prototype = 91,
  noprotoopt = 92,
  protonosupport = 93,
  socktnosupport = 94,
  notsup = 95,
  pfnosupport = 96,
  afnosupport = 97,
  addrinuse = 98,
  addrnotavail = 99,
  netdown = 100,
  netunreach = 101,
  connaborted = 103,
  connreset = 104,
  nobufs = 105,
  isconn = 106,
  notconn = 107,
  timedout = 110,
  connrefused = 111,
  hostunreach = 113,
  already = 114,
  inprogress = 115,
  stale = 116,
  dquot = 122,
  canceled = 125,
  // Never reaches a guest's errno: the libc stub runs the pending handlers and issues the call
  // again.
  restart = 512,
};

struct ErrnoInfo {
  Errno code;
  std::string_view name;     // "ENOENT"
  std::string_view message;  // "No such file or directory", as strerror says it
  std::uint16_t wasi;        // preview1 errno
  std::uint16_t http;        // status of the REST doors
  std::uint16_t sftp;        // SSH_FX_* of SFTP v3
};

// Information on `code`; for a value outside of the table the entry of EIO.
const ErrnoInfo& errno_info(Errno code) noexcept;

// The Errno for a host errno (the numbers are the same on Linux); EIO for one that is not in the
// table.
Errno errno_from_host(int host_errno) noexcept;

}  // namespace cloche
