// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <mutex>

#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"
#include "kernel/sockets/socket_table.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t nr_socket = 198, nr_socketpair = 199, nr_bind = 200, nr_listen = 201,
                        nr_accept = 202, nr_connect = 203, nr_getsockname = 204,
                        nr_getpeername = 205, nr_sendto = 206, nr_recvfrom = 207,
                        nr_setsockopt = 208, nr_getsockopt = 209, nr_shutdown = 210,
                        nr_sendmsg = 211, nr_recvmsg = 212, nr_rt_sigprocmask = 135;
constexpr std::uint32_t af_unix = 1, af_inet = 2, af_inet6 = 10, stream = 1, dgram = 2,
                        seqpacket = 5;

struct Pair {
  std::int32_t first, second;
};
struct In {
  std::uint16_t family, port;
  std::uint32_t ip;
  std::uint64_t zero = 0;
};
struct Un {
  std::uint16_t family = af_unix;
  std::array<char, 108> path{};
};
struct Iovec {
  std::uint32_t base, length;
};
struct Msghdr {
  std::uint32_t name, name_length, iov, iov_count, control, control_length, flags;
};

struct Control {
  std::uint32_t length = 16;
  std::int32_t level = 1, type = 1, fd;
};

constexpr std::uint32_t loopback = 0x0100007f;  // 127.0.0.1 in network order

Pair make_pair(Guest& guest, std::uint32_t type) {
  const std::uint32_t address = guest.reserve(8);
  EXPECT_EQ(guest.call(nr_socketpair, af_unix, type, 0, address), 0);
  return guest.get<Pair>(address);
}

std::int32_t send(Guest& guest, std::int32_t fd, std::string_view text, std::uint32_t flags = 0) {
  return guest.call(nr_sendto, fd, guest.put(text), text.size(), flags, 0, 0);
}

std::string receive(Guest& guest, std::int32_t fd, std::uint32_t most = 100,
                    std::uint32_t flags = 0) {
  const std::uint32_t buffer = guest.reserve(most);
  const std::int32_t count = guest.call(nr_recvfrom, fd, buffer, most, flags, 0, 0);
  if (count < 0) return "errno " + std::to_string(-count);
  return guest.text(buffer, std::min(static_cast<std::uint32_t>(count), most));
}

// With a byte.
std::int32_t send_descriptor(Guest& guest, std::int32_t socket, std::int32_t fd) {
  const std::uint32_t iov = guest.put(Iovec{guest.put("x"), 1});
  const std::uint32_t control = guest.put(Control{.fd = fd});
  return guest.call(nr_sendmsg, socket, guest.put(Msghdr{0, 0, iov, 1, control, 16, 0}), 0);
}

std::uint32_t put_path(Guest& guest, std::string_view path) {
  Un un;
  std::copy(path.begin(), path.end(), un.path.begin());
  return guest.put(un);
}
std::uint32_t path_length(std::string_view path) {
  return static_cast<std::uint32_t>(2 + path.size() + 1);
}

TEST(linux_socket, a_stream_pair) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Pair pair = make_pair(guest, stream | o_nonblock);
    EXPECT_EQ(receive(guest, pair.first), "errno 11");
    EXPECT_EQ(guest.write(pair.first, "hello "), 6);
    EXPECT_EQ(send(guest, pair.first, "world"), 5);
    EXPECT_EQ(receive(guest, pair.second, 8, msg_peek), "hello wo");
    EXPECT_EQ(receive(guest, pair.second, 8), "hello wo");
    EXPECT_EQ(guest.read(pair.second), "rld");
    EXPECT_EQ(guest.call(nr_shutdown, pair.first, 1), 0);
    EXPECT_EQ(receive(guest, pair.second), "");
    EXPECT_EQ(send(guest, pair.first, "x", msg_nosignal), -EPIPE);
    EXPECT_EQ(send(guest, pair.second, "back"), 4);
    EXPECT_EQ(receive(guest, pair.first), "back");
    guest.call(nr::close, pair.second);
    EXPECT_EQ(receive(guest, pair.first), "");
  });
}

TEST(linux_socket, a_stream_has_back_pressure_and_keeps_all_bytes) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Pair pair = make_pair(guest, stream | o_nonblock);
    const std::uint32_t chunk = 10'000;
    const std::uint32_t buffer = guest.reserve(chunk);
    std::int64_t sent = 0;
    std::int32_t count = 0;
    while ((count = guest.call(nr_sendto, pair.first, buffer, chunk, 0, 0, 0)) > 0) sent += count;
    EXPECT_EQ(count, -EAGAIN);
    EXPECT_GT(sent, 100'000);
    EXPECT_LT(sent, 300'000);
    std::int64_t received = 0;
    while ((count = guest.call(nr_recvfrom, pair.second, buffer, chunk, 0, 0, 0)) > 0)
      received += count;
    EXPECT_EQ(received, sent);
  });
}

TEST(linux_socket, packets_keep_their_limits) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    for (const std::uint32_t type : {seqpacket, dgram}) {
      const Pair pair = make_pair(guest, type | o_nonblock);
      EXPECT_EQ(send(guest, pair.first, "first"), 5);
      EXPECT_EQ(send(guest, pair.first, ""), 0);
      EXPECT_EQ(send(guest, pair.first, "third"), 5);
      EXPECT_EQ(receive(guest, pair.second, 2), "fi");
      EXPECT_EQ(receive(guest, pair.second), "");
      const std::uint32_t buffer = guest.reserve(2);
      EXPECT_EQ(guest.call(nr_recvfrom, pair.second, buffer, 2, msg_trunc, 0, 0), 5);
      EXPECT_EQ(receive(guest, pair.second), "errno 11");
    }
  });
}

TEST(linux_socket, a_unix_server) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::uint32_t name = put_path(guest, "/tmp/socket");
    const std::int32_t client = guest.call(nr_socket, af_unix, stream, 0);
    EXPECT_EQ(guest.call(nr_connect, client, name, path_length("/tmp/socket")), -ENOENT);
    const std::int32_t server = guest.call(nr_socket, af_unix, stream, 0);
    EXPECT_EQ(guest.call(nr_listen, server, 1), -EINVAL);
    EXPECT_EQ(guest.call(nr_bind, server, name, path_length("/tmp/socket")), 0);
    EXPECT_EQ(guest.call(nr_bind, guest.call(nr_socket, af_unix, stream, 0), name,
                         path_length("/tmp/socket")),
              -EADDRINUSE);
    EXPECT_EQ(guest.call(nr_connect, client, name, path_length("/tmp/socket")), -ECONNREFUSED);
    EXPECT_EQ(guest.call(nr_listen, server, 1), 0);
    EXPECT_EQ(guest.call(nr_connect, client, name, path_length("/tmp/socket")), 0);
    EXPECT_EQ(guest.call(nr_connect, client, name, path_length("/tmp/socket")), -EISCONN);
    EXPECT_EQ(guest.write(client, "before accept"), 13);
    const std::int32_t waiting = guest.call(nr_socket, af_unix, stream | o_nonblock, 0);
    EXPECT_EQ(guest.call(nr_connect, waiting, name, path_length("/tmp/socket")), -EAGAIN);
    const std::int32_t accepted = guest.call(nr_accept, server, 0, 0);
    ASSERT_GE(accepted, 0);
    EXPECT_EQ(guest.read(accepted), "before accept");
    const std::uint32_t credentials = guest.reserve(12);
    EXPECT_EQ(guest.call(nr_getsockopt, client, 1, 17, credentials, guest.put(12)), 0);
    EXPECT_EQ(guest.get<std::int32_t>(credentials), guest.call(nr::getpid));
    const std::uint32_t peer = guest.reserve(112);
    const std::uint32_t length = guest.put(112);
    EXPECT_EQ(guest.call(nr_getpeername, client, peer, length), 0);
    EXPECT_EQ(guest.get<std::uint32_t>(length), path_length("/tmp/socket"));
    EXPECT_EQ(guest.text(peer + 2, 11), "/tmp/socket");
    EXPECT_EQ(guest.call(nr_connect, waiting, name, path_length("/tmp/socket")), 0);
    guest.call(nr::close, server);
    EXPECT_EQ(receive(guest, waiting), "errno 104");
    const std::int32_t wrong = guest.call(nr_socket, af_unix, dgram, 0);
    EXPECT_EQ(guest.call(nr_connect, wrong, name, path_length("/tmp/socket")), -ECONNREFUSED);
  });
}

TEST(linux_socket, abstract_names_and_datagrams_between_guests) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::string_view name("\0service", 8);
    Un un;
    std::copy(name.begin(), name.end(), un.path.begin());
    const std::uint32_t address = guest.put(un);
    const std::int32_t server = guest.call(nr_socket, af_unix, dgram | o_nonblock, 0);
    EXPECT_EQ(guest.call(nr_bind, server, address, 2 + name.size()), 0);
    const std::int32_t client = guest.call(nr_socket, af_unix, dgram, 0);
    EXPECT_EQ(send(guest, client, "x"), -ENOTCONN);
    EXPECT_EQ(guest.call(nr_sendto, client, guest.put("direct"), 6, 0, address, 2 + name.size()),
              6);
    EXPECT_EQ(receive(guest, server), "direct");
    EXPECT_EQ(guest.call(nr_bind, client, guest.put(std::uint16_t{af_unix}), 2), 0)
        << "a name of its own";
    EXPECT_EQ(guest.call(nr_connect, client, address, 2 + name.size()), 0);
    EXPECT_EQ(send(guest, client, "connected"), 9);
    const std::uint32_t from = guest.reserve(112);
    const std::uint32_t length = guest.put(112);
    EXPECT_EQ(guest.call(nr_recvfrom, server, guest.reserve(100), 100, 0, from, length), 9);
    EXPECT_EQ(guest.get<std::uint32_t>(length), 8U);
    guest.call(nr::close, server);
    EXPECT_EQ(send(guest, client, "x"), -ECONNREFUSED);
  });
}

TEST(linux_socket, descriptors_travel) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Pair pair = make_pair(guest, stream);
    const std::int32_t file = guest.open("passed", o_creat | o_rdwr);
    const std::uint32_t data = guest.put("x");
    const std::uint32_t iov = guest.put(Iovec{data, 1});
    const std::uint32_t control = guest.put(Control{.fd = file});
    EXPECT_EQ(
        guest.call(nr_sendmsg, pair.first, guest.put(Msghdr{0, 0, iov, 1, control, 16, 0}), 0), 1);
    guest.call(nr::close, file);
    const std::uint32_t header =
        guest.put(Msghdr{0, 0, guest.put(Iovec{guest.reserve(8), 8}), 1, control, 16, 0});
    EXPECT_EQ(guest.call(nr_recvmsg, pair.second, header, 0), 1);
    EXPECT_EQ(guest.get<Msghdr>(header).control_length, 16U);
    EXPECT_EQ(guest.get<Msghdr>(header).flags, 0U);
    const std::int32_t received = guest.get<Control>(control).fd;
    EXPECT_EQ(guest.write(received, "through"), 7);
    EXPECT_EQ(guest.content("passed"), "through");
    // Without room for it, it is lost, and that is told.
    EXPECT_EQ(
        guest.call(nr_sendmsg, pair.first,
                   guest.put(Msghdr{0, 0, iov, 1, guest.put(Control{.fd = received}), 16, 0}), 0),
        1);
    const std::uint32_t bare =
        guest.put(Msghdr{0, 0, guest.put(Iovec{guest.reserve(8), 8}), 1, 0, 0, 0});
    EXPECT_EQ(guest.call(nr_recvmsg, pair.second, bare, 0), 1);
    EXPECT_EQ(guest.get<Msghdr>(bare).flags, msg_ctrunc);
    EXPECT_EQ(guest.call(nr_sendmsg, pair.first,
                         guest.put(Msghdr{0, 0, iov, 1, guest.put(Control{.fd = 99}), 16, 0}), 0),
              -EBADF);
    EXPECT_EQ(
        guest.call(
            nr_sendmsg, pair.first,
            guest.put(Msghdr{0, 0, iov, 1, guest.put(Control{.length = 99, .fd = 0}), 16, 0}), 0),
        -EINVAL);
    EXPECT_EQ(guest.call(nr_sendmsg, pair.first, guest.put(Msghdr{0, 0, iov, 2000, 0, 0, 0}), 0),
              -EMSGSIZE);
    EXPECT_EQ(guest.call(nr_sendmsg, pair.first, Guest::memory_bytes - 8, 0), -EFAULT);
  });
}

TEST(linux_socket, sockets_sent_through_themselves_end_with_the_kernel) {
  // LeakSanitizer says whether they do.
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Pair pair = make_pair(guest, stream);
    for (const std::int32_t fd : {pair.first, pair.second}) {
      EXPECT_EQ(send_descriptor(guest, pair.first, fd), 1);
      EXPECT_EQ(send_descriptor(guest, pair.second, fd), 1);
    }
  });
  const KernelLock lock(machine.kernel().mutex());
  EXPECT_EQ(machine.kernel().sockets().size(), 2U);
}

// On a thread that has no room for as many calls in each other.
TEST(linux_socket, sockets_that_carry_sockets_end_one_after_the_other) {
  constexpr int depth = 1000;
  constexpr std::size_t stack_bytes = 64 << 10;
  TestKernel machine;
  FilePtr outermost;
  run_guest(machine, [&](Guest& guest) {
    Pair pair = make_pair(guest, stream);
    for (int hop = 0; hop < depth; ++hop) {
      guest.call(nr::close, pair.second);
      const Pair next = make_pair(guest, stream);
      ASSERT_EQ(send_descriptor(guest, next.second, pair.first), 1);
      guest.call(nr::close, pair.first);
      pair = next;
    }
    const KernelLock lock(machine.kernel().mutex());
    outermost = *guest.process().fds.get(pair.first);
  });
  const auto let_go = [&] {
    const KernelLock lock(machine.kernel().mutex());
    outermost.reset();
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(
                &thread, &attributes,
                [](void* body) -> void* {
                  (*static_cast<decltype(let_go)*>(body))();
                  return nullptr;
                },
                const_cast<void*>(static_cast<const void*>(&let_go))),
            0);
  ::pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  const KernelLock lock(machine.kernel().mutex());
  EXPECT_EQ(machine.kernel().sockets().size(), 0U);
}

TEST(linux_socket, tcp_on_the_loopback) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t server = guest.call(nr_socket, af_inet, stream, 0);
    EXPECT_EQ(guest.call(nr_bind, server, guest.put(In{af_inet, htons(80), loopback}), 16),
              -EACCES);
    EXPECT_EQ(guest.call(nr_bind, server, guest.put(In{af_inet, 0, 0x08080808}), 16),
              -EADDRNOTAVAIL);
    EXPECT_EQ(guest.call(nr_bind, server, guest.put(In{af_inet, htons(8080), 0}), 16), 0);
    EXPECT_EQ(guest.call(nr_listen, server, 5), 0);
    const std::int32_t again = guest.call(nr_socket, af_inet, stream, 0);
    EXPECT_EQ(guest.call(nr_bind, again, guest.put(In{af_inet, htons(8080), loopback}), 16),
              -EADDRINUSE);

    const std::int32_t client = guest.call(nr_socket, af_inet, stream, 6);
    EXPECT_EQ(guest.call(nr_connect, client, guest.put(In{af_inet, htons(8081), loopback}), 16),
              -ECONNREFUSED);
    EXPECT_EQ(guest.call(nr_connect, client, guest.put(In{af_inet, htons(80), 0x08080808}), 16),
              -ENETUNREACH);
    EXPECT_EQ(guest.call(nr_connect, client, guest.put(In{af_inet, htons(8080), loopback}), 16), 0);
    const std::uint32_t name = guest.reserve(16);
    const std::uint32_t length = guest.put(16);
    const std::int32_t accepted = guest.call(nr_accept, server, name, length);
    ASSERT_GE(accepted, 0);
    const In from = guest.get<In>(name);
    EXPECT_EQ(from.ip, loopback);
    EXPECT_GE(ntohs(from.port), InetPorts::first_ephemeral);
    EXPECT_EQ(guest.call(nr_getsockname, client, name, length), 0);
    EXPECT_EQ(guest.get<In>(name).port, from.port);
    EXPECT_EQ(guest.call(nr_getpeername, client, name, length), 0);
    EXPECT_EQ(guest.get<In>(name).port, htons(8080));
    EXPECT_EQ(guest.call(nr_getsockname, accepted, name, length), 0);
    EXPECT_EQ(guest.get<In>(name).ip, loopback);

    EXPECT_EQ(send(guest, client, "GET /"), 5);
    EXPECT_EQ(receive(guest, accepted), "GET /");
    EXPECT_EQ(send(guest, accepted, "200"), 3);
    guest.call(nr::close, accepted);
    EXPECT_EQ(receive(guest, client), "200");
    EXPECT_EQ(receive(guest, client), "");
    guest.call(nr::close, server);
    EXPECT_EQ(guest.call(nr_bind, again, guest.put(In{af_inet, htons(8080), loopback}), 16), 0);
  });
}

TEST(linux_socket, ipv6_takes_ipv4_as_well) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    struct In6 {
      std::uint16_t family, port;
      std::uint32_t flow;
      std::array<std::uint8_t, 16> ip;
      std::uint32_t scope;
    };
    const std::int32_t server = guest.call(nr_socket, af_inet6, stream, 0);
    EXPECT_EQ(guest.call(nr_bind, server, guest.put(In6{af_inet6, htons(9000), 0, {}, 0}), 28), 0);
    EXPECT_EQ(guest.call(nr_listen, server, 5), 0);
    const std::int32_t v4 = guest.call(nr_socket, af_inet, stream, 0);
    EXPECT_EQ(guest.call(nr_connect, v4, guest.put(In{af_inet, htons(9000), loopback}), 16), 0);
    const std::int32_t v6 = guest.call(nr_socket, af_inet6, stream, 0);
    std::array<std::uint8_t, 16> one{};
    one[15] = 1;
    EXPECT_EQ(guest.call(nr_connect, v6, guest.put(In6{af_inet6, htons(9000), 0, one, 0}), 28), 0);
    EXPECT_GE(guest.call(nr_accept, server, 0, 0), 0);
    EXPECT_GE(guest.call(nr_accept, server, 0, 0), 0);
    EXPECT_EQ(guest.call(nr_connect, v6, guest.put(In{af_inet, htons(9000), loopback}), 16),
              -EISCONN);
  });
}

TEST(linux_socket, udp_on_the_loopback) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t server = guest.call(nr_socket, af_inet, dgram | o_nonblock, 0);
    const std::uint32_t address = guest.put(In{af_inet, htons(5353), loopback});
    EXPECT_EQ(guest.call(nr_bind, server, address, 16), 0);
    const std::int32_t client = guest.call(nr_socket, af_inet, dgram | o_nonblock, 0);
    EXPECT_EQ(send(guest, client, "x"), -EDESTADDRREQ);
    EXPECT_EQ(guest.call(nr_sendto, client, guest.put("query"), 5, 0, address, 16), 5);
    const std::uint32_t from = guest.reserve(16);
    const std::uint32_t length = guest.put(16);
    EXPECT_EQ(guest.call(nr_recvfrom, server, guest.reserve(100), 100, 0, from, length), 5);
    EXPECT_EQ(guest.get<In>(from).ip, loopback);
    EXPECT_EQ(guest.call(nr_sendto, server, guest.put("answer"), 6, 0, from, 16), 6);
    EXPECT_EQ(receive(guest, client), "answer");
    EXPECT_EQ(guest.call(nr_connect, client, guest.put(In{af_inet, htons(1), loopback}), 16), 0);
    EXPECT_EQ(send(guest, client, "lost"), 4);
    EXPECT_EQ(receive(guest, client), "errno 111");
    EXPECT_EQ(guest.call(nr_sendto, client, guest.put("x"), 1, 0,
                         guest.put(In{af_inet, 1, 0x08080808}), 16),
              -ENETUNREACH);
  });
}

// A network that answers when it is told to.
struct FakeNetwork : Outbound {
  Result<void> connect(const InetAddress& to, std::shared_ptr<StreamConnection> connection,
                       std::weak_ptr<OutboundAttempt> asked) override {
    if (to.port == 25) return Errno::acces;
    address = to.ip.text() + ":" + std::to_string(to.port);
    stream = std::move(connection);
    attempt = std::move(asked);
    return {};
  }
  std::string address;
  std::shared_ptr<StreamConnection> stream;
  std::weak_ptr<OutboundAttempt> attempt;
};

TEST(linux_socket, other_addresses_are_for_the_network) {
  TestKernel machine;
  const auto network = std::make_shared<FakeNetwork>();
  KernelMutex& mutex = machine.kernel().mutex();
  {
    const KernelLock lock(mutex);
    machine.kernel().sockets().set_outbound(network);
  }
  run_guest(machine, [&](Guest& guest) {
    const auto to = [&](std::uint16_t port) {
      return guest.put(In{af_inet, htons(port), 0x08080808});
    };
    std::int32_t fd = guest.call(nr_socket, af_inet, stream | o_nonblock, 0);
    EXPECT_EQ(guest.call(nr_connect, fd, to(25), 16), -EACCES);
    EXPECT_EQ(guest.call(nr_connect, fd, to(80), 16), -EINPROGRESS);
    EXPECT_EQ(guest.call(nr_connect, fd, to(80), 16), -EALREADY);
    EXPECT_EQ(send(guest, fd, "early"), -EAGAIN);
    {
      const KernelLock lock(mutex);
      EXPECT_EQ(network->address, "8.8.8.8:80");
      network->attempt.lock()->established(
          {SocketFamily::inet, IpAddress::v4({10, 0, 0, 1}), 4000});
    }
    EXPECT_EQ(send(guest, fd, "request"), 7);
    {
      const KernelLock lock(mutex);
      std::array<std::byte, 100> buffer;
      const std::span<std::byte> piece(buffer);
      EXPECT_EQ(network->stream->receive(StreamConnection::End::second, {&piece, 1}, 0)->count, 7U);
      const auto answer = std::as_bytes(std::span("answer", 6));
      const std::span<const std::byte> out(answer);
      Ancillary none;
      EXPECT_EQ(*network->stream->send(StreamConnection::End::second, {&out, 1}, 0, none), 6U);
      network->stream->close(StreamConnection::End::second);
    }
    EXPECT_EQ(receive(guest, fd), "answer");
    EXPECT_EQ(receive(guest, fd), "");
    fd = guest.call(nr_socket, af_inet, stream | o_nonblock, 0);
    EXPECT_EQ(guest.call(nr_connect, fd, to(443), 16), -EINPROGRESS);
    {
      const KernelLock lock(mutex);
      network->attempt.lock()->failed(Errno::connrefused);
    }
    const std::uint32_t error = guest.put(0);
    EXPECT_EQ(guest.call(nr_getsockopt, fd, 1, 4, error, guest.put(4)), 0);
    EXPECT_EQ(guest.get<std::int32_t>(error), ECONNREFUSED);
    guest.call(nr::close, fd);
    EXPECT_TRUE(network->attempt.expired());
  });
}

TEST(linux_socket, options) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t tcp = guest.call(nr_socket, af_inet, stream | o_cloexec, 0);
    const auto get = [&](std::int32_t level, std::int32_t name) {
      const std::uint32_t value = guest.put(-1);
      const std::int32_t result = guest.call(nr_getsockopt, tcp, level, name, value, guest.put(4));
      return result == 0 ? guest.get<std::int32_t>(value) : result;
    };
    const auto set = [&](std::int32_t level, std::int32_t name, std::int32_t value) {
      return guest.call(nr_setsockopt, tcp, level, name, guest.put(value), 4);
    };
    EXPECT_EQ(get(1, 3), static_cast<std::int32_t>(stream));
    EXPECT_EQ(get(1, 39), static_cast<std::int32_t>(af_inet));
    EXPECT_EQ(get(1, 38), 6);
    EXPECT_EQ(get(1, 4), 0);
    EXPECT_EQ(set(1, 2, 5), 0);
    EXPECT_EQ(get(1, 2), 1);
    EXPECT_EQ(set(6, 1, 1), 0);
    EXPECT_EQ(get(6, 1), 1);
    EXPECT_EQ(set(6, 4, 0), -EINVAL);
    EXPECT_EQ(set(1, 8, 10'000), 0);
    EXPECT_EQ(get(1, 8), 20'000);
    EXPECT_EQ(set(1, 999, 1), -ENOPROTOOPT);
    EXPECT_EQ(get(77, 1), -ENOPROTOOPT);
    EXPECT_EQ(guest.call(nr_setsockopt, tcp, 1, 2, guest.put(1), 3), -EINVAL);
    EXPECT_EQ(guest.call(nr_setsockopt, tcp, 1, 2, Guest::memory_bytes, 4), -EFAULT);
    EXPECT_EQ(guest.call(nr_getsockopt, guest.open("f", o_creat), 1, 3, 0, 0), -ENOTSOCK);
    struct {
      std::int64_t s = 0, us = 1000;
    } const timeout;
    const Pair pair = make_pair(guest, stream);
    EXPECT_EQ(guest.call(nr_setsockopt, pair.first, 1, 66, guest.put(timeout), 16), 0);
    EXPECT_EQ(receive(guest, pair.first), "errno 11") << "after its timeout";
  });
}

TEST(linux_socket, what_does_not_exist) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.call(nr_socket, 99, stream, 0), -EAFNOSUPPORT);
    EXPECT_EQ(guest.call(nr_socket, af_inet, 3, 0), -EPERM);
    EXPECT_EQ(guest.call(nr_socket, af_inet, seqpacket, 0), -ESOCKTNOSUPPORT);
    EXPECT_EQ(guest.call(nr_socket, af_inet, stream, 17), -EPROTONOSUPPORT);
    EXPECT_EQ(guest.call(nr_socket, af_inet, stream | 0x100, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_socketpair, af_inet, stream, 0, guest.reserve(8)), -EOPNOTSUPP);
    EXPECT_EQ(
        guest.call(nr_bind, guest.call(nr_socket, af_unix, stream, 0), guest.reserve(200), 129),
        -EINVAL);
    EXPECT_EQ(
        guest.call(nr_bind, guest.call(nr_socket, af_unix, stream, 0), Guest::memory_bytes, 16),
        -EFAULT);
  });
}

TEST(linux_socket, connections_without_accept_are_bounded) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t server = guest.call(nr_socket, af_inet, stream, 0);
    const std::uint32_t address = guest.put(In{af_inet, htons(7000), loopback});
    EXPECT_EQ(guest.call(nr_bind, server, address, 16), 0);
    EXPECT_EQ(guest.call(nr_listen, server, 1 << 30), 0);
    std::int32_t result = 0;
    int connected = 0;
    for (; result == 0 && connected < 20'000; ++connected) {
      const std::int32_t client = guest.call(nr_socket, af_inet, stream | o_nonblock, 0);
      result = guest.call(nr_connect, client, address, 16);
      guest.call(nr::close, client);
    }
    EXPECT_EQ(result, -EAGAIN);
    EXPECT_LT(connected, 5000);
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
