// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/host_connection.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel {
namespace {

using lnx::Guest;
namespace nr = lnx::nr;

constexpr std::uint32_t nr_socket = 198, nr_bind = 200, nr_listen = 201, nr_accept = 202,
                        nr_getpeername = 205, nr_shutdown = 210;

struct In {
  std::uint16_t family = 2;
  std::uint16_t port = 0;         // in network order
  std::uint32_t ip = 0x0100007f;  // 127.0.0.1
  std::uint64_t zero = 0;
};
constexpr std::uint16_t port = 8080;

// A socket of the guest that listens on `port`.
std::int32_t listen(Guest& guest) {
  In address;
  address.port = static_cast<std::uint16_t>(port << 8 | port >> 8);
  const std::int32_t fd = guest.call(nr_socket, 2, 1, 0);
  EXPECT_EQ(guest.call(nr_bind, fd, guest.put(address), sizeof address), 0);
  EXPECT_EQ(guest.call(nr_listen, fd, 1), 0);
  return fd;
}

// The host's side of a connection, waiting for what the interface says without waiting.
class Client {
 public:
  explicit Client(Kernel& kernel) {
    auto made = HostConnection::connect(kernel, port, [this] {
      const std::lock_guard lock(mutex_);
      ++changes_;
      changed_.notify_all();
    });
    EXPECT_TRUE(made);
    if (made) connection = *std::move(made);
  }

  std::string read_all() {
    std::string all;
    for (;;) {
      const int seen = changes();
      std::array<std::byte, 1000> piece;
      const Result<std::size_t> got = connection->read(piece);
      if (got && *got == 0) return all;
      if (got) {
        all.append(reinterpret_cast<const char*>(piece.data()), *got);
      } else if (got.error() == Errno::again) {
        wait(seen);
      } else {
        return all + " and " + std::string(errno_info(got.error()).name);
      }
    }
  }

  void write_all(std::string_view text) {
    while (!text.empty()) {
      const int seen = changes();
      const Result<std::size_t> taken = connection->write(std::as_bytes(std::span(text)));
      if (taken) {
        text.remove_prefix(*taken);
      } else if (taken.error() == Errno::again) {
        wait(seen);
      } else {
        FAIL() << errno_info(taken.error()).name;
      }
    }
  }

  std::unique_ptr<HostConnection> connection;

 private:
  int changes() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  void wait(int seen) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return changes_ != seen; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int changes_ = 0;
};

TEST(HostConnectionTest, NobodyListens) {
  TestKernel machine;
  const auto made = HostConnection::connect(machine.kernel(), port, [] {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), Errno::connrefused);
}

TEST(HostConnectionTest, EachWayEndsByItself) {
  TestKernel machine;
  std::promise<void> listening;
  const ProcessPtr guest = lnx::start_guest(machine, [&](Guest& g) {
    const std::int32_t listener = listen(g);
    listening.set_value();
    const std::int32_t fd = g.call(nr_accept, listener, 0, 0);
    const std::uint32_t peer = g.put(In{});
    EXPECT_EQ(g.call(nr_getpeername, fd, peer, g.put(std::uint32_t{sizeof(In)})), 0);
    EXPECT_EQ(g.get<In>(peer).ip, In{}.ip);
    std::string all;
    constexpr std::uint32_t most = 8192;
    const std::uint32_t buffer = g.reserve(most);
    for (std::int32_t got; (got = g.call(nr::read, fd, buffer, most)) > 0;)
      all += g.text(buffer, static_cast<std::uint32_t>(got));
    EXPECT_EQ(all, std::string(500'000, 'u'));
    // The other way goes on after that.
    EXPECT_EQ(g.write(fd, "answer"), 6);
    EXPECT_EQ(g.call(nr_shutdown, fd, 1), 0);
  });
  listening.get_future().wait();
  Client client(machine.kernel());
  ASSERT_TRUE(client.connection);
  client.write_all(std::string(500'000, 'u'));
  client.connection->shut_down_write();
  EXPECT_EQ(client.read_all(), "answer");
  machine.wait(guest);
  EXPECT_EQ(client.connection->write({}).error(), Errno::pipe);
}

TEST(HostConnectionTest, AFullBacklogAndALeavingProgram) {
  TestKernel machine;
  std::promise<void> listening;
  std::promise<void> leave;
  std::future<void> may_leave = leave.get_future();
  const ProcessPtr guest = lnx::start_guest(machine, [&](Guest& g) {
    listen(g);
    listening.set_value();
    may_leave.wait();
  });
  listening.get_future().wait();
  // Its backlog is one.
  Client first(machine.kernel());
  Client second(machine.kernel());
  ASSERT_TRUE(first.connection && second.connection);
  first.write_all("unread");
  leave.set_value();
  EXPECT_EQ(second.read_all(), " and ECONNRESET");
  machine.wait(guest);
}

}  // namespace
}  // namespace cloche::kernel
