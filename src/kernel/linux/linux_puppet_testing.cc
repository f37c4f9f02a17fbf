// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/linux_puppet_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernel/files/devices.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "vfs/checked_operations.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::string_view program = R"((module
  (import "test" "turn" (func $turn))
  (import "linux" "syscall" (func $syscall (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 4)
  (func (export "syscall") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
    local.get 0 local.get 1 local.get 2 local.get 3 local.get 4 local.get 5 local.get 6 call $syscall)
  (func (export "_start") call $turn)))";

}  // namespace

std::int32_t Guest::call_words(std::uint32_t number, std::array<std::uint32_t, 6> words) {
  const std::array<wasm::Value, 7> values{wasm::Value::i32(number),   wasm::Value::i32(words[0]),
                                          wasm::Value::i32(words[1]), wasm::Value::i32(words[2]),
                                          wasm::Value::i32(words[3]), wasm::Value::i32(words[4]),
                                          wasm::Value::i32(words[5])};
  const wasm::Outcome outcome = instance_.call("syscall", values);
  if (outcome.ending == wasm::Ending::exited) return unwound;
  EXPECT_TRUE(outcome.returned()) << "call " << number << ": " << outcome.message;
  return outcome.returned() ? outcome.result.as_i32() : -EIO;
}

std::uint32_t Guest::put(std::string_view bytes) {
  const std::uint32_t address = reserve(static_cast<std::uint32_t>(bytes.size()) + 1);
  EXPECT_TRUE(memory().copy_out(address, std::string(bytes) + '\0'));
  return address;
}

std::int32_t Guest::open(std::string_view path, std::uint32_t flags, std::uint32_t mode) {
  return call(nr::openat, at_cwd, put(path), flags, mode);
}

std::int32_t Guest::write(std::int32_t fd, std::string_view bytes) {
  return call(nr::write, fd, put(bytes), bytes.size());
}

std::string Guest::read(std::int32_t fd, std::uint32_t bytes) {
  const std::uint32_t buffer = reserve(bytes);
  const std::int32_t count = call(nr::read, fd, buffer, bytes);
  return count >= 0 ? text(buffer, static_cast<std::uint32_t>(count))
                    : fmt::format("errno {}", -std::int64_t{count});
}

std::string Guest::content(std::string_view path) {
  const std::uint32_t mark = used_;
  const std::int32_t fd = open(path);
  if (fd < 0) return fmt::format("errno {}", -fd);
  std::string all = read(fd, 32768);
  call(nr::close, fd);
  used_ = mark;
  return all;
}

std::string Guest::link_target(std::string_view path) {
  constexpr std::uint32_t room = 4096;
  const std::uint32_t mark = used_;
  const std::uint32_t buffer = reserve(room);
  const std::int32_t count = call(nr::readlinkat, at_cwd, put(path), buffer, room);
  used_ = mark;
  return count >= 0 ? text(buffer, static_cast<std::uint32_t>(count))
                    : fmt::format("errno {}", -std::int64_t{count});
}

ProcessPtr start_guest(TestKernel& machine, GuestScript script, SpawnRequest request) {
  machine.add_program("/bin/guest", program);
  request.path = "/bin/guest";
  if (request.argv.empty()) request.argv = {"guest"};
  if (request.cwd == "/") request.cwd = "/workspace";
  return machine.spawn(request, [script = std::move(script)](wasm::HostCall& host) {
    Guest guest(host.instance(), host.owner<Task>().owner());
    script(guest);
  });
}

WaitStatus run_guest(TestKernel& machine, GuestScript script, SpawnRequest request) {
  return machine.wait(start_guest(machine, std::move(script), std::move(request)));
}

void add_dev(TestKernel& machine) {
  const auto node = [&](std::string_view name, std::uint64_t number) {
    const KernelLock lock(machine.kernel().mutex());
    const vfs::Credentials& root = vfs::root_credentials();
    const auto dev = machine.files().lookup(machine.files().root(), "/dev", vfs::Follow::yes, root);
    ASSERT_TRUE(dev);
    EXPECT_TRUE(vfs::create(*dev, name, vfs::FileType::character, 0666, root, number));
  };
  machine.with_files([](vfs::PathOperations& files) {
    (void)files.make_dir("/dev");
    EXPECT_TRUE(files.symlink("/proc/self/fd", "/dev/fd"));
    EXPECT_TRUE(files.symlink("/proc/self/fd/1", "/dev/stdout"));
  });
  node("null", device::null);
  node("zero", device::zero);
  node("full", device::full);
  node("urandom", device::urandom);
  node("tty", device::tty);
  node("ptmx", device::ptmx);
}

}  // namespace cloche::kernel::lnx
