// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/socket_table.h"

#include <fmt/format.h>

#include <utility>

#include "kernel/kernel.h"
#include "kernel/process/process_files.h"
#include "kernel/process/task.h"
#include "kernel/sockets/datagram_socket.h"
#include "kernel/sockets/stream_socket.h"

namespace cloche::kernel {
namespace {

constexpr std::int32_t ipproto_tcp = 6, ipproto_udp = 17;

Result<SocketFamily> family_of(std::uint32_t family) {
  switch (family) {
    case 1: return SocketFamily::local;
    case 2: return SocketFamily::inet;
    case 10: return SocketFamily::inet6;
    default: return Errno::afnosupport;
  }
}

Result<SocketType> type_of(SocketFamily family, std::uint32_t type, std::int32_t protocol) {
  const bool local = family == SocketFamily::local;
  switch (static_cast<SocketType>(type)) {
    case SocketType::stream:
      if (protocol != 0 && (local ? protocol != 1 : protocol != ipproto_tcp))
        return Errno::protonosupport;
      return SocketType::stream;
    case SocketType::datagram:
      if (protocol != 0 && (local ? protocol != 1 : protocol != ipproto_udp))
        return Errno::protonosupport;
      return SocketType::datagram;
    case SocketType::seqpacket:
      if (!local) return Errno::socktnosupport;
      if (protocol != 0 && protocol != 1) return Errno::protonosupport;
      return SocketType::seqpacket;
  }
  constexpr std::uint32_t raw = 3;
  return type == raw && !local ? Errno::perm : Errno::socktnosupport;
}

}  // namespace

Result<void> SocketTable::check_room() const {
  if (sockets_ >= max_sockets) return Errno::nfile;
  return {};
}

Result<std::shared_ptr<Socket>> SocketTable::create(std::uint32_t family_number,
                                                    std::uint32_t type_number,
                                                    std::int32_t protocol,
                                                    std::uint32_t status_flags) {
  CLOCHE_ASSIGN(const SocketFamily family, family_of(family_number));
  CLOCHE_ASSIGN(const SocketType type, type_of(family, type_number, protocol));
  CLOCHE_TRY(check_room());
  if (type == SocketType::datagram) {
    return std::shared_ptr<Socket>(std::make_shared<DatagramSocket>(
        kernel_, family, family == SocketFamily::local ? 0 : ipproto_udp, status_flags));
  }
  return std::shared_ptr<Socket>(std::make_shared<StreamSocket>(
      kernel_, family, type, family == SocketFamily::local ? 0 : ipproto_tcp, status_flags));
}

Result<std::pair<FilePtr, FilePtr>> SocketTable::create_pair(Task& task,
                                                             std::uint32_t family_number,
                                                             std::uint32_t type_number,
                                                             std::int32_t protocol,
                                                             std::uint32_t status_flags) {
  CLOCHE_ASSIGN(const SocketFamily family, family_of(family_number));
  if (family != SocketFamily::local) return Errno::notsup;
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> first,
                create(family_number, type_number, protocol, status_flags));
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> second,
                create(family_number, type_number, protocol, status_flags));
  const PeerCredentials credentials = credentials_of(task);
  if (first->type() == SocketType::datagram) {
    DatagramSocket::pair(std::static_pointer_cast<DatagramSocket>(first),
                         std::static_pointer_cast<DatagramSocket>(second), credentials);
  } else {
    StreamSocket::pair(static_cast<StreamSocket&>(*first), static_cast<StreamSocket&>(*second),
                       credentials);
  }
  return std::pair<FilePtr, FilePtr>(first, second);
}

Result<LocalAddress> SocketTable::bind_local(Task& task, const std::shared_ptr<Socket>& socket,
                                             const SocketAddress& address, vfs::Node& node) {
  std::erase_if(abstract_, [](const auto& entry) { return entry.second.expired(); });
  std::erase_if(named_, [](const auto& entry) { return entry.second.expired(); });
  const auto* local = std::get_if<LocalAddress>(&address);
  if (local == nullptr) {
    if (!std::holds_alternative<std::monostate>(address)) return Errno::inval;
    std::string name;
    do {
      name = fmt::format("{:05x}", next_name_++ & 0xfffff);
    } while (abstract_.contains(name));
    abstract_[name] = socket;
    return LocalAddress{LocalAddress::Kind::abstract, name};
  }
  if (local->kind == LocalAddress::Kind::abstract) {
    if (abstract_.contains(local->name)) return Errno::addrinuse;
    abstract_[local->name] = socket;
    return *local;
  }
  Process& process = task.process();
  Result<vfs::Node> made = process_files::make_node(process, {process_files::at_fdcwd, local->name},
                                                    vfs::FileType::socket, 0777);
  if (!made) return made.error() == Errno::exist ? Errno::addrinuse : made.error();
  node = *std::move(made);
  named_[{&node.fs(), node.ino()}] = socket;
  return *local;
}

Result<std::shared_ptr<Socket>> SocketTable::find_local(Task& task, const SocketAddress& address,
                                                        SocketType type) {
  const auto* local = std::get_if<LocalAddress>(&address);
  if (local == nullptr) return Errno::inval;
  std::shared_ptr<Socket> socket;
  if (local->kind == LocalAddress::Kind::abstract) {
    const auto found = abstract_.find(local->name);
    if (found != abstract_.end()) socket = found->second.lock();
  } else {
    Process& process = task.process();
    CLOCHE_ASSIGN(
        const vfs::Node node,
        process_files::lookup(process, {process_files::at_fdcwd, local->name}, vfs::Follow::yes));
    CLOCHE_ASSIGN(const vfs::Stat stat, node.stat());
    CLOCHE_TRY(vfs::check_access(stat, process.credentials, vfs::Access::write));
    const auto found = named_.find({&node.fs(), node.ino()});
    if (found != named_.end()) socket = found->second.lock();
  }
  if (!socket) return Errno::connrefused;
  if (socket->type() != type) return Errno::prototype;
  return socket;
}

Result<FilesInFlight> SocketTable::put_in_flight(std::vector<FilePtr> files) {
  std::size_t count = files.size();
  std::erase_if(in_flight_, [&](const auto& weak) {
    const FilesInFlight flying = weak.lock();
    if (flying) count += flying->size();
    return flying == nullptr;
  });
  if (count > max_files_in_flight) return Errno::nobufs;
  auto flying = std::make_shared<std::vector<FilePtr>>(std::move(files));
  in_flight_.push_back(flying);
  return flying;
}

void SocketTable::drop_in_flight() {
  std::vector<FilePtr> gone;
  for (const auto& weak : in_flight_) {
    const FilesInFlight flying = weak.lock();
    if (!flying) continue;
    gone.insert(gone.end(), flying->begin(), flying->end());
    flying->clear();
  }
}

}  // namespace cloche::kernel
