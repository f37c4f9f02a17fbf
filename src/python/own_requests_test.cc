// SPDX-License-Identifier: Apache-2.0
#include "python/own_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "kernel/host/host_ports.h"
#include "kernel/kernel.h"
#include "kernel/kernel_testing.h"
#include "kernel/sockets/socket.h"
#include "python/host_services.h"

namespace cloche::python {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Writes down what it is asked.
class FakeServices final : public HostServices {
 public:
  struct Asked {
    std::vector<std::string> packages;
    std::vector<CachedWheel> wheels;
    std::vector<std::string> figures;
  };

  FakeServices(Asked& asked, kernel::FilePtr wheel) : asked_(asked), wheel_(std::move(wheel)) {}

  Result<void> change_package(vfs::Namespace&, PackageChange change,
                              std::string_view name) override {
    asked_.packages.push_back((change == PackageChange::install ? "+" : "-") + std::string(name));
    if (name == "unknown") return Errno::noent;
    return {};
  }
  Result<kernel::FilePtr> open_wheel(const CachedWheel& wheel,
                                     const std::shared_ptr<Owner>&) override {
    asked_.wheels.push_back(wheel);
    if (!wheel_) return Errno::noent;
    return wheel_;
  }
  void show_figure(kernel::JobId job, std::string_view path) override {
    EXPECT_GT(job, 0U);
    asked_.figures.emplace_back(path);
  }

 private:
  Asked& asked_;
  const kernel::FilePtr wheel_;
};

// A socket that leads to `origin`; nothing else of it is asked for.
class Connection final : public kernel::Socket {
 public:
  Connection(kernel::Kernel& kernel, std::string origin)
      : Socket(kernel, kernel::SocketFamily::inet, kernel::SocketType::stream, 0, kernel::o_rdwr),
        origin_(std::move(origin)) {}

  std::string origin() const override { return origin_; }

  Result<void> bind(kernel::Task&, const kernel::SocketAddress&) override { return Errno::inval; }
  Result<void> connect(kernel::Task&, const kernel::SocketAddress&) override {
    return Errno::inval;
  }
  kernel::SocketAddress local_address() const override { return {}; }
  Result<kernel::SocketAddress> peer_address() const override { return Errno::notconn; }
  Result<std::size_t> send(kernel::Task&, kernel::SendRequest) override { return Errno::inval; }
  Result<kernel::Received> receive(kernel::Task&, kernel::Scatter, std::uint32_t) override {
    return Errno::inval;
  }
  Result<void> shutdown(std::uint32_t) override { return {}; }
  std::size_t readable_bytes() const override { return 0; }

 private:
  const std::string origin_;
};

constexpr std::int32_t connection_fd = 5;
constexpr std::int32_t stranger_fd = 6;  // a socket that leads nowhere
constexpr std::uint32_t frame_address = 1024;

using Request = Result<void> (*)(wasm::HostCall&, std::uint32_t, std::uint32_t);

// A guest of this kernel sends the frame: what it finds at its start then, and nothing where it is
// no frame.
std::optional<std::int64_t> ask(kernel::TestKernel& machine, Request request,
                                std::string_view frame) {
  machine.add_program("/bin/guest", R"((module
      (import "test" "turn" (func $turn))
      (memory (export "memory") 1)
      (func (export "_start") call $turn)))");
  kernel::Kernel& kernel = machine.kernel();
  const kernel::SpawnRequest guest{
      .path = "/bin/guest",
      .argv = {"guest"},
      .files = {{0, std::make_shared<kernel::BytesFile>(kernel, "text")},
                {connection_fd, std::make_shared<Connection>(kernel, "https://index.test:443")},
                {stranger_fd, std::make_shared<Connection>(kernel, "")}}};
  std::optional<std::int64_t> answer;
  const kernel::ProcessPtr process = machine.spawn(guest, [&](wasm::HostCall& host) {
    const auto length = static_cast<std::uint32_t>(frame.size());
    ASSERT_TRUE(host.memory().copy_out(frame_address, frame));
    if (request(host, frame_address, length))
      answer = *host.memory().read<std::int64_t>(frame_address);
  });
  EXPECT_EQ(machine.wait(process).shell_status(), 0);
  return answer;
}

class OwnRequests : public ::testing::Test {
 protected:
  std::optional<std::int64_t> ask(Request request, std::string_view frame) {
    return python::ask(machine_, request, frame);
  }

  static kernel::KernelOptions options_with(FakeServices::Asked& asked) {
    kernel::KernelOptions options;
    options.extension =
        std::make_unique<FakeServices>(asked, std::make_shared<kernel::OutputFile>());
    return options;
  }

  FakeServices::Asked asked_;
  kernel::TestKernel machine_{options_with(asked_)};
};

constexpr std::int64_t refused(Errno error) { return -static_cast<std::int64_t>(error); }

std::string wheel_frame(std::int32_t connection, std::uint64_t bytes_to_keep,
                        std::string_view address) {
  std::string frame = "whl0";
  const auto add = [&](const auto& value) {
    frame.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  add(connection);
  add(bytes_to_keep);
  frame.append(32, '\x5a');
  return frame.append(address);
}

TEST_F(OwnRequests, APackageIsAskedForByItsName) {
  EXPECT_EQ(ask(change_package, "pkg0inumpy"), 0);
  EXPECT_EQ(ask(change_package, std::string_view("pkg0unumpy\0\0", 12)), 0);
  EXPECT_EQ(ask(change_package, "pkg0iunknown"), refused(Errno::noent));
  EXPECT_THAT(asked_.packages, ElementsAre("+numpy", "-numpy", "+unknown"));
}

TEST_F(OwnRequests, AFrameThatIsNoneReachesNobody) {
  EXPECT_EQ(ask(change_package, "pkg0xnumpy"), std::nullopt);
  EXPECT_EQ(ask(change_package, "pkg0i"), std::nullopt);
  EXPECT_EQ(ask(change_package, "pkg0i" + std::string(257, 'a')), std::nullopt);
  EXPECT_EQ(ask(open_wheel, wheel_frame(connection_fd, 0, "").substr(0, 47)), std::nullopt);
  EXPECT_EQ(ask(open_wheel, wheel_frame(connection_fd, 0, std::string(4097, 'a'))), std::nullopt);
  EXPECT_EQ(ask(show_figure, "fig0" + std::string(257, 'a')), std::nullopt);
  EXPECT_THAT(asked_.packages, IsEmpty());
  EXPECT_THAT(asked_.wheels, IsEmpty());
  EXPECT_THAT(asked_.figures, IsEmpty());
}

TEST_F(OwnRequests, AWheelIsOfWhomTheConnectionLeadsTo) {
  const auto fd = ask(open_wheel, wheel_frame(connection_fd, 77, "https://index.test/a.whl"));
  ASSERT_TRUE(fd);
  EXPECT_GE(*fd, 0);
  ASSERT_EQ(asked_.wheels.size(), 1U);
  EXPECT_EQ(asked_.wheels[0].origin, "https://index.test:443");
  EXPECT_EQ(asked_.wheels[0].address, "https://index.test/a.whl");
  EXPECT_EQ(asked_.wheels[0].bytes_to_keep, 77U);
  EXPECT_EQ(asked_.wheels[0].sha256[31], 0x5a);
}

TEST_F(OwnRequests, WithoutAConnectionThereIsNoWheel) {
  EXPECT_EQ(ask(open_wheel, wheel_frame(0, 0, "a")), refused(Errno::notsock));
  EXPECT_EQ(ask(open_wheel, wheel_frame(stranger_fd, 0, "a")), refused(Errno::noent));
  EXPECT_EQ(ask(open_wheel, wheel_frame(99, 0, "a")), refused(Errno::badf));
  EXPECT_THAT(asked_.wheels, IsEmpty());
}

TEST_F(OwnRequests, AFigureLiesInItsFolder) {
  EXPECT_EQ(ask(show_figure, "fig0/workspace/.cloche/figures/1.png"), 0);
  EXPECT_EQ(ask(show_figure, "fig0/etc/passwd"), refused(Errno::inval));
  EXPECT_THAT(asked_.figures, ElementsAre("/workspace/.cloche/figures/1.png"));
}

TEST(OwnRequestsWithoutServices, FindNothingAndTellNobody) {
  kernel::TestKernel machine;
  EXPECT_EQ(ask(machine, change_package, "pkg0inumpy"), refused(Errno::noent));
  EXPECT_EQ(ask(machine, open_wheel, wheel_frame(connection_fd, 0, "a")), refused(Errno::noent));
  EXPECT_EQ(ask(machine, show_figure, "fig0/workspace/.cloche/figures/1.png"), 0);
}

}  // namespace
}  // namespace cloche::python
