// SPDX-License-Identifier: Apache-2.0
// sock_*: on sockets that the guest inherits.
#include <gtest/gtest.h>

#include "kernel/kernel.h"
#include "kernel/sockets/socket_table.h"
#include "kernel/wasi/puppet_testing.h"

namespace cloche::kernel::wasi {
namespace {

constexpr std::uint32_t af_unix = 1;

SpawnRequest with_pair(TestKernel& machine, SocketType type) {
  // A pair is made by somebody: a guest's task makes it for the two descriptors of the guest that
  // is tested.
  SpawnRequest request;
  machine.add_program("/bin/maker",
                      R"((module (import "test" "turn" (func $turn)) (memory (export "memory") 1)
                                         (func (export "_start") call $turn)))");
  SpawnRequest maker;
  maker.path = "/bin/maker";
  machine.wait(machine.spawn(maker, [&](wasm::HostCall& host) {
    const KernelLock lock(machine.kernel().mutex());
    auto pair = machine.kernel().sockets().create_pair(host.owner<Task>(), af_unix,
                                                       static_cast<std::uint32_t>(type), 0, 0);
    ASSERT_TRUE(pair);
    request.files = {{0, pair->first}, {1, pair->second}};
  }));
  return request;
}

std::int32_t send(Puppet& guest, std::int32_t fd, std::string_view text, std::uint32_t flags = 0) {
  const std::uint32_t iov =
      guest.put(IoVec{guest.put(text), static_cast<std::uint32_t>(text.size())});
  const std::uint32_t out = guest.reserve(4);
  const std::int32_t error = guest.call("sock_send", fd, iov, 1, flags, out);
  return error == ok ? guest.get<std::int32_t>(out) : -error;
}

struct Got {
  std::int32_t error;
  std::string text;
  std::uint16_t roflags;
};

Got receive(Puppet& guest, std::int32_t fd, std::uint32_t bytes, std::uint32_t flags = 0) {
  const std::uint32_t buffer = guest.reserve(bytes);
  const std::uint32_t iov = guest.put(IoVec{buffer, bytes});
  const std::uint32_t out = guest.reserve(4);
  const std::uint32_t roflags = guest.reserve(2);
  const std::int32_t error = guest.call("sock_recv", fd, iov, 1, flags, out, roflags);
  return {error, guest.text(buffer, guest.get<std::uint32_t>(out)),
          guest.get<std::uint16_t>(roflags)};
}

TEST(WasiSocket, StreamsSendReceiveAndShutDown) {
  TestKernel machine;
  run_puppet(machine, with_pair(machine, SocketType::stream), [](Puppet& guest) {
    EXPECT_EQ(send(guest, 0, "hello"), 5);
    EXPECT_EQ(receive(guest, 1, 2, riflag_peek).text, "he");
    EXPECT_EQ(receive(guest, 1, 5, riflag_waitall).text, "hello");
    EXPECT_EQ(guest.write(1, "back"), 4);
    EXPECT_EQ(guest.read(0, 8), "back");
    EXPECT_EQ(send(guest, 0, "x", 1), -inval);
    EXPECT_EQ(receive(guest, 1, 2, 4).error, inval);
    EXPECT_EQ(guest.call("sock_shutdown", 0, 0), inval);
    EXPECT_EQ(guest.call("sock_shutdown", 0, 4), inval);
    EXPECT_EQ(guest.call("sock_shutdown", 0, sdflag_wr), ok);
    EXPECT_EQ(receive(guest, 1, 5).text, "");
    EXPECT_EQ(send(guest, 0, "late"), -pipe);  // and no signal
    const std::uint32_t stat = guest.reserve(sizeof(FdStat));
    EXPECT_EQ(guest.call("fd_fdstat_get", 0, stat), ok);
    EXPECT_EQ(guest.get<FdStat>(stat).filetype, filetype_socket_stream);
    EXPECT_EQ(guest.call("sock_accept", 0, 0, guest.reserve(4)), inval);
  });
}

TEST(WasiSocket, DatagramsKeepTheirBounds) {
  TestKernel machine;
  run_puppet(machine, with_pair(machine, SocketType::datagram), [](Puppet& guest) {
    EXPECT_EQ(send(guest, 0, "first"), 5);
    EXPECT_EQ(send(guest, 0, "second"), 6);
    const Got cut = receive(guest, 1, 3);
    EXPECT_EQ(cut.text, "fir");
    EXPECT_EQ(cut.roflags, roflag_data_truncated);
    EXPECT_EQ(receive(guest, 1, 16).text, "second");
    const std::uint32_t stat = guest.reserve(sizeof(FdStat));
    EXPECT_EQ(guest.call("fd_fdstat_get", 0, stat), ok);
    EXPECT_EQ(guest.get<FdStat>(stat).filetype, filetype_socket_dgram);
  });
}

TEST(WasiSocket, OtherFilesAreNotSockets) {
  TestKernel machine;
  machine.write_file("/tmp/file", "content", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    EXPECT_EQ(send(guest, file, "x"), -notsock);
    EXPECT_EQ(receive(guest, file, 4).error, notsock);
    EXPECT_EQ(guest.call("sock_shutdown", file, 1), notsock);
    EXPECT_EQ(guest.call("sock_accept", file, 0, guest.reserve(4)), notsock);
    EXPECT_EQ(guest.call("sock_accept", 99, 0, guest.reserve(4)), badf);
  });
}

}  // namespace
}  // namespace cloche::kernel::wasi
