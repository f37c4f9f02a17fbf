// SPDX-License-Identifier: Apache-2.0
// cloche image commit: what commands have made of an image, as an image.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/guest_folders.h"
#include "base/host_error.h"
#include "cloche/archive.h"
#include "doors/cli/commands.h"
#include "doors/cli/support.h"
#include "native/images/image_store.h"

namespace cloche::cli {
namespace {

std::unique_ptr<Sandbox> sandbox_of(Engine& engine, const Options& options) {
  if (options.state_file.empty()) return engine.create(sandbox_options(options));
  const Result<UniqueFd, HostError> file = guest_folders().open_to_read(options.state_file);
  if (!file)
    throw HostError("--state: cannot read " + std::string(file.error().sentence()),
                    file.error().code());
  const ByteSource source = [&file](std::span<std::byte> to) -> Result<std::size_t> {
    for (;;) {
      const ssize_t got = ::read(file->get(), to.data(), to.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return errno_from_host(errno);
    }
  };
  auto made = import_state(engine, sandbox_options(options), source);
  if (!made) throw made.error();
  return *std::move(made);
}

}  // namespace

int image_commit_command(const Options& given) {
  images::check_image_name(given.image_name);
  Engine engine(engine_options());
  const std::unique_ptr<Sandbox> sandbox = sandbox_of(engine, given);
  if (!given.run.script.empty()) {
    RunOptions run = given.run;
    run.output = pass_on;
    const RunResult result = sandbox->run(run);
    if (!result.reason.empty()) complain(result.reason);
    if (result.exit_code != 0) {
      complain(
          fmt::format("the command ended with status {}: no image was made", result.exit_code));
      return result.exit_code;
    }
  }
  if (const Result<void, Error> kept = sandbox->commit_image(given.image_name); !kept)
    throw kept.error();
  fmt::print("{}\n", given.image_name);
  return 0;
}

}  // namespace cloche::cli
