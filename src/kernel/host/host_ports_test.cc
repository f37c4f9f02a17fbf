// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/host_ports.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "kernel/files/devices.h"
#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel {
namespace {

using lnx::Guest;
namespace nr = lnx::nr;
using namespace std::chrono_literals;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
Deadline deadline() { return std::chrono::steady_clock::now() + 10s; }

// Runs a guest with one file at a descriptor, which is the host's again afterwards.
ProcessPtr start(TestKernel& machine, std::int32_t fd, FilePtr file, lnx::GuestScript script) {
  SpawnRequest request;
  request.files = {{fd, std::move(file)}};
  return lnx::start_guest(machine, std::move(script), std::move(request));
}

TEST(HostCaptureTest, KeepsUpToItsLimitAndCountsTheRest) {
  TestKernel machine;
  const auto capture = std::make_unique<HostCapture>(machine.kernel(), 10);
  const ProcessPtr guest = start(machine, 1, capture->guest_end(), [](Guest& g) {
    EXPECT_EQ(g.write(1, "12345678"), 8);
    EXPECT_EQ(g.write(1, "abcdefgh"), 8);
    EXPECT_EQ(g.write(1, "more"), 4);
    EXPECT_EQ(g.read(1), "errno 9");
  });
  machine.wait(guest);
  const HostCapture::Output output = capture->take();
  EXPECT_EQ(output.bytes, "12345678ab");
  EXPECT_EQ(output.written_bytes, 20U);
  EXPECT_TRUE(output.truncated());
  EXPECT_EQ(capture->take().bytes, "");
}

TEST(HostCaptureTest, PassesOnWithoutTheLock) {
  TestKernel machine;
  std::string passed;
  const auto capture =
      std::make_unique<HostCapture>(machine.kernel(), 3, [&](std::span<const std::byte> bytes) {
        const KernelLock lock(machine.kernel().mutex());
        passed.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      });
  const ProcessPtr guest = start(machine, 1, capture->guest_end(), [](Guest& g) {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(g.write(1, "ab"), 2);
  });
  machine.wait(guest);
  EXPECT_EQ(passed, "abababababababababab");
  EXPECT_EQ(capture->take().bytes, "aba");
}

// It must not, and would leave the kernel locked or somebody waiting if it did.
TEST(HostCaptureTest, ASinkThatThrowsIsAnErrorOfTheWrite) {
  TestKernel machine;
  const auto capture = std::make_unique<HostCapture>(
      machine.kernel(), 10,
      [](std::span<const std::byte>) { throw std::runtime_error("nowhere to put it"); });
  const ProcessPtr guest = start(machine, 1, capture->guest_end(), [](Guest& g) {
    EXPECT_EQ(g.write(1, "ab"), -EIO);
    EXPECT_EQ(g.write(1, "cd"), -EIO);
  });
  machine.wait(guest);
  EXPECT_EQ(capture->finish().bytes, "abcd");
}

TEST(HostCaptureTest, TellsWhenNobodyHasItsGuestsEnd) {
  TestKernel machine;
  HostCapture capture(machine.kernel());
  const ProcessPtr guest = start(machine, 1, capture.guest_end(),
                                 [](Guest& g) { EXPECT_EQ(g.write(1, "last words"), 10); });
  capture.release_guest_end();
  {
    const KernelLock lock(machine.kernel().mutex());
    Waiter waiter;
    WaitQueue* const queues[] = {&capture.closed()};
    while (capture.is_open()) (void)waiter.sleep(machine.kernel().mutex(), queues, std::nullopt);
  }
  EXPECT_EQ(capture.finish().bytes, "last words");
  machine.wait(guest);
}

TEST(HostCaptureTest, IsGoneBeforeItsGuest) {
  TestKernel machine;
  HostPipe go_on(machine.kernel(), HostPipe::Flow::to_guest);
  auto capture = std::make_unique<HostCapture>(machine.kernel());
  SpawnRequest request;
  request.files = {{0, go_on.guest_end()}, {1, capture->guest_end()}};
  const ProcessPtr guest = lnx::start_guest(
      machine,
      [](Guest& g) {
        EXPECT_EQ(g.read(0), "");
        EXPECT_EQ(g.write(1, "to nobody"), 9);
      },
      std::move(request));
  go_on.release_guest_end();
  capture.reset();
  go_on.close();
  machine.wait(guest);
}

TEST(BytesFileTest, IsAPipeThatSomebodyFilled) {
  TestKernel machine;
  const auto input = std::make_shared<BytesFile>(machine.kernel(), "some input");
  const ProcessPtr guest = start(machine, 0, input, [](Guest& g) {
    EXPECT_EQ(g.read(0, 4), "some");
    EXPECT_EQ(g.read(0), " input");
    EXPECT_EQ(g.read(0), "");
    EXPECT_EQ(g.write(0, "x"), -EBADF);
    EXPECT_EQ(g.call(nr::llseek, 0, 0, 0, g.reserve(8), 0), -ESPIPE);
  });
  machine.wait(guest);
}

TEST(BytesFileTest, LooksLikeTheNullDeviceWithoutBytes) {
  TestKernel machine;
  BytesFile nothing(machine.kernel(), "");
  const Result<vfs::Stat> stat = nothing.stat();
  ASSERT_TRUE(stat.ok());
  EXPECT_EQ(stat->type, vfs::FileType::character);
  EXPECT_EQ(stat->rdev, device::null);
  EXPECT_EQ(nothing.description(), "/dev/null");
  EXPECT_EQ(nothing.seek(512, 1).value(), 0U);
  EXPECT_EQ(nothing.poll(), pollin | pollrdnorm);
}

TEST(HostPipeTest, FeedsAndDrainsAGuest) {
  TestKernel machine;
  HostPipe input(machine.kernel(), HostPipe::Flow::to_guest);
  HostPipe output(machine.kernel(), HostPipe::Flow::from_guest);
  ProcessPtr guest;
  {
    SpawnRequest request;
    request.files = {{0, input.guest_end()}, {1, output.guest_end()}};
    guest = lnx::start_guest(
        machine,
        [](Guest& g) {
          const std::uint32_t buffer = g.reserve(5000);
          for (std::int32_t count = 0; (count = g.call(nr::read, 0, buffer, 5000)) > 0;) {
            ASSERT_EQ(g.call(nr::write, 1, buffer, count), count);
          }
        },
        std::move(request));
  }
  input.release_guest_end();
  output.release_guest_end();
  const std::string text(500'000, 't');
  std::thread feeder([&] {
    EXPECT_EQ(input.write(bytes_of(text), deadline()).value(), text.size());
    input.close();
  });
  std::string got;
  std::array<std::byte, 3000> buffer;
  for (;;) {
    const Result<std::size_t> count = output.read(buffer, deadline());
    ASSERT_TRUE(count);
    if (*count == 0) break;
    got.append(reinterpret_cast<const char*>(buffer.data()), *count);
  }
  feeder.join();
  EXPECT_EQ(got.size(), text.size());
  machine.wait(guest);
}

TEST(HostPipeTest, EndsByDeadlineByCancelAndByTheOtherEnd) {
  TestKernel machine;
  std::array<std::byte, 10> buffer;
  HostPipe output(machine.kernel(), HostPipe::Flow::from_guest);
  EXPECT_EQ(output.read(buffer, std::chrono::steady_clock::now() + 1ms).error(), Errno::timedout);
  std::thread other([&] { output.cancel(); });
  EXPECT_EQ(output.read(buffer).error(), Errno::canceled);
  other.join();
  EXPECT_EQ(output.read(buffer).error(), Errno::canceled);

  HostPipe input(machine.kernel(), HostPipe::Flow::to_guest);
  const std::string much(100'000, 'x');
  EXPECT_EQ(input.write(bytes_of(much), std::chrono::steady_clock::now()).value(), 65536U);
  EXPECT_EQ(input.write(bytes_of(much), std::chrono::steady_clock::now()).error(), Errno::timedout);
  input.release_guest_end();
  EXPECT_EQ(input.write(bytes_of(much)).error(), Errno::pipe);
  EXPECT_EQ(input.read(buffer).error(), Errno::badf);
}

}  // namespace
}  // namespace cloche::kernel
