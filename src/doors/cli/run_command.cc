#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <system_error>

#include "base/unique_fd.h"
#include "cloche/engine.h"
#include "doors/cli/commands.h"

namespace cloche::cli {
namespace {

constexpr int failure = 2;

// All of it, whatever the descriptor is; false when nobody reads any more.
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

bool copy_out(const Sandbox& sandbox, const CopyOut& copy) {
  const Result<std::string> content = const_cast<Sandbox&>(sandbox).files().read(copy.guest_path);
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

int run_command(const Options& given) {
  Options options = given;
  if (options.trace_syscalls) {
    options.sandbox.trace = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  }
  Engine engine(engine_options());
  const std::unique_ptr<Sandbox> sandbox = engine.create(options.sandbox);
  bool reader_gone = false;
  options.run.output = [&](Stream stream, std::string_view data) {
    if (write_all(static_cast<int>(stream), data) || reader_gone) return;
    // As a command whose reader has gone: it ends.
    reader_gone = stream == Stream::out;
    if (reader_gone) ::_exit(141);
  };
  const RunResult result = sandbox->run(options.run);
  if (!result.reason.empty()) fmt::print(stderr, "cloche: {}\n", result.reason);
  bool copied = true;
  for (const CopyOut& copy : options.copies) copied = copy_out(*sandbox, copy) && copied;
  return !copied && result.exit_code == 0 ? failure : result.exit_code;
}

int prepare_command() {
  Engine engine(engine_options());
  engine.prepare();
  return 0;
}

}  // namespace cloche::cli
