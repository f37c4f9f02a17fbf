// SPDX-License-Identifier: Apache-2.0
#include "python/own_requests.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kernel/host/host_entry.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/sockets/socket.h"
#include "python/host_services.h"

namespace cloche::python {
namespace {

using kernel::Task;

constexpr std::uint32_t magic_bytes = 4;
constexpr std::string_view figures_folder = "/workspace/.cloche/figures/";

// The text from `head` to the end of the frame, or to its first zero.
Result<std::string> text_of(const wasm::GuestMemory& memory, std::uint32_t request,
                            std::uint32_t length, std::uint32_t head, std::uint32_t longest) {
  if (length < head || length < sizeof(std::int64_t) || length - head > longest)
    return Errno::inval;
  CLOCHE_ASSIGN(const auto bytes, memory.slice(request + head, length - head));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

Result<void> answer(const wasm::GuestMemory& memory, std::uint32_t request,
                    const Result<std::int64_t>& result) {
  return memory.write(request, result ? *result : -static_cast<std::int64_t>(result.error()));
}

Result<std::int64_t> open_cached(Task& task, std::int32_t connection, CachedWheel wheel)
    REQUIRES(kernel::kernel_lock) {
  HostServices* const services = HostServices::of(task.kernel());
  if (services == nullptr) return Errno::noent;
  kernel::FdTable& fds = task.process().fds;
  CLOCHE_ASSIGN(const kernel::FilePtr file, fds.get(connection));
  const auto socket = std::dynamic_pointer_cast<kernel::Socket>(file);
  if (!socket) return Errno::notsock;
  wheel.origin = socket->origin();
  if (wheel.origin.empty()) return Errno::noent;
  CLOCHE_ASSIGN(kernel::FilePtr opened,
                services->open_wheel(wheel, task.kernel().memory()->owner()));
  CLOCHE_ASSIGN(const std::int32_t fd, fds.install(std::move(opened), kernel::o_cloexec));
  return fd;
}

}  // namespace

Result<void> change_package(wasm::HostCall& host, std::uint32_t request, std::uint32_t length) {
  constexpr std::uint32_t longest = 256;
  const wasm::GuestMemory memory = host.memory();
  CLOCHE_ASSIGN(const std::string name, text_of(memory, request, length, magic_bytes + 1, longest));
  CLOCHE_ASSIGN(const char action, memory.read<char>(request + magic_bytes));
  if (action != 'i' && action != 'u') return Errno::inval;
  const auto change = action == 'i' ? PackageChange::install : PackageChange::uninstall;
  const Result<void> done = kernel::enter_kernel(
      host,
      [&](Task& task, const wasm::GuestMemory&) REQUIRES(kernel::kernel_lock) -> Result<void> {
        HostServices* const services = HostServices::of(task.kernel());
        if (services == nullptr) return Errno::noent;
        return services->change_package(task.kernel().files(), change, name);
      });
  return answer(memory, request, done ? Result<std::int64_t>(0) : done.error());
}

Result<void> open_wheel(wasm::HostCall& host, std::uint32_t request, std::uint32_t length) {
  constexpr std::uint32_t longest = 4096;
  const wasm::GuestMemory memory = host.memory();
  CachedWheel wheel;
  std::uint32_t at = magic_bytes;
  CLOCHE_ASSIGN(wheel.address,
                text_of(memory, request, length,
                        at + 4 + 8 + static_cast<std::uint32_t>(wheel.sha256.size()), longest));
  CLOCHE_ASSIGN(const auto connection, memory.read<std::int32_t>(request + at));
  at += sizeof(connection);
  CLOCHE_ASSIGN(wheel.bytes_to_keep, memory.read<std::uint64_t>(request + at));
  at += sizeof(wheel.bytes_to_keep);
  CLOCHE_ASSIGN(wheel.sha256, memory.read<decltype(wheel.sha256)>(request + at));
  const Result<std::int64_t> opened =
      kernel::enter_kernel(host,
                           [&](Task& task, const wasm::GuestMemory&)
                               REQUIRES(kernel::kernel_lock) -> Result<std::int64_t> {
                                 return open_cached(task, connection, std::move(wheel));
                               });
  return answer(memory, request, opened);
}

Result<void> show_figure(wasm::HostCall& host, std::uint32_t request, std::uint32_t length) {
  constexpr std::uint32_t longest = 256;
  const wasm::GuestMemory memory = host.memory();
  CLOCHE_ASSIGN(const std::string path, text_of(memory, request, length, magic_bytes, longest));
  if (!path.starts_with(figures_folder)) return answer(memory, request, Errno::inval);
  const Result<std::int64_t> told =
      kernel::enter_kernel(host,
                           [&](Task& task, const wasm::GuestMemory&)
                               REQUIRES(kernel::kernel_lock) -> Result<std::int64_t> {
                                 if (HostServices* const services = HostServices::of(task.kernel()))
                                   services->show_figure(task.process().job, path);
                                 return 0;
                               });
  return answer(memory, request, told);
}

}  // namespace cloche::python
