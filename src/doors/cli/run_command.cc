#include <fmt/core.h>
#include <unistd.h>

#include "doors/cli/commands.h"
#include "doors/cli/support.h"

namespace cloche::cli {

int run_command(const Options& given) {
  Options options = given;
  Engine engine(engine_options());
  const std::unique_ptr<Sandbox> sandbox = engine.create(sandbox_options(options));
  bool reader_gone = false;
  options.run.output = [&](Stream stream, std::string_view data) {
    if (write_all(static_cast<int>(stream), data) || reader_gone) return;
    // As a command whose reader has gone: it ends.
    reader_gone = stream == Stream::out;
    if (reader_gone) ::_exit(141);
  };
  const RunResult result = sandbox->run(options.run);
  if (!result.reason.empty()) fmt::print(stderr, "cloche: {}\n", result.reason);
  return !copy_out_all(*sandbox, options) && result.exit_code == 0 ? failure : result.exit_code;
}

int prepare_command(const Options& options) {
  if (!options.ship_folder.empty()) {
    Engine::ship(engine_options(), options.ship_folder);
    return 0;
  }
  Engine engine(engine_options());
  engine.prepare();
  return 0;
}

}  // namespace cloche::cli
