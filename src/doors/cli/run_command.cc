// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/host_error.h"
#include "doors/cli/commands.h"
#include "doors/cli/out_places.h"
#include "doors/cli/script_file.h"
#include "doors/cli/support.h"
#include "sandbox/host_folders.h"

namespace cloche::cli {
namespace {

// A terminal is the person's, who has not asked to type into the sandbox; /dev/null must look like
// that inside, for programs (rg, file) take what they read from the kind of their input.
bool is_terminal_or_null(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return true;
  const dev_t null = ::makedev(1, 3);
  return ::isatty(fd) != 0 || (S_ISCHR(status.st_mode) && status.st_rdev == null);
}

int input_of(const Options& options) {
  if (options.script_file == "-" || options.input == Input::none) return -1;
  if (options.input == Input::automatic && is_terminal_or_null(STDIN_FILENO)) return -1;
  return STDIN_FILENO;
}

bool is_plain_word(std::string_view text) {
  return !text.empty() &&
         text.find_first_of(" \t\n;|&<>(){}$`\"'\\*?[]#~=!") == std::string_view::npos;
}

// `run ls -l /`: a script of one word could do nothing with its arguments, so these words are a
// command and its own.
void take_words_as_a_command(RunOptions& run) {
  if (run.arguments.empty() || !is_plain_word(run.script)) return;
  run.arguments.insert(run.arguments.begin(), {"bash", std::move(run.script)});
  run.script = R"("$@")";
}

// Who gives the path of a script of this machine in the place of a command means its content.
void explain_missing_file(const std::string& word, const RunResult& result) {
  if (result.exit_code != not_started_status(Errno::noent) &&
      result.exit_code != not_started_status(Errno::acces))
    return;
  if (word.find('/') == std::string::npos || !is_plain_word(word)) return;
  std::error_code error;
  if (std::filesystem::is_regular_file(word, error))
    complain(fmt::format("{0} is a file of this machine: cloche run --file {0} runs it", word));
}

}  // namespace

int run_command(const Options& given) {
  Options options = given;
  const std::string first_word = options.run.script;
  take_words_as_a_command(options.run);
  std::string script;
  if (!options.script_file.empty()) script = read_script(options.script_file);
  const OutPlaces places(options.copies);
  const std::unique_ptr<Engine> engine = jailed_engine(options, places);
  const std::unique_ptr<Sandbox> sandbox = engine->create(sandbox_options(options));
  if (!options.script_file.empty()) {
    options.run.argv = place_script(*sandbox, options.sandbox.mounts, options.script_file, script);
    options.run.argv.insert(options.run.argv.end(), options.run.arguments.begin(),
                            options.run.arguments.end());
  }
  options.run.stdin_fd = input_of(options);
  options.run.output = pass_on;
  const RunResult result = sandbox->run(options.run);
  if (!result.reason.empty()) complain(result.reason);
  explain_missing_file(first_word, result);
  return !places.copy_all(*sandbox) && result.exit_code == 0 ? failure : result.exit_code;
}

int prepare_command(const Options& options) {
  if (!options.ship_folder.empty()) {
    Engine::ship(engine_options(), options.ship_folder);
    return 0;
  }
  if (const auto folder = sandbox::usable_cache_folder(); !folder) {
    throw HostError(fmt::format("what is compiled cannot be kept: {}", folder.error().sentence()),
                    folder.error().code());
  }
  Engine engine(engine_options());
  engine.prepare();
  return 0;
}

}  // namespace cloche::cli
