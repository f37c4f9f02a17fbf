#include "doors/cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

namespace cloche::cli {
namespace {

// "1048576", "512K", "256M", "2G": bytes, in powers of 1024.
std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with("iB")) unit.remove_suffix(2);
  int shift = 0;
  if (unit == "K" || unit == "k") {
    shift = 10;
  } else if (unit == "M" || unit == "m") {
    shift = 20;
  } else if (unit == "G" || unit == "g") {
    shift = 30;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

std::uint64_t bytes_option(const std::string& name, const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) {
    throw UsageError{name + " wants a number of bytes, such as 268435456, 512K, 256M or 2G; not '" +
                     text + "'"};
  }
  return *bytes;
}

std::pair<std::string, std::string> environment_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw UsageError{"--env wants NAME=VALUE; not '" + text + "'"};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Mount mount_option(std::string text) {
  const std::string given = text;
  Mount mount;
  mount.access = Mount::Access::read_write;
  if (text.ends_with(":ro") || text.ends_with(":rw")) {
    if (text.ends_with(":ro")) mount.access = Mount::Access::read_only;
    text.resize(text.size() - 3);
  }
  const std::size_t colon = text.rfind(":/");
  if (colon == 0 || colon == std::string::npos) {
    throw UsageError{"--mount wants HOST:GUEST or HOST:GUEST:ro, GUEST an absolute path; not '" +
                     given + "'"};
  }
  mount.host_folder = text.substr(0, colon);
  mount.guest_path = text.substr(colon + 1);
  std::error_code error;
  if (!std::filesystem::is_directory(mount.host_folder, error)) {
    throw UsageError{"--mount: '" + mount.host_folder.string() +
                     "' is not a folder of this machine"};
  }
  return mount;
}

CopyOut copy_option(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == text.size()) {
    throw UsageError{"--out wants GUEST:HOST, a file of the sandbox and where to put it; not '" +
                     text + "'"};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    if (end > start) items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return items;
}

// The options of `run` as text, before they are checked.
struct RunArguments {
  std::int64_t timeout_ms = 30'000;
  std::string memory;
  std::string file_limit;
  std::string cwd;
  std::string program_folder;
  std::string wheel_folder;
  std::string image;
  std::vector<std::string> environment;
  std::vector<std::string> packages;
  std::vector<std::string> mounts;
  std::vector<std::string> network;
  std::vector<std::string> copies;
  std::vector<std::string> words;
  bool use_stdin = false;
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
  run.add_option("--env", to.environment)->expected(1)->take_all();
  run.add_option("--packages", to.packages)->expected(1)->take_all();
  run.add_option("--mount", to.mounts)->expected(1)->take_all();
  run.add_option("--net", to.network)->expected(1)->take_all();
  run.add_option("--out", to.copies)->expected(1)->take_all();
  run.add_flag("--stdin", to.use_stdin);
  run.add_flag("--trace-syscalls", to.trace);
  run.add_flag("-h,--help", to.help);
  run.add_option("script", to.words);
  // What follows the script is the script's, dashes or not.
  run.positionals_at_end(false);
  run.prefix_command(false);
}

// The first word that is no option begins the script: all from there on is passed to it as it is.
std::vector<std::string> own_part(int argc, const char* const* argv,
                                  std::vector<std::string>& script) {
  static const std::vector<std::string> with_value{
      "--timeout", "--memory", "--fs-limit", "--cwd",      "--env",    "--packages",
      "--mount",   "--net",    "--out",      "--wasm-dir", "--wheels", "--image"};
  std::vector<std::string> own;
  int i = 2;
  for (; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    own.push_back(word);
    if (std::find(with_value.begin(), with_value.end(), word) != with_value.end() && i + 1 < argc)
      own.push_back(argv[++i]);
  }
  script.assign(argv + std::min(i, argc), argv + argc);
  return own;
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
  for (const std::string& text : given.copies) options.copies.push_back(copy_option(text));
  options.trace_syscalls = given.trace;
  options.run.cwd = given.cwd;
  options.sandbox.program_folder = given.program_folder;
  options.sandbox.image = given.image;
  return options;
}

Options run_options(const RunArguments& given, std::vector<std::string> script) {
  Options options = sandbox_options(given);
  options.command = Command::run;
  options.run.stdin_fd = given.use_stdin ? 0 : -1;
  if (script.empty()) throw UsageError{"run wants a command: cloche run 'echo hello'"};
  options.run.script = std::move(script.front());
  options.run.arguments.assign(std::make_move_iterator(std::next(script.begin())),
                               std::make_move_iterator(script.end()));
  return options;
}

// `cloche shell [OPTIONS] [ARG ...]`: the words are bash's own arguments.
Options shell_options(const RunArguments& given, std::vector<std::string> words) {
  if (given.use_stdin) throw UsageError{"shell reads standard input as it is: leave --stdin out"};
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
  std::vector<std::string> script;
  std::vector<std::string> own = own_part(argc, argv, script);
  std::reverse(own.begin(), own.end());  // as CLI11 wants a vector
  try {
    run.parse(own);
  } catch (const CLI::ParseError& error) {
    throw UsageError{std::string(error.what()) + "; see cloche " + command + " --help"};
  }
  if (given.help) {
    Options options;
    options.help_topic = command;
    return options;
  }
  if (command == "shell") return shell_options(given, std::move(script));
  return run_options(given, std::move(script));
}

}  // namespace

namespace {

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
  if (action != "build")
    throw UsageError{"image has build and show, not '" + action + "'; see cloche image --help"};
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
  if (given.use_stdin || !given.copies.empty())
    throw UsageError{"image build has no --stdin and no --out"};
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

}  // namespace

Options parse(int argc, const char* const* argv) {
  Options options;
  const std::string command = argc > 1 ? argv[1] : "--help";
  if (command == "run" || command == "shell") return parse_run(argc, argv);
  if (command == "help" || command == "--help" || command == "-h") {
    if (command == "help" && argc > 2) options.help_topic = argv[2];
    return options;
  }
  if (command == "--version" || command == "version") {
    options.command = Command::version;
    return options;
  }
  if (command == "rpc") return parse_rpc(argc, argv);
  if (command == "image") return parse_image(argc, argv);
  if (command == "licenses") {
    options.command = Command::licenses;
    if (argc > 3 || (argc == 3 && std::string_view(argv[2]) != "--json"))
      throw UsageError{"licenses takes --json and nothing else"};
    if (argc == 3) options.list_format = ListFormat::json;
    return options;
  }
  if (command == "prepare") {
    if (argc == 4 && std::string_view(argv[2]) == "--ship") {
      options.ship_folder = argv[3];
    } else if (argc > 2) {
      throw UsageError{"prepare takes --ship FOLDER and nothing else"};
    }
    options.command = Command::prepare;
    return options;
  }
  throw UsageError{"there is no command '" + command + "'; see cloche --help"};
}

}  // namespace cloche::cli
