#include "doors/cli/support.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/unique_fd.h"

namespace cloche::cli {
namespace {

bool copy_out(Sandbox& sandbox, const CopyOut& copy) {
  const Result<std::string> content = sandbox.files().read(copy.guest_path);
  if (!content) {
    fmt::print(stderr, "cloche: --out: cannot read {} in the sandbox: {}\n", copy.guest_path,
               errno_info(content.error()).message);
    return false;
  }
  // Complete or not at all.
  const std::string part = copy.host_path + ".part";
  const UniqueFd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file || !write_all(file.get(), *content) ||
      ::rename(part.c_str(), copy.host_path.c_str()) != 0) {
    const int error = errno;
    ::unlink(part.c_str());
    fmt::print(stderr, "cloche: --out: cannot write {}: {}\n", copy.host_path,
               std::generic_category().message(error));
    return false;
  }
  return true;
}

}  // namespace

bool write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

EngineOptions engine_options() {
  EngineOptions options;
  options.progress = [](std::string_view line) { fmt::print(stderr, "cloche: {}\n", line); };
  return options;
}

SandboxOptions sandbox_options(const Options& options) {
  SandboxOptions sandbox = options.sandbox;
  if (options.trace_syscalls)
    sandbox.trace = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  return sandbox;
}

bool copy_out_all(Sandbox& sandbox, const Options& options) {
  bool copied = true;
  for (const CopyOut& copy : options.copies) copied = copy_out(sandbox, copy) && copied;
  return copied;
}

}  // namespace cloche::cli
