// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/support.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/host_error.h"
#include "base/host_files.h"
#include "base/new_file.h"
#include "base/process_jail.h"
#include "base/unique_fd.h"
#include "base/write_fully.h"
#include "doors/cli/jail.h"

namespace cloche::cli {
namespace {

constexpr mode_t permission_bits = 0777;

// A device or a pipe takes the bytes itself: it must not be replaced by a file.
bool takes_bytes(const std::string& path) {
  struct stat there{};
  return ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

// Complete or not at all. What is there keeps its mode, and a link that leads to it stays.
Result<void> write_file(const std::string& given, std::string_view content) {
  if (takes_bytes(given)) {
    const UniqueFd device(::open(given.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!device || !write_fully(device.get(), content)) return errno_from_host(errno);
    return {};
  }
  const std::string path = target_of(given);
  struct stat old{};
  const bool is_there = ::stat(path.c_str(), &old) == 0;
  CLOCHE_ASSIGN(NewFile file, NewFile::create(host_files(), path, is_there ? 0600 : 0666));
  if (is_there && ::fchmod(file.fd(), old.st_mode & permission_bits) != 0)
    return errno_from_host(errno);
  CLOCHE_TRY(host_files().write_all(file.fd(), std::as_bytes(std::span(content))));
  return file.publish();
}

bool copy_out(Sandbox& sandbox, const CopyOut& copy) {
  const Result<std::string> content = sandbox.files().read(copy.guest_path);
  if (!content) {
    complain(fmt::format("--out: cannot read {} in the sandbox: {}", copy.guest_path,
                         errno_info(content.error()).message));
    return false;
  }
  if (is_standard_output(copy)) {
    pass_on(Stream::out, *content);
    return true;
  }
  const Result<void> written = write_file(copy.host_path, *content);
  if (written) return true;
  complain(fmt::format("--out: cannot write {}: {}", copy.host_path,
                       errno_info(written.error()).message));
  return false;
}

}  // namespace

void complain(std::string_view sentence) noexcept try {
  (void)write_fully(STDERR_FILENO, fmt::format("cloche: {}\n", sentence));
} catch (const std::exception&) {
  return;  // there is nobody to tell
}

void pass_on(Stream stream, std::string_view data) {
  if (stream != Stream::out) return (void)write_fully(STDERR_FILENO, data);
  if (write_fully(STDOUT_FILENO, data)) return;
  // As a command whose reader has gone: it ends.
  if (errno == EPIPE) ::_exit(141);
  complain("cannot write the output: " + std::generic_category().message(errno));
  ::_exit(failure);
}

EngineOptions engine_options() {
  EngineOptions options;
  options.progress = complain;
  options.package_images = PackageImages::first;
  return options;
}

SandboxOptions sandbox_options(const Options& options) {
  SandboxOptions sandbox = options.sandbox;
  if (options.trace_syscalls)
    sandbox.trace = [](std::string_view line) {
      (void)write_fully(STDERR_FILENO, std::string(line) + "\n");
    };
  return sandbox;
}

std::unique_ptr<Engine> jailed_engine(const Options& options) {
  EngineOptions engine_of = engine_options();
  const bool connects = !options.sandbox.network.allow.empty();
  enter_jail(options, engine_of, connects ? Connections::some : Connections::never);
  auto engine = std::make_unique<Engine>(engine_of);
  hide_memory();
  return engine;
}

bool is_standard_output(const CopyOut& copy) { return copy.host_path == "-"; }

std::string target_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error || target.empty() ? path : target.string();
}

void check_copies(const Options& options) {
  for (const CopyOut& copy : options.copies) {
    if (is_standard_output(copy) || takes_bytes(copy.host_path)) continue;
    const std::string target = std::filesystem::absolute(target_of(copy.host_path));
    const std::string folder = std::filesystem::path(target).parent_path();
    std::error_code error;
    const bool is_folder = std::filesystem::is_directory(target, error);
    if (!is_folder && ::access(folder.c_str(), W_OK | X_OK) == 0 &&
        std::filesystem::is_directory(folder, error))
      continue;
    throw HostError::from_errno("--out: cannot write " + copy.host_path,
                                is_folder ? EISDIR : errno);
  }
}

bool copy_out_all(Sandbox& sandbox, const Options& options) {
  bool copied = true;
  for (const CopyOut& copy : options.copies) copied = copy_out(sandbox, copy) && copied;
  return copied;
}

}  // namespace cloche::cli
