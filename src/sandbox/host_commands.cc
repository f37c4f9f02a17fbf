// SPDX-License-Identifier: Apache-2.0
#include "sandbox/host_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "sandbox/shell_words.h"

namespace cloche::sandbox {

const std::string_view host_command_program_text =
    "The interpreter of commands that the host of this sandbox serves.\n";

namespace {

constexpr std::string_view folder = "/usr/local/bin/";
constexpr std::size_t name_max = 64;
constexpr std::size_t description_max_bytes = 64 << 10;
constexpr int status_failed = 1;
constexpr int status_cannot_execute = 126;

std::string path_of(std::string_view name) { return fmt::format("{}{}", folder, name); }

// How each of the files begins.
std::string first_line(std::string_view name) {
  return fmt::format("#!{} {}\n", host_command_program, name);
}

std::string script_of(std::string_view name) {
  return fmt::format(
      "{0}# A command that the host of this sandbox serves; {1} --help says what it does.\n"
      "exec {2} {1} \"$0\" \"$@\"\n",
      first_line(name), name, host_command_program);
}

bool is_name(std::string_view name) {
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && name.size() <= name_max && is_word(name.front()) &&
         std::ranges::all_of(
             name, [&](char c) { return is_word(c) || c == '.' || c == '+' || c == '-'; });
}

void check(const HostCommand& command) {
  const std::string shown = command.name.substr(0, name_max);
  if (!is_name(command.name)) {
    throw request_error(
        fmt::format("'{}' is no name of a command: say one of letters, digits and "
                    "_ . + -, {} at most, that does not begin with . + or -",
                    shown, name_max));
  }
  if (is_shell_word(command.name)) {
    throw request_error(
        fmt::format("'{}' is a word of the shell's own: give the command another name", shown),
        Errno::exist);
  }
  if (!command.handler) throw request_error(fmt::format("the command '{}' has no handler", shown));
  if (command.description.size() > description_max_bytes) {
    throw request_error(fmt::format("the description of '{}' has more than {} bytes", shown,
                                    description_max_bytes));
  }
}

// Whether the file is one of these, which may be replaced.
bool is_script(CommandFiles& files, std::string_view name) {
  const std::string line = first_line(name);
  return files.head(path_of(name), line.size()) == line;
}

void refuse_taken(CommandFiles& files, std::string_view name) {
  for (const std::string_view where :
       {folder, std::string_view("/usr/bin/"), std::string_view("/bin/")}) {
    const std::string path = fmt::format("{}{}", where, name);
    if (!files.has(path) || (where == folder && is_script(files, name))) continue;
    throw request_error(
        fmt::format("the sandbox has a program {} of its own: give the command another name", path),
        Errno::exist);
  }
}

// A sentence on standard error, as programs say what is wrong; and the status.
int complain(CommandProcess& process, std::string_view name, std::string_view what, int status) {
  (void)process.write(Stream::err, fmt::format("{}: {}\n", name, what));
  return status;
}

// What there is, each with the first line of its description.
int print_list(CommandProcess& process, const std::vector<HostCommand>& commands) {
  std::string text;
  for (const HostCommand& command : commands) {
    const std::string_view about = command.description;
    text += fmt::format("{}\t{}\n", command.name, about.substr(0, about.find('\n')));
  }
  return process.write(Stream::out, text) ? 0 : status_failed;
}

int print_help(CommandProcess& process, const HostCommand& command) {
  std::string text = command.description;
  if (!text.ends_with('\n')) text += '\n';
  return process.write(Stream::out, text) ? 0 : status_failed;
}

class Call final : public CommandCall {
 public:
  Call(CommandProcess& process, std::string name, std::vector<std::string> arguments)
      : process_(process), name_(std::move(name)), arguments_(std::move(arguments)) {
    for (const std::string& line : process_.environment()) {
      const std::size_t equals = line.find('=');
      if (equals != std::string::npos)
        environment_.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& arguments() const override { return arguments_; }
  const std::map<std::string, std::string>& environment() const override { return environment_; }
  const std::string& directory() const override { return process_.directory(); }

  Result<std::size_t> read(std::span<char> to) override { return process_.read(to); }
  Result<void> write(Stream stream, std::string_view bytes) override {
    return process_.write(stream, bytes);
  }
  Result<Ready> wait(const Ready& wanted) override { return process_.wait(wanted); }
  void wake() override { process_.wake(); }

 private:
  CommandProcess& process_;
  const std::string name_;
  const std::vector<std::string> arguments_;
  std::map<std::string, std::string> environment_;
};

// A call that counts, for as long as it lives.
class Counted {
 public:
  explicit Counted(std::atomic<std::size_t>& calls) : calls_(calls), number_(++calls) {}
  ~Counted() { --calls_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  std::size_t number() const noexcept { return number_; }

 private:
  std::atomic<std::size_t>& calls_;
  const std::size_t number_;
};

int run_command(CommandProcess& process, const HostCommand& command,
                std::vector<std::string> arguments) {
  const std::array<std::string, 1> help{"--help"};
  if (std::ranges::equal(arguments, help) && !command.description.empty())
    return print_help(process, command);
  try {
    Call call(process, command.name, std::move(arguments));
    return command.handler(call);
  } catch (const std::exception& problem) {
    return complain(process, command.name, problem.what(), status_failed);
  }
}

}  // namespace

HostCommands::HostCommands(std::vector<HostCommand> commands)
    : commands_(std::make_shared<const List>(std::move(commands))) {}

void HostCommands::set(std::vector<HostCommand> commands, CommandFiles& files) {
  if (commands.size() > limit)
    throw request_error(fmt::format("a sandbox has {} commands of the host at most", limit));
  std::ranges::sort(commands, {}, &HostCommand::name);
  const auto twice = std::ranges::adjacent_find(commands, {}, &HostCommand::name);
  if (twice != commands.end())
    throw request_error(fmt::format("two commands have the name '{}'", twice->name));
  for (const HostCommand& command : commands) {
    check(command);
    refuse_taken(files, command.name);
  }
  const std::shared_ptr<const List> before = current();
  const auto has = [](const List& list, const std::string& name) {
    return std::ranges::binary_search(list, name, {}, &HostCommand::name);
  };
  for (const HostCommand& command : commands) {
    const Result<void> written = files.write(path_of(command.name), script_of(command.name));
    if (written) continue;
    for (const HostCommand& other : commands) {
      if (!has(*before, other.name)) files.remove(path_of(other.name));
    }
    throw Error(ErrorKind::sandbox, written.error(),
                fmt::format("the file of the command '{}' cannot be written: {}", command.name,
                            errno_info(written.error()).message));
  }
  for (const HostCommand& old : *before) {
    if (!has(commands, old.name) && is_script(files, old.name)) files.remove(path_of(old.name));
  }
  const MutexLock lock(mutex_);
  commands_ = std::make_shared<const List>(std::move(commands));
}

std::shared_ptr<const HostCommands::List> HostCommands::current() const {
  const MutexLock lock(mutex_);
  return commands_;
}

std::vector<HostCommand> HostCommands::list() const { return *current(); }

int HostCommands::run(CommandProcess& process) noexcept try {
  // The interpreter, the name in the file's first line, the file, and what it was given.
  constexpr std::size_t before_arguments = 3;
  const std::vector<std::string>& argv = process.argv();
  const std::shared_ptr<const List> commands = current();
  if (argv.size() < before_arguments) return print_list(process, *commands);
  const std::string& name = argv[1];
  const auto found = std::ranges::lower_bound(*commands, name, {}, &HostCommand::name);
  if (found == commands->end() || found->name != name) {
    return complain(process, name.substr(0, name_max),
                    "nobody serves this command of the host: give the sandbox its commands again",
                    status_cannot_execute);
  }
  const Counted counted(calls_);
  if (counted.number() > calls_limit) {
    return complain(process, name,
                    fmt::format("{} commands of the host run already, as many as may", calls_limit),
                    status_cannot_execute);
  }
  return run_command(process, *found, {argv.begin() + before_arguments, argv.end()});
} catch (...) {  // no memory
  return status_failed;
}

}  // namespace cloche::sandbox
