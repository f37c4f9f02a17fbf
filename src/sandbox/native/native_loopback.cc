// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_loopback.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "native/host/box.h"
#include "sandbox/native/edge_watch.h"

namespace cloche::sandbox {
namespace {

class NativeLoopback final : public LoopbackStream {
 public:
  explicit NativeLoopback(UniqueFd socket) : socket_(std::move(socket)) {}

  Result<void> watch(EdgeWatch& all, std::function<void()> changed) {
    CLOCHE_ASSIGN(watched_, all.add(socket_.get(), std::move(changed)));
    return {};
  }

  Result<std::size_t> write(std::string_view bytes) override {
    if (bytes.empty()) {  // asks whether somebody reads
      pollfd waiting{socket_.get(), 0, 0};
      (void)::poll(&waiting, 1, 0);
      if ((waiting.revents & (POLLERR | POLLHUP)) != 0) return Errno::pipe;
      return 0;
    }
    const ssize_t done = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done >= 0) return static_cast<std::size_t>(done);
    return errno == ECONNRESET ? Errno::pipe : errno_from_host(errno);
  }

  Result<std::size_t> read(std::span<char> to) override {
    const ssize_t got = ::recv(socket_.get(), to.data(), to.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    return errno_from_host(errno);
  }

  void close_input() override { (void)::shutdown(socket_.get(), SHUT_WR); }

 private:
  UniqueFd socket_;
  std::unique_ptr<EdgeWatch::Watched> watched_;  // ends before the socket
};

// A listener whose line is full takes its time: then what is written waits, too.
Result<void> wait_until_connected(int socket) {
  constexpr int patience_ms = 200;
  pollfd waiting{socket, POLLOUT, 0};
  if (::poll(&waiting, 1, patience_ms) <= 0) return {};
  int error = 0;
  socklen_t size = sizeof error;
  (void)::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return errno_from_host(error);
  return {};
}

}  // namespace

Result<std::unique_ptr<LoopbackStream>> connect_loopback(native::Box& box, EdgeWatch& watch,
                                                         std::uint16_t port,
                                                         std::function<void()> changed) {
  if (port == 0) return Errno::connrefused;
  Errno problem = Errno::connrefused;
  for (const native::Box::Loopback family :
       {native::Box::Loopback::v4, native::Box::Loopback::v6}) {
    Result<UniqueFd> socket = box.connect(port, family);
    if (socket) {
      if (const Result<void> connected = wait_until_connected(socket->get()); !connected)
        socket = connected.error();
    }
    if (socket) {
      auto stream = std::make_unique<NativeLoopback>(*std::move(socket));
      CLOCHE_TRY(stream->watch(watch, std::move(changed)));
      return std::unique_ptr<LoopbackStream>(std::move(stream));
    }
    // What there is no family for, nobody listens on.
    if (family == native::Box::Loopback::v4) problem = socket.error();
  }
  return problem;
}

}  // namespace cloche::sandbox
