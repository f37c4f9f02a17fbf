// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>

#include "base/error.h"
#include "doors/cli/parse_words.h"
#include "doors/cli/store_options.h"
#include "doors/mcp/hub.h"
#include "sandbox/options/sandbox_option.h"

namespace cloche::cli {
namespace {

// The options of `run` as text, before they are checked.
struct RunArguments {
  std::map<std::string_view, std::vector<std::string>> sandbox;  // what was said, by flag
  std::string cwd;
  std::vector<std::string> copies;
  std::vector<std::string> words;
  std::string script_file;
  bool use_stdin = false;
  bool no_stdin = false;
  bool trace = false;
  bool help = false;
};

std::string flag_of(const sandbox::SandboxOption& option) {
  return "--" + std::string(option.flag);
}

void define_run(CLI::App& run, RunArguments& to) {
  run.set_help_flag();
  for (const sandbox::SandboxOption& option : sandbox::sandbox_options()) {
    if (option.flag.empty()) continue;
    CLI::Option* defined = run.add_option(flag_of(option), to.sandbox[option.flag])->expected(1);
    if (sandbox::is_repeatable(option)) defined->take_all();
  }
  run.add_option("--cwd", to.cwd);
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

// Which part of a command line is cloche's, and which the command's: the first word that is no option
// begins that, and all from there on is passed to it as it is.
struct CommandLine {
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool has_dashes = false;  // "--" stands between the two
};

bool has_value(std::string_view word) {
  constexpr std::array<std::string_view, 5> of_the_command{"--cwd", "--out", "--file", "-f",
                                                           "--state"};
  return std::ranges::find(of_the_command, word) != of_the_command.end() ||
         (word.starts_with("--") && sandbox::find_option(word.substr(2)) != nullptr);
}

CommandLine split_line(int argc, const char* const* argv) {
  CommandLine line;
  int i = 2;
  for (; i < argc && !line.has_dashes; ++i) {
    const std::string word = argv[i];
    if (word != "--" && (word.size() < 2 || word[0] != '-')) break;
    line.has_dashes = word == "--";
    if (line.has_dashes) continue;
    line.own.push_back(word);
    if (has_value(word) && i + 1 < argc) line.own.push_back(argv[++i]);
  }
  line.command.assign(argv + std::min(i, argc), argv + argc);
  return line;
}

// GUEST:HOST.
CopyOut copy_option(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == text.size()) {
    throw request_error("--out wants GUEST:HOST, a file of the sandbox and where to put it; not '" +
                        text + "'");
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

enum class UsualTimeout : std::uint8_t { as_the_table_says, none };

// All but the command itself.
Options sandbox_options(const RunArguments& given, UsualTimeout timeout) {
  Options options;
  if (timeout == UsualTimeout::none) options.sandbox.timeout = std::chrono::milliseconds(0);
  for (const sandbox::SandboxOption& option : sandbox::sandbox_options()) {
    const auto said = given.sandbox.find(option.flag);
    if (said == given.sandbox.end()) continue;
    for (const std::string& text : said->second)
      sandbox::set_option(options.sandbox, option, flag_of(option), text);
  }
  for (const std::string& text : given.copies) options.copies.push_back(copy_option(text));
  options.trace_syscalls = given.trace;
  options.run.cwd = given.cwd;
  return options;
}

Options run_options(const RunArguments& given, CommandLine line) {
  Options options = sandbox_options(given, UsualTimeout::as_the_table_says);
  options.command = Command::run;
  if (given.use_stdin && given.no_stdin)
    throw request_error("run has standard input or has none: leave --stdin or --no-stdin out");
  if (given.use_stdin) options.input = Input::standard;
  if (given.no_stdin) options.input = Input::none;
  std::vector<std::string>& words = line.command;
  options.script_file = given.script_file;
  if (options.script_file.empty()) {
    if (words.empty()) throw request_error("run wants a command: cloche run 'echo hello'");
    if (words.front() == "-" && !line.has_dashes) {
      options.script_file = "-";
    } else {
      options.run.script = std::move(words.front());
    }
    words.erase(words.begin());
  }
  options.run.arguments = std::move(words);
  if (options.script_file == "-" && given.use_stdin)
    throw request_error("the script comes from standard input: nothing is left for --stdin");
  return options;
}

// `cloche shell [OPTIONS] [ARG ...]`: the words are bash's own arguments.
Options shell_options(const RunArguments& given, std::vector<std::string> words) {
  if (given.use_stdin || given.no_stdin || !given.script_file.empty())
    throw request_error(
        "shell reads standard input as it is: it has no --stdin, --no-stdin and --file");
  Options options = sandbox_options(given, UsualTimeout::none);
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
  define_run(run, given);
  CommandLine line = split_line(argc, argv);
  parse_words(run, line.own, command);
  if (given.help) {
    Options options;
    options.help_topic = command;
    return options;
  }
  if (command == "shell") return shell_options(given, std::move(line.command));
  return run_options(given, std::move(line));
}

// `cloche image commit [OPTIONS] [--state FILE] NAME [COMMAND [ARG ...]]`
Options parse_commit(int argc, const char* const* argv) {
  CLI::App commit;
  RunArguments given;
  define_run(commit, given);
  std::string state;
  commit.add_option("--state", state);
  CommandLine line = split_line(argc - 1, argv + 1);
  parse_words(commit, line.own, "image");
  std::vector<std::string>& words = line.command;
  if (given.help) {
    Options options;
    options.help_topic = "image";
    return options;
  }
  if (words.empty())
    throw request_error(
        "image commit wants a name, and commands: cloche image commit --image debian NAME "
        "'apt-get install -y gcc'");
  if (given.use_stdin || given.no_stdin || !given.script_file.empty() || !given.copies.empty())
    throw request_error("image commit has no --stdin, --no-stdin, --file and --out");
  if (given.sandbox["engine"].empty()) given.sandbox["engine"] = {"linux"};
  Options options = sandbox_options(given, UsualTimeout::none);
  if (options.sandbox.engine != EngineKind::native_linux)
    throw request_error("image commit makes images of the linux engine: leave --engine out");
  options.command = Command::image_commit;
  options.image_name = std::move(words.front());
  options.state_file = std::move(state);
  words.erase(words.begin());
  if (!words.empty()) {
    options.run.script = std::move(words.front());
    words.erase(words.begin());
  } else if (options.state_file.empty()) {
    throw request_error("image commit wants commands, or a --state: there is nothing to keep");
  }
  options.run.arguments = std::move(words);
  return options;
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
    if (argc != 4) throw request_error("image show wants a file: cloche image show my.image");
    options.command = Command::image_show;
    options.image_file = argv[3];
    return options;
  }
  if (action == "commit") return parse_commit(argc, argv);
  if (action != "build") return parse_store_command(action, {argv + 3, argv + argc});
  CLI::App build;
  RunArguments given;
  define_run(build, given);
  std::vector<std::string> scripts;
  std::string output;
  build.add_option("--exec", scripts)->expected(1)->take_all();
  build.add_option("-o,--output", output);
  parse_words(build, {argv + 3, argv + argc}, "image");
  if (given.help) {
    options.help_topic = "image";
    return options;
  }
  if (!given.words.empty())
    throw request_error("image build takes no '" + given.words.front() +
                        "'; scripts are named by --exec");
  if (output.empty())
    throw request_error("image build wants to know where to: cloche image build -o my.image");
  if (given.use_stdin || given.no_stdin || !given.script_file.empty() || !given.copies.empty())
    throw request_error("image build has no --stdin, --no-stdin, --file and --out");
  options = sandbox_options(given, UsualTimeout::none);
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
    throw request_error("rpc takes --parent PID and nothing else; see cloche rpc --help");
  const std::string& pid = words[1];
  const auto [end, error] =
      std::from_chars(pid.data(), pid.data() + pid.size(), options.parent_pid);
  if (error != std::errc() || end != pid.data() + pid.size() || options.parent_pid <= 0)
    throw request_error("--parent wants the number of a process; not '" + pid + "'");
  return options;
}

// NAME=VALUE,...: limits of a sandbox, as `cloche mcp` calls them.
void set_limits(SandboxOptions& to, const std::string& text) {
  using Name = std::pair<std::string_view, std::string_view>;  // and the flag of `cloche run`
  constexpr std::array<Name, 6> names{{{"memory", "memory"},
                                       {"files", "fs-limit"},
                                       {"inodes", "fs-count"},
                                       {"processes", "processes"},
                                       {"open-files", "open-files"},
                                       {"cpus", "cpus"}}};
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string limit = text.substr(start, end - start);
    const std::size_t equals = std::min(limit.find('='), limit.size());
    const auto* known = std::ranges::find(names, limit.substr(0, equals), &Name::first);
    if (known == names.end()) {
      throw request_error(
          "--limits wants NAME=VALUE,... with the names memory, files, inodes, processes, "
          "open-files and cpus; not '" +
          limit + "'");
    }
    sandbox::set_option(to, *sandbox::find_option(known->second),
                        "--limits " + std::string(known->first),
                        limit.substr(std::min(equals + 1, limit.size())));
    start = end + 1;
  }
}

Options parse_mcp(std::vector<std::string> words) {
  CLI::App app;
  RunArguments given;
  std::vector<std::string> limits;
  Options options;
  app.set_help_flag();
  app.add_option("--engine", given.sandbox["engine"])->expected(1);
  app.add_option("--isolation", given.sandbox["isolation"])->expected(1);
  app.add_option("--image", given.sandbox["image"])->expected(1);
  app.add_option("--user", given.sandbox["user"])->expected(1);
  app.add_option("--packages", given.sandbox["packages"])->expected(1)->take_all();
  app.add_option("--mount", given.sandbox["mount"])->expected(1)->take_all();
  app.add_option("--network", given.sandbox["net"])->expected(1)->take_all();
  app.add_option("--allow", options.allowed_rules)->expected(1)->take_all();
  app.add_option("--limits", limits)->expected(1)->take_all();
  app.add_option("--tools", options.tool_set);
  app.add_option("--mount-tools", options.mounted_tools);
  app.add_flag("-h,--help", given.help);
  parse_words(app, std::move(words), "mcp");
  if (given.help) {
    options.help_topic = "mcp";
    return options;
  }
  options.sandbox = sandbox_options(given, UsualTimeout::as_the_table_says).sandbox;
  if (options.sandbox.packages.empty() && options.sandbox.image.empty() &&
      options.sandbox.engine == EngineKind::wasm)
    options.sandbox.packages.assign(mcp::usual_packages.begin(), mcp::usual_packages.end());
  for (const std::string& text : limits) set_limits(options.sandbox, text);
  if (!mcp::tool_set_of(options.tool_set)) {
    throw request_error("--tools wants all, minimal or anthropic; not '" + options.tool_set + "'");
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
      throw request_error(
          "prepare takes --ship FOLDER and nothing else; see cloche prepare --help");
    }
    return options;
  }
  options.command = command == "licenses" ? Command::licenses : Command::doctor;
  if (words.size() > 1 || (words.size() == 1 && words[0] != "--json"))
    throw request_error(command + " takes --json and nothing else; see cloche " + command +
                        " --help");
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
    if (!help_page(options.help_topic))
      throw request_error("there is no command '" + options.help_topic + "'; see cloche --help");
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
  throw request_error("there is no command '" + command + "'; see cloche --help");
}

}  // namespace cloche::cli
