// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/support.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/process_jail.h"
#include "base/write_fully.h"
#include "doors/cli/jail.h"

namespace cloche::cli {

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

std::unique_ptr<Engine> jailed_engine(const Options& options, const OutPlaces& places) {
  EngineOptions engine_of = engine_options();
  const bool connects = !options.sandbox.network.allow.empty();
  enter_jail(options, places, engine_of, connects ? Connections::some : Connections::never);
  auto engine = std::make_unique<Engine>(engine_of);
  hide_memory();
  return engine;
}

bool is_standard_output(const CopyOut& copy) { return copy.host_path == "-"; }

}  // namespace cloche::cli
