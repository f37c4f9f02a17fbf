// SPDX-License-Identifier: Apache-2.0
#include "base/errno.h"

#include <algorithm>
#include <array>

namespace cloche {
namespace {

using enum Errno;

// Sorted by code. SFTP: 2 NO_SUCH_FILE, 3 PERMISSION_DENIED, 4 FAILURE, 8 OP_UNSUPPORTED.
constexpr auto table = std::to_array<ErrnoInfo>({
    {perm, "EPERM", "Operation not permitted", 63, 403, 3},
    {noent, "ENOENT", "No such file or directory", 44, 404, 2},
    {srch, "ESRCH", "No such process", 71, 404, 4},
    {intr, "EINTR", "Interrupted system call", 27, 500, 4},
    {io, "EIO", "Input/output error", 29, 500, 4},
    {nxio, "ENXIO", "No such device or address", 60, 400, 4},
    {toobig, "E2BIG", "Argument list too long", 1, 400, 4},
    {noexec, "ENOEXEC", "Exec format error", 45, 400, 4},
    {badf, "EBADF", "Bad file descriptor", 8, 400, 4},
    {child, "ECHILD", "No child processes", 12, 400, 4},
    {again, "EAGAIN", "Resource temporarily unavailable", 6, 503, 4},
    {nomem, "ENOMEM", "Cannot allocate memory", 48, 507, 4},
    {acces, "EACCES", "Permission denied", 2, 403, 3},
    {fault, "EFAULT", "Bad address", 21, 400, 4},
    {notblk, "ENOTBLK", "Block device required", 28, 400, 4},
    {busy, "EBUSY", "Device or resource busy", 10, 409, 4},
    {exist, "EEXIST", "File exists", 20, 409, 4},
    {xdev, "EXDEV", "Invalid cross-device link", 75, 400, 4},
    {nodev, "ENODEV", "No such device", 43, 400, 4},
    {notdir, "ENOTDIR", "Not a directory", 54, 400, 2},
    {isdir, "EISDIR", "Is a directory", 31, 400, 4},
    {inval, "EINVAL", "Invalid argument", 28, 400, 4},
    {nfile, "ENFILE", "Too many open files in system", 41, 503, 4},
    {mfile, "EMFILE", "Too many open files", 33, 503, 4},
    {notty, "ENOTTY", "Inappropriate ioctl for device", 59, 400, 4},
    {txtbsy, "ETXTBSY", "Text file busy", 74, 409, 4},
    {fbig, "EFBIG", "File too large", 22, 413, 4},
    {nospc, "ENOSPC", "No space left on device", 51, 507, 4},
    {spipe, "ESPIPE", "Illegal seek", 70, 400, 4},
    {rofs, "EROFS", "Read-only file system", 69, 403, 3},
    {mlink, "EMLINK", "Too many links", 34, 400, 4},
    {pipe, "EPIPE", "Broken pipe", 64, 400, 4},
    {dom, "EDOM", "Numerical argument out of domain", 18, 400, 4},
    {range, "ERANGE", "Numerical result out of range", 68, 400, 4},
    {deadlk, "EDEADLK", "Resource deadlock avoided", 16, 409, 4},
    {nametoolong, "ENAMETOOLONG", "File name too long", 37, 400, 4},
    {nolck, "ENOLCK", "No locks available", 46, 503, 4},
    {nosys, "ENOSYS", "Function not implemented", 52, 501, 8},
    {notempty, "ENOTEMPTY", "Directory not empty", 55, 409, 4},
    {loop, "ELOOP", "Too many levels of symbolic links", 32, 400, 2},
    {idrm, "EIDRM", "Identifier removed", 24, 400, 4},
    {nodata, "ENODATA", "No data available", 28, 404, 4},
    {proto, "EPROTO", "Protocol error", 65, 400, 4},
    {overflow, "EOVERFLOW", "Value too large for defined data type", 61, 400, 4},
    {ilseq, "EILSEQ", "Invalid or incomplete multibyte or wide character", 25, 400, 4},
    {notsock, "ENOTSOCK", "Socket operation on non-socket", 57, 400, 4},
    {destaddrreq, "EDESTADDRREQ", "Destination address required", 17, 400, 4},
    {msgsize, "EMSGSIZE", "Message too long", 35, 413, 4},
    {prototype, "EPROTOTYPE", "Protocol wrong type for socket", 67, 400, 4},
    {noprotoopt, "ENOPROTOOPT", "Protocol not available", 50, 400, 4},
    {protonosupport, "EPROTONOSUPPORT", "Protocol not supported", 66, 400, 8},
    {socktnosupport, "ESOCKTNOSUPPORT", "Socket type not supported", 58, 400, 8},
    {notsup, "EOPNOTSUPP", "Operation not supported", 58, 400, 8},
    {pfnosupport, "EPFNOSUPPORT", "Protocol family not supported", 5, 400, 8},
    {afnosupport, "EAFNOSUPPORT", "Address family not supported by protocol", 5, 400, 8},
    {addrinuse, "EADDRINUSE", "Address already in use", 3, 409, 4},
    {addrnotavail, "EADDRNOTAVAIL", "Cannot assign requested address", 4, 400, 4},
    {netdown, "ENETDOWN", "Network is down", 38, 503, 4},
    {netunreach, "ENETUNREACH", "Network is unreachable", 40, 503, 4},
    {connaborted, "ECONNABORTED", "Software caused connection abort", 13, 503, 4},
    {connreset, "ECONNRESET", "Connection reset by peer", 15, 503, 4},
    {nobufs, "ENOBUFS", "No buffer space available", 42, 503, 4},
    {isconn, "EISCONN", "Transport endpoint is already connected", 30, 400, 4},
    {notconn, "ENOTCONN", "Transport endpoint is not connected", 53, 400, 4},
    {timedout, "ETIMEDOUT", "Connection timed out", 73, 504, 4},
    {connrefused, "ECONNREFUSED", "Connection refused", 14, 503, 4},
    {hostunreach, "EHOSTUNREACH", "No route to host", 23, 503, 4},
    {already, "EALREADY", "Operation already in progress", 7, 409, 4},
    {inprogress, "EINPROGRESS", "Operation now in progress", 26, 409, 4},
    {stale, "ESTALE", "Stale file handle", 72, 410, 4},
    {dquot, "EDQUOT", "Disk quota exceeded", 19, 507, 4},
    {canceled, "ECANCELED", "Operation canceled", 11, 499, 4},
    {restart, "ERESTART", "Interrupted system call should be restarted", 27, 500, 4},
});

constexpr const ErrnoInfo& fallback = table[4];
static_assert(fallback.code == io);
static_assert(std::ranges::is_sorted(table, {}, &ErrnoInfo::code));

}  // namespace

std::span<const ErrnoInfo> errno_table() noexcept { return table; }

const ErrnoInfo& errno_info(Errno code) noexcept {
  const auto it = std::ranges::lower_bound(table, code, {}, &ErrnoInfo::code);
  return it != table.end() && it->code == code ? *it : fallback;
}

Errno errno_from_host(int host_errno) noexcept {
  const auto code = static_cast<Errno>(host_errno);
  return host_errno > 0 && host_errno < 512 ? errno_info(code).code : io;
}

}  // namespace cloche
