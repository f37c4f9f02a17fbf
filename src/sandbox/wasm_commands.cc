// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm_commands.h"

#include "base/result.h"

namespace cloche::sandbox {
namespace {

class WasmCommandProcess final : public CommandProcess {
 public:
  explicit WasmCommandProcess(kernel::HostProcess& process) : process_(process) {}

  const std::vector<std::string>& argv() const override { return process_.argv(); }
  const std::vector<std::string>& environment() const override { return process_.environment(); }
  const std::string& directory() const override { return process_.directory(); }

  Result<std::size_t> read(std::span<char> to) override {
    return process_.read(0, std::as_writable_bytes(to));
  }
  Result<void> write(Stream stream, std::string_view bytes) override {
    while (!bytes.empty()) {
      CLOCHE_ASSIGN(const std::size_t count,
                    process_.write(stream == Stream::out ? 1 : 2, std::as_bytes(std::span(bytes))));
      bytes.remove_prefix(count);
    }
    return {};
  }
  Result<CommandCall::Ready> wait(const CommandCall::Ready& wanted) override {
    CLOCHE_ASSIGN(
        const kernel::HostProcess::Ready ready,
        process_.wait({.input = wanted.input, .output = wanted.out, .errors = wanted.err}));
    return CommandCall::Ready{.input = ready.input, .out = ready.output, .err = ready.errors};
  }
  void wake() override { process_.wake(); }

 private:
  kernel::HostProcess& process_;
};

}  // namespace

int run_command(HostCommands& commands, kernel::HostProcess& process) noexcept {
  WasmCommandProcess call(process);
  return commands.run(call);
}

bool WasmCommandFiles::has(std::string_view path) {
  return files_.stat(path, vfs::Follow::no).ok();
}

std::string WasmCommandFiles::head(std::string_view path, std::size_t size_bytes) {
  const Result<vfs::FileInfo> info = files_.stat(path, vfs::Follow::no);
  if (!info || info->stat.type != vfs::FileType::regular) return {};
  Result<std::string> head = files_.read_range(path, 0, size_bytes);
  return head ? *std::move(head) : std::string();
}

Result<void> WasmCommandFiles::write(std::string_view path, std::string_view content) {
  return files_.write_file(path, content, 0755);
}

void WasmCommandFiles::remove(std::string_view path) { (void)files_.remove(path); }

}  // namespace cloche::sandbox
