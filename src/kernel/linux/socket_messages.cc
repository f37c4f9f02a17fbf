// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/socket_messages.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernel/kernel.h"
#include "kernel/process/vectored_io.h"
#include "kernel/sockets/socket_table.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t control_max_bytes = 20480;
constexpr std::size_t rights_max = 253;  // descriptors in one message
constexpr std::int32_t level_socket = 1, scm_rights = 1, scm_credentials = 2;

// struct cmsghdr; what follows is aligned to 4 bytes.
struct GuestCmsghdr {
  std::uint32_t length;
  std::int32_t level, type;
};
static_assert(sizeof(GuestCmsghdr) == 12);

constexpr std::size_t cmsg_aligned(std::size_t length) { return (length + 3) & ~std::size_t{3}; }

Result<std::vector<GuestBuffer>> buffers_of(const Call& call, const GuestMsghdr& header) {
  if (header.iov_count > iov_max) return Errno::msgsize;
  return read_iovecs(call.memory, header.iov, header.iov_count);
}

// --- Control data to send ---

Result<void> take_rights(Call& call, std::span<const std::byte> data, std::vector<FilePtr>& files)
    REQUIRES(kernel_lock) {
  const std::size_t count = data.size() / sizeof(std::int32_t);
  if (count + files.size() > rights_max) return Errno::inval;
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t fd = 0;
    std::memcpy(&fd, data.data() + i * sizeof(fd), sizeof(fd));
    CLOCHE_ASSIGN(FilePtr file, call.process.fds.get(fd));
    files.push_back(std::move(file));
  }
  return {};
}

// A process can only tell the truth about itself.
Result<PeerCredentials> take_credentials(const Call& call, std::span<const std::byte> data)
    REQUIRES(kernel_lock) {
  PeerCredentials claimed;
  if (data.size() != sizeof(claimed)) return Errno::inval;
  std::memcpy(&claimed, data.data(), sizeof(claimed));
  const PeerCredentials real = credentials_of(call.task);
  if (claimed.pid != real.pid || claimed.uid != real.uid || claimed.gid != real.gid)
    return Errno::perm;
  return claimed;
}

Result<Ancillary> read_control(Call& call, const Socket& socket, std::uint32_t address,
                               std::uint32_t length) REQUIRES(kernel_lock) {
  Ancillary ancillary;
  if (address == 0 || length == 0) return ancillary;
  if (length > control_max_bytes) return Errno::nobufs;
  CLOCHE_ASSIGN(const std::vector<std::byte> control,
                call.memory.read_array<std::byte>(address, length, control_max_bytes));
  std::vector<FilePtr> files;
  for (std::size_t at = 0; at + sizeof(GuestCmsghdr) <= control.size();) {
    GuestCmsghdr header{};
    std::memcpy(&header, control.data() + at, sizeof(header));
    if (header.length < sizeof(header) || header.length > control.size() - at) return Errno::inval;
    const auto data =
        std::span(control).subspan(at + sizeof(header), header.length - sizeof(header));
    at += cmsg_aligned(header.length);
    if (header.level != level_socket || socket.family() != SocketFamily::local) continue;
    if (header.type == scm_rights) {
      CLOCHE_TRY(take_rights(call, data, files));
    } else if (header.type == scm_credentials) {
      CLOCHE_ASSIGN(ancillary.credentials, take_credentials(call, data));
    } else {
      return Errno::inval;
    }
  }
  if (!files.empty()) {
    CLOCHE_ASSIGN(ancillary.files, call.kernel.sockets().put_in_flight(std::move(files)));
  }
  return ancillary;
}

// --- Control data received ---

class ControlWriter {
 public:
  explicit ControlWriter(std::size_t room) : room_(room) {}

  // How many bytes of data one more block can hold.
  std::size_t left() const {
    const std::size_t used = bytes_.size() + sizeof(GuestCmsghdr);
    return room_ > used ? room_ - used : 0;
  }
  void add(std::int32_t type, std::span<const std::byte> data) {
    const GuestCmsghdr header{static_cast<std::uint32_t>(sizeof(header) + data.size()),
                              level_socket, type};
    const auto head = std::as_bytes(std::span(&header, 1));
    bytes_.insert(bytes_.end(), head.begin(), head.end());
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    bytes_.resize(std::min(cmsg_aligned(bytes_.size()), room_));
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::size_t room_;
  std::vector<std::byte> bytes_;
};

// Gives the receiver the files, as many as it has room and descriptors for. True when some were
// lost.
bool receive_files(Call& call, const std::vector<FilePtr>& files, std::uint32_t flags,
                   ControlWriter& control) REQUIRES(kernel_lock) {
  const std::size_t most = std::min(files.size(), control.left() / sizeof(std::int32_t));
  std::vector<std::int32_t> fds;
  for (std::size_t i = 0; i < most; ++i) {
    const Result<std::int32_t> fd =
        call.process.fds.install(files[i], (flags & msg_cmsg_cloexec) != 0 ? o_cloexec : 0);
    if (!fd) break;
    fds.push_back(*fd);
  }
  if (!fds.empty()) control.add(scm_rights, std::as_bytes(std::span(fds)));
  return fds.size() < files.size();
}

std::uint32_t write_ancillary(Call& call, const Ancillary& ancillary, std::uint32_t flags,
                              ControlWriter& control) REQUIRES(kernel_lock) {
  std::uint32_t out_flags = 0;
  if (ancillary.credentials) {
    if (control.left() >= sizeof(PeerCredentials)) {
      control.add(scm_credentials, std::as_bytes(std::span(&*ancillary.credentials, 1)));
    } else {
      out_flags |= msg_ctrunc;
    }
  }
  if (ancillary.files && receive_files(call, *ancillary.files, flags, control))
    out_flags |= msg_ctrunc;
  return out_flags;
}

}  // namespace

Result<SocketAddress> read_address(const Call& call, std::uint32_t address, std::uint32_t length) {
  if (length > max_address_bytes) return Errno::inval;
  CLOCHE_ASSIGN(const auto bytes,
                call.memory.read_array<std::byte>(address, length, max_address_bytes));
  return parse_address(bytes);
}

Result<void> write_address(const Call& call, const SocketAddress& value, SocketFamily family,
                           std::uint32_t address, std::uint32_t length_address) {
  if (address == 0) return {};
  CLOCHE_ASSIGN(const std::int32_t room, call.memory.read<std::int32_t>(length_address));
  if (room < 0) return Errno::inval;
  const std::vector<std::byte> bytes = encode_address(value, family);
  const std::size_t count = std::min(bytes.size(), static_cast<std::size_t>(room));
  CLOCHE_TRY(call.memory.copy_out(address, std::span(bytes).first(count)));
  return call.memory.write(length_address, static_cast<std::uint32_t>(bytes.size()));
}

Result<std::size_t> send_message(Call& call, Socket& socket, const GuestMsghdr& header,
                                 std::uint32_t flags) {
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call, header));
  SendRequest request;
  const std::vector<std::span<const std::byte>> pieces(buffers.begin(), buffers.end());
  request.bytes = pieces;
  request.flags = flags;
  if (header.name != 0 && header.name_length != 0) {
    CLOCHE_ASSIGN(request.to, read_address(call, header.name, header.name_length));
  }
  CLOCHE_ASSIGN(request.ancillary,
                read_control(call, socket, header.control, header.control_length));
  return socket.send(call.task, std::move(request));
}

Result<std::size_t> receive_message(Call& call, Socket& socket, std::uint32_t header_address,
                                    std::uint32_t flags) {
  CLOCHE_ASSIGN(GuestMsghdr header, call.memory.read<GuestMsghdr>(header_address));
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call, header));
  if (!call.memory.holds(header_address, sizeof(header))) return Errno::fault;
  if (header.control != 0 && header.control_length != 0 &&
      !call.memory.holds(header.control, header.control_length)) {
    return Errno::fault;
  }
  CLOCHE_ASSIGN(const Received received, socket.receive(call.task, buffers, flags));

  ControlWriter control(header.control == 0 ? 0 : header.control_length);
  header.flags = received.flags | write_ancillary(call, received.ancillary, flags, control);
  if ((flags & msg_cmsg_cloexec) != 0) header.flags |= msg_cmsg_cloexec;
  CLOCHE_TRY(call.memory.copy_out(header.control, control.bytes()));
  header.control_length = static_cast<std::uint32_t>(control.bytes().size());
  const bool named = !std::holds_alternative<std::monostate>(received.from);
  if (header.name != 0 && named) {
    const std::vector<std::byte> from = encode_address(received.from, socket.family());
    const std::size_t count = std::min<std::size_t>(from.size(), header.name_length);
    CLOCHE_TRY(call.memory.copy_out(header.name, std::span(from).first(count)));
    header.name_length = static_cast<std::uint32_t>(from.size());
  } else {
    header.name_length = 0;
  }
  CLOCHE_TRY(call.memory.write(header_address, header));
  return (flags & msg_trunc) != 0 ? received.full_count : received.count;
}

}  // namespace cloche::kernel::lnx
