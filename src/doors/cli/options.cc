// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "doors/cli/option_values.h"
#include "doors/cli/store_options.h"
#include "doors/mcp/hub.h"

namespace cloche::cli {
namespace {

// The options of `run` as text, before they are checked.
struct RunArguments {
  std::int64_t timeout_ms = 30'000;
  std::string memory;
  std::string file_limit;
  std::string cwd;
  std::string program_folder;
  std::string wheel_folder;
  std::string image;
  std::string engine;
  std::string user;
  std::vector<std::string> environment;
  std::vector<std::string> packages;
  std::vector<std::string> mounts;
  std::vector<std::string> network;
  std::vector<std::string> network_denials;
  std::vector<std::string> copies;
  std::vector<std::string> words;
  std::string script_file;
  bool use_stdin = false;
  bool no_stdin = false;
  bool trace = false;
  bool help = false;
};

void define_run(CLI::App& run, RunArguments& to) {
  run.set_help_flag();
  run.add_option("--timeout", to.timeout_ms);
  run.add_option("--memory", to.memory);
  run.add_option("--fs-limit", to.file_limit);
  run.add_option("--cwd", to.cwd);
  run.add_option("--wasm-dir", to.program_folder);
  run.add_option("--wheels", to.wheel_folder);
  run.add_option("--image", to.image);
  run.add_option("--engine", to.engine);
  run.add_option("--user", to.user);
  run.add_option("--env", to.environment)->expected(1)->take_all();
  run.add_option("--packages", to.packages)->expected(1)->take_all();
  run.add_option("--mount", to.mounts)->expected(1)->take_all();
  run.add_option("--net", to.network)->expected(1)->take_all();
  run.add_option("--net-deny", to.network_denials)->expected(1)->take_all();
  run.add_option("--out", to.copies)->expected(1)->take_all();
  run.add_option("-f,--file", to.script_file);
  run.add_flag("-i,--stdin", to.use_stdin);
  run.add_flag("-n,--no-stdin", to.no_stdin);
  run.add_flag("--trace-syscalls", to.trace);
  run.add_flag("-h,--help", to.help);
  run.add_option("script", to.words);
  // What follows the script is the script's, dashes or not.
  run.positionals_at_end(false);
  run.prefix_command(false);
}

// What of a command line is cloche's, and what the command's: the first word that is no option
// begins that, and all from there on is passed to it as it is.
struct CommandLine {
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool has_dashes = false;  // "--" stands between the two
};

CommandLine split_line(int argc, const char* const* argv) {
  static const std::vector<std::string> with_value{
      "--timeout", "--memory", "--fs-limit", "--cwd",  "--env",      "--packages",
      "--mount",   "--net",    "--net-deny", "--out",  "--wasm-dir", "--wheels",
      "--engine",  "--user",   "--image",    "--file", "-f"};
  CommandLine line;
  int i = 2;
  for (; i < argc && !line.has_dashes; ++i) {
    const std::string word = argv[i];
    if (word != "--" && (word.size() < 2 || word[0] != '-')) break;
    line.has_dashes = word == "--";
    if (line.has_dashes) continue;
    line.own.push_back(word);
    if (std::ranges::find(with_value, word) != with_value.end() && i + 1 < argc)
      line.own.push_back(argv[++i]);
  }
  line.command.assign(argv + std::min(i, argc), argv + argc);
  return line;
}

// All but the command itself.
Options sandbox_options(const RunArguments& given) {
  Options options;
  if (given.timeout_ms < 0) throw UsageError{"--timeout wants milliseconds, 0 for no limit"};
  // Ten years: a deadline stays within the clock's range.
  constexpr std::int64_t most_ms = std::int64_t{10} * 365 * 24 * 3600 * 1000;
  options.sandbox.timeout = std::chrono::milliseconds(std::min(given.timeout_ms, most_ms));
  if (!given.memory.empty())
    options.sandbox.memory_limit_bytes = bytes_option("--memory", given.memory);
  if (!given.file_limit.empty())
    options.sandbox.file_limit_bytes = bytes_option("--fs-limit", given.file_limit);
  for (const std::string& text : given.environment)
    options.sandbox.environment.insert(environment_option(text));
  for (const std::string& text : given.packages) {
    for (std::string& name : split_list(text)) options.sandbox.packages.push_back(std::move(name));
  }
  for (const std::string& text : given.mounts) options.sandbox.mounts.push_back(mount_option(text));
  if (!given.wheel_folder.empty()) {  // where pip looks for them
    options.sandbox.mounts.push_back(
        {given.wheel_folder, "/usr/share/wheels", Mount::Access::read_only});
  }
  options.sandbox.network.allow = given.network;
  options.sandbox.network.deny = given.network_denials;
  for (const std::string& text : given.copies) options.copies.push_back(copy_option(text));
  options.trace_syscalls = given.trace;
  options.run.cwd = given.cwd;
  options.sandbox.program_folder = given.program_folder;
  options.sandbox.image = given.image;
  options.sandbox.user = given.user;
  if (given.engine == "linux") options.sandbox.engine = EngineKind::native_linux;
  if (!given.engine.empty() && given.engine != "linux" && given.engine != "wasm")
    throw UsageError{"--engine is wasm or linux, not '" + given.engine + "'"};
  if (!given.user.empty() && options.sandbox.engine == EngineKind::wasm)
    throw UsageError{"--user is for --engine linux"};
  return options;
}

Options run_options(const RunArguments& given, CommandLine line) {
  Options options = sandbox_options(given);
  options.command = Command::run;
  if (given.use_stdin && given.no_stdin)
    throw UsageError{"run has standard input or has none: leave --stdin or --no-stdin out"};
  if (given.use_stdin) options.input = Input::standard;
  if (given.no_stdin) options.input = Input::none;
  std::vector<std::string>& words = line.command;
  options.script_file = given.script_file;
  if (options.script_file.empty()) {
    if (words.empty()) throw UsageError{"run wants a command: cloche run 'echo hello'"};
    if (words.front() == "-" && !line.has_dashes) {
      options.script_file = "-";
    } else {
      options.run.script = std::move(words.front());
    }
    words.erase(words.begin());
  }
  options.run.arguments = std::move(words);
  if (options.script_file == "-" && given.use_stdin)
    throw UsageError{"the script comes from standard input: nothing is left for --stdin"};
  return options;
}

// `cloche shell [OPTIONS] [ARG ...]`: the words are bash's own arguments.
Options shell_options(const RunArguments& given, std::vector<std::string> words) {
  if (given.use_stdin || given.no_stdin || !given.script_file.empty())
    throw UsageError{
        "shell reads standard input as it is: it has no --stdin, --no-stdin and --file"};
  Options options = sandbox_options(given);
  options.command = Command::shell;
  options.run.timeout = options.sandbox.timeout;
  if (words.empty()) return options;
  options.run.argv = {"bash"};
  options.run.argv.insert(options.run.argv.end(), std::make_move_iterator(words.begin()),
                          std::make_move_iterator(words.end()));
  return options;
}

// `run` and `shell`, which have the same options.
Options parse_run(int argc, const char* const* argv) {
  const std::string command = argv[1];
  CLI::App run;
  RunArguments given;
  if (command == "shell") given.timeout_ms = 0;
  define_run(run, given);
  CommandLine line = split_line(argc, argv);
  std::ranges::reverse(line.own);  // as CLI11 wants a vector
  try {
    run.parse(line.own);
  } catch (const CLI::ParseError& error) {
    throw UsageError{std::string(error.what()) + "; see cloche " + command + " --help"};
  }
  if (given.help) {
    Options options;
    options.help_topic = command;
    return options;
  }
  if (command == "shell") return shell_options(given, std::move(line.command));
  return run_options(given, std::move(line));
}

// `cloche image build [OPTIONS] [--exec FILE ...] -o FILE`, `cloche image show FILE`.
Options parse_image(int argc, const char* const* argv) {
  const std::string action = argc > 2 ? argv[2] : "--help";
  Options options;
  if (action == "--help" || action == "-h") {
    options.help_topic = "image";
    return options;
  }
  if (action == "show") {
    if (argc != 4) throw UsageError{"image show wants a file: cloche image show my.image"};
    options.command = Command::image_show;
    options.image_file = argv[3];
    return options;
  }
  if (action != "build") return parse_store_command(action, {argv + 3, argv + argc});
  CLI::App build;
  RunArguments given;
  given.timeout_ms = 0;
  define_run(build, given);
  std::vector<std::string> scripts;
  std::string output;
  build.add_option("--exec", scripts)->expected(1)->take_all();
  build.add_option("-o,--output", output);
  std::vector<std::string> own(argv + 3, argv + argc);
  std::reverse(own.begin(), own.end());  // as CLI11 wants a vector
  try {
    build.parse(own);
  } catch (const CLI::ParseError& error) {
    throw UsageError{std::string(error.what()) + "; see cloche image --help"};
  }
  if (given.help) {
    options.help_topic = "image";
    return options;
  }
  if (!given.words.empty())
    throw UsageError{"image build takes no '" + given.words.front() +
                     "'; scripts are named by --exec"};
  if (output.empty())
    throw UsageError{"image build wants to know where to: cloche image build -o my.image"};
  if (given.use_stdin || given.no_stdin || !given.script_file.empty() || !given.copies.empty())
    throw UsageError{"image build has no --stdin, --no-stdin, --file and --out"};
  options = sandbox_options(given);
  options.command = Command::image_build;
  options.setup_scripts = std::move(scripts);
  options.image_file = std::move(output);
  return options;
}

Options parse_rpc(int argc, const char* const* argv) {
  Options options;
  options.command = Command::rpc;
  const std::vector<std::string> words(argv + 2, argv + argc);
  if (words.empty()) return options;
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
    options.command = Command::help;
    options.help_topic = "rpc";
    return options;
  }
  if (words[0] != "--parent" || words.size() != 2)
    throw UsageError{"rpc takes --parent PID and nothing else; see cloche rpc --help"};
  const std::string& pid = words[1];
  const auto [end, error] =
      std::from_chars(pid.data(), pid.data() + pid.size(), options.parent_pid);
  if (error != std::errc() || end != pid.data() + pid.size() || options.parent_pid <= 0)
    throw UsageError{"--parent wants the number of a process; not '" + pid + "'"};
  return options;
}

Options parse_mcp(std::vector<std::string> words) {
  CLI::App app;
  RunArguments given;
  std::vector<std::string> limits;
  Options options;
  app.set_help_flag();
  app.add_option("--image", given.image);
  app.add_option("--packages", given.packages)->expected(1)->take_all();
  app.add_option("--mount", given.mounts)->expected(1)->take_all();
  app.add_option("--network", given.network)->expected(1)->take_all();
  app.add_option("--allow", options.allowed_rules)->expected(1)->take_all();
  app.add_option("--limits", limits)->expected(1)->take_all();
  app.add_option("--tools", options.tool_set);
  app.add_flag("-h,--help", given.help);
  std::ranges::reverse(words);  // as CLI11 wants a vector
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UsageError{std::string(error.what()) + "; see cloche mcp --help"};
  }
  if (given.help) {
    options.help_topic = "mcp";
    return options;
  }
  options.sandbox = sandbox_options(given).sandbox;
  if (given.packages.empty() && given.image.empty())
    options.sandbox.packages.assign(mcp::usual_packages.begin(), mcp::usual_packages.end());
  for (const std::string& text : limits) limits_option(text, options.sandbox);
  if (!mcp::tool_set_of(options.tool_set)) {
    throw UsageError{"--tools wants all, minimal or anthropic; not '" + options.tool_set + "'"};
  }
  options.command = Command::mcp;
  return options;
}

// Those that take one option, or none.
Options parse_short(const std::string& command, const std::vector<std::string>& words) {
  Options options;
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
    options.help_topic = command;
    return options;
  }
  if (command == "prepare") {
    options.command = Command::prepare;
    if (words.size() == 2 && words[0] == "--ship") {
      options.ship_folder = words[1];
    } else if (!words.empty()) {
      throw UsageError{"prepare takes --ship FOLDER and nothing else; see cloche prepare --help"};
    }
    return options;
  }
  options.command = command == "licenses" ? Command::licenses : Command::doctor;
  if (words.size() > 1 || (words.size() == 1 && words[0] != "--json"))
    throw UsageError{command + " takes --json and nothing else; see cloche " + command + " --help"};
  if (!words.empty()) options.list_format = ListFormat::json;
  return options;
}

}  // namespace

Options parse(int argc, const char* const* argv) {
  Options options;
  const std::string command = argc > 1 ? argv[1] : "--help";
  if (command == "run" || command == "shell") return parse_run(argc, argv);
  if (command == "help" || command == "--help" || command == "-h") {
    if (command == "help" && argc > 2) options.help_topic = argv[2];
    if (help_page(options.help_topic) == nullptr)
      throw UsageError{"there is no command '" + options.help_topic + "'; see cloche --help"};
    return options;
  }
  if (command == "--version" || command == "version") {
    options.command = Command::version;
    return options;
  }
  if (command == "rpc") return parse_rpc(argc, argv);
  if (command == "mcp") return parse_mcp({argv + 2, argv + argc});
  if (command == "image") return parse_image(argc, argv);
  if (command == "prepare" || command == "licenses" || command == "doctor")
    return parse_short(command, {argv + 2, argv + argc});
  throw UsageError{"there is no command '" + command + "'; see cloche --help"};
}

}  // namespace cloche::cli
