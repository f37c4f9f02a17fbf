// SPDX-License-Identifier: Apache-2.0
#include "kernel/wasi/puppet_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernel/wasi/wasi_call.h"
#include "wasm/wat_testing.h"

namespace cloche::kernel::wasi {
namespace {

const std::string& puppet_program() {
  static const std::string wat = wasm::forwarding_wat(all_calls());
  return wat;
}

}  // namespace

std::int32_t Puppet::call_values(std::string_view name, std::span<const wasm::Value> arguments) {
  const wasm::Outcome outcome = instance_.call(name, arguments);
  if (outcome.ending == wasm::Ending::exited) return unwound;
  EXPECT_TRUE(outcome.returned()) << name << ": " << outcome.message;
  return outcome.result.as_i32();
}

std::int32_t Puppet::call_typed(const wasm::HostFunction& function,
                                const std::vector<std::uint64_t>& arguments) {
  std::vector<wasm::Value> values;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const bool wide = function.parameters[i] == wasm::ValueType::i64;
    values.push_back(wide ? wasm::Value::i64(arguments[i])
                          : wasm::Value::i32(static_cast<std::uint32_t>(arguments[i])));
  }
  return call_values(function.name, values);
}

std::uint32_t Puppet::put(std::string_view bytes) {
  const std::uint32_t address = reserve(static_cast<std::uint32_t>(bytes.size()));
  EXPECT_TRUE(memory().copy_out(address, bytes));
  return address;
}

std::int32_t Puppet::open(std::string_view path, std::uint32_t oflags, Rights rights,
                          std::uint32_t fdflags) {
  constexpr std::int32_t root_preopen = 3;
  const std::uint32_t out = reserve(4);
  const std::uint32_t address = put(path);
  const auto length = static_cast<std::uint32_t>(path.size());
  const std::int32_t error = call("path_open", root_preopen, lookup_symlink_follow, address, length,
                                  oflags, rights, rights_all, fdflags, out);
  return error == ok ? get<std::int32_t>(out) : -error;
}

std::int32_t Puppet::write(std::int32_t fd, std::string_view bytes) {
  const std::uint32_t iov = put(IoVec{put(bytes), static_cast<std::uint32_t>(bytes.size())});
  const std::uint32_t out = reserve(4);
  const std::int32_t error = call("fd_write", fd, iov, 1, out);
  return error == ok ? get<std::int32_t>(out) : -error;
}

std::string Puppet::read(std::int32_t fd, std::uint32_t bytes) {
  const std::uint32_t buffer = reserve(bytes);
  const std::uint32_t iov = put(IoVec{buffer, bytes});
  const std::uint32_t out = reserve(4);
  const std::int32_t error = call("fd_read", fd, iov, 1, out);
  return error == ok ? text(buffer, get<std::uint32_t>(out)) : fmt::format("errno {}", error);
}

ProcessPtr start_puppet(TestKernel& machine, SpawnRequest request, PuppetBody body) {
  machine.add_program("/bin/puppet", puppet_program());
  request.path = "/bin/puppet";
  if (request.argv.empty()) request.argv = {"puppet"};
  return machine.spawn(request, [body = std::move(body)](wasm::HostCall& host) {
    Puppet puppet(host.instance(), host.owner<Task>().owner());
    body(puppet);
  });
}

WaitStatus run_puppet(TestKernel& machine, SpawnRequest request, PuppetBody body) {
  return machine.wait(start_puppet(machine, std::move(request), std::move(body)));
}

}  // namespace cloche::kernel::wasi
