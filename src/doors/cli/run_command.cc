#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/host_error.h"
#include "base/write_fully.h"
#include "doors/cli/commands.h"
#include "doors/cli/support.h"
#include "sandbox/host_folders.h"

namespace cloche::cli {

int run_command(const Options& given) {
  Options options = given;
  Engine engine(engine_options());
  const std::unique_ptr<Sandbox> sandbox = engine.create(sandbox_options(options));
  options.run.output = [&](Stream stream, std::string_view data) {
    if (stream != Stream::out) return (void)write_fully(STDERR_FILENO, data);
    if (write_fully(STDOUT_FILENO, data)) return;
    // As a command whose reader has gone: it ends.
    if (errno == EPIPE) ::_exit(141);
    complain("cannot write the output: " + std::generic_category().message(errno));
    ::_exit(failure);
  };
  const RunResult result = sandbox->run(options.run);
  if (!result.reason.empty()) complain(result.reason);
  return !copy_out_all(*sandbox, options) && result.exit_code == 0 ? failure : result.exit_code;
}

int prepare_command(const Options& options) {
  if (!options.ship_folder.empty()) {
    Engine::ship(engine_options(), options.ship_folder);
    return 0;
  }
  std::string reason;
  if (sandbox::usable_cache_folder(reason).empty())
    throw HostError("what is compiled cannot be kept: " + reason);
  Engine engine(engine_options());
  engine.prepare();
  return 0;
}

}  // namespace cloche::cli
