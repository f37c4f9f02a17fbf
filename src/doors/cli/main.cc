// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cloche/version.h"
#include "compiler/compile_main.h"
#include "doors/cli/commands.h"
#include "doors/cli/licenses.h"
#include "doors/cli/options.h"
#include "doors/cli/support.h"
#include "doors/serve/key_requests.h"
#include "doors/serve/route.h"
#include "doors/serve/serve.h"
#include "sandbox/host_folders.h"
#include "sandbox/options/mountable.h"

namespace {

constexpr int failure = 2;
constexpr int reader_gone = 141;  // as a command that SIGPIPE ends

// The server has options of its own; by the names of `sbs` the program is that.
std::optional<int> run_server(int argc, char** argv) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  const std::string name(path.substr(path.rfind('/') + 1));
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (name == cloche::compiler::program_name) return cloche::compiler::compile_main(argc, argv);
  if (name == "sbs" || name == "session-based-sandbox")
    return cloche::serve::sbs_command(name, words);
  if (words.size() == 2 && words[0] == "help") words = {words[1], "--help"};
  if (!words.empty() && words[0] == "route")
    return cloche::serve::route_command({words.begin() + 1, words.end()});
  if (!words.empty() && words[0] == "cells")
    return cloche::serve::cells_command({words.begin() + 1, words.end()});
  if (words.empty() || (words[0] != "serve" && words[0] != "sbs")) return std::nullopt;
  const bool is_sbs = words[0] == "sbs";
  words.erase(words.begin());
  return is_sbs ? cloche::serve::sbs_command("sbs", words) : cloche::serve::serve_command(words);
}

// A descriptor that is opened later would become standard input or output where the caller has
// closed those. Read-only: what is written to one that was closed fails, as without this.
void hold_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= 2) fd = ::open("/dev/null", O_RDONLY);
  if (fd > 2) ::close(fd);
}

int run(int argc, char** argv) {
  using namespace cloche::cli;
  cloche::sandbox::keep_guest_folders_in(cloche::sandbox::default_cache_folder());
  if (const std::optional<int> status = run_server(argc, argv)) return *status;
  if (argc == 3 && std::string_view(argv[1]) == "help" && std::string_view(argv[2]) == "skill")
    return skill_command({});
  if (argc > 1 && std::string_view(argv[1]) == "skill")
    return skill_command({argv + 2, argv + argc});
  const Options options = parse(argc, argv);
  cloche::sandbox::note_guest_folders(options.sandbox.mounts);
  switch (options.command) {
    case Command::run: return run_command(options);
    case Command::shell: return shell_command(options);
    case Command::image_build: return image_build_command(options);
    case Command::image_show: return image_show_command(options);
    case Command::image_pull: return image_pull_command(options);
    case Command::image_import: return image_import_command(options);
    case Command::image_list: return image_list_command(options);
    case Command::image_remove: return image_remove_command(options);
    case Command::image_make: return image_make_command(options);
    case Command::image_commit: return image_commit_command(options);
    case Command::prepare: return prepare_command(options);
    case Command::licenses: return licenses_command(options.list_format);
    case Command::doctor: return doctor_command(options);
    case Command::rpc: return rpc_command(options);
    case Command::mcp: return mcp_command(options);
    case Command::version: fmt::print("cloche {}\n", cloche::version); return 0;
    case Command::help: break;
  }
  fmt::print("{}", help_page(options.help_topic).value_or(std::string()));
  return 0;
}

// A program's code, a sandbox's memory and files are descriptors, and so is a connection: as many as
// the host lets the process have. What guests send each other may count for this process's user,
// and is then refused to it beyond its limit.
void take_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  take_all_descriptors();
  hold_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that is gone is an error of write
  std::signal(SIGXFSZ, SIG_IGN);  // so is a limit of file sizes
  try {
    const int status = run(argc, argv);
    // What was printed is out, or that is an error.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    if (errno == EPIPE) return reader_gone;
    cloche::cli::complain("cannot write to standard output");
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe) return reader_gone;
    cloche::cli::complain(error.what());
  } catch (const std::exception& error) {
    cloche::cli::complain(error.what());
  }
  return failure;
}
