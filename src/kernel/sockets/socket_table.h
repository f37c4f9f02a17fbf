// SPDX-License-Identifier: Apache-2.0
// SocketTable: the sockets of one kernel: how they are made and found. Kernel lock held.
//
// Local (unix) sockets are found by the inode of their name or by an abstract name. Internet
// addresses are those of the sandbox's own loopback; every other one is for Outbound.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernel/sockets/inet_ports.h"
#include "kernel/sockets/outbound.h"
#include "kernel/sockets/socket.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Kernel;
class Task;

class SocketTable {
 public:
  // Sockets, those that wait to be accepted included.
  static constexpr std::size_t max_sockets = 8192;
  static constexpr std::size_t max_files_in_flight = 1024;

  explicit SocketTable(Kernel& kernel) : kernel_(kernel) {}
  SocketTable(const SocketTable&) = delete;
  SocketTable& operator=(const SocketTable&) = delete;

  // socket(2) and socketpair(2). `type`: the kind without SOCK_NONBLOCK and SOCK_CLOEXEC.
  Result<std::shared_ptr<Socket>> create(std::uint32_t family, std::uint32_t type,
                                         std::int32_t protocol, std::uint32_t status_flags);
  Result<std::pair<FilePtr, FilePtr>> create_pair(Task& task, std::uint32_t family,
                                                  std::uint32_t type, std::int32_t protocol,
                                                  std::uint32_t status_flags) REQUIRES(kernel_lock);

  // Gives the socket its local name, making the inode of a path; for an unnamed address an abstract
  // name of the table's choice.
  Result<LocalAddress> bind_local(Task& task, const std::shared_ptr<Socket>& socket,
                                  const SocketAddress& address, vfs::Node& node)
      REQUIRES(kernel_lock);
  // ECONNREFUSED when nobody has it, EPROTOTYPE when it is of another type.
  Result<std::shared_ptr<Socket>> find_local(Task& task, const SocketAddress& address,
                                             SocketType type) REQUIRES(kernel_lock);

  InetPorts& ports(SocketType type) noexcept {
    return type == SocketType::datagram ? datagram_ports_ : stream_ports_;
  }

  // Files for SCM_RIGHTS; ENOBUFS when too many are on their way.
  Result<FilesInFlight> put_in_flight(std::vector<FilePtr> files);
  // Empties what is on its way: sockets that were sent through each other and closed would stay for
  // ever. For the kernel's end.
  void drop_in_flight();

  void set_outbound(std::shared_ptr<Outbound> outbound) { outbound_ = std::move(outbound); }
  Outbound* outbound() const noexcept { return outbound_.get(); }

  // For Socket.
  Result<void> check_room() const;
  void count_up() noexcept { ++sockets_; }
  void count_down() noexcept { --sockets_; }
  std::size_t size() const noexcept { return sockets_; }

 private:
  Kernel& kernel_;
  std::size_t sockets_ = 0;
  std::map<std::string, std::weak_ptr<Socket>> abstract_;
  std::map<std::pair<const vfs::FileSystem*, vfs::Ino>, std::weak_ptr<Socket>>
      named_;  // the socket holds the Node
  std::uint32_t next_name_ = 0;
  InetPorts stream_ports_;
  InetPorts datagram_ports_;
  std::vector<std::weak_ptr<std::vector<FilePtr>>> in_flight_;
  std::shared_ptr<Outbound> outbound_;
};

}  // namespace cloche::kernel
