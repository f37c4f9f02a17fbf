// SPDX-License-Identifier: Apache-2.0
// What the command line of `cloche` asks for, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloche/run.h"
#include "cloche/sandbox.h"
#include "doors/cli/licenses.h"
#include "native/images/blob_cache.h"

namespace cloche::cli {

enum class Command : std::uint8_t {
  run,
  shell,
  image_build,
  image_show,
  image_pull,
  image_import,
  image_list,
  image_remove,
  image_make,
  image_commit,
  prepare,
  licenses,
  doctor,
  rpc,
  mcp,
  help,
  version
};

// A file to copy out of the sandbox when the command has ended.
struct CopyOut {
  std::string guest_path;
  std::string host_path;
};

// What `run` gives its command as standard input.
enum class Input : std::uint8_t {
  automatic,  // cloche's own, unless that is a terminal
  standard,   // cloche's own, whatever it is
  none,       // nothing
};

struct Options {
  Command command = Command::help;
  std::string help_topic;  // a command's name, or empty
  SandboxOptions sandbox;
  RunOptions run;
  Input input = Input::automatic;
  // Of `run`: a file of this machine, or - for standard input, to run in place of run.script;
  // empty: none. Its words are run.arguments.
  std::string script_file;
  std::vector<CopyOut> copies;
  bool trace_syscalls = false;
  ListFormat list_format = ListFormat::text;  // of `licenses` and `doctor`
  std::string ship_folder;  // of `prepare`: where portable machine code goes; empty: nowhere
  std::string image_file;   // of `image`: the file, or what is imported, or pulled
  std::string
      image_name;  // of the store of system images; of `image import` empty: the source's own
  std::string state_file;  // of `image commit`: what a sandbox was; empty: it begins anew
  images::PullOptions pull;
  std::string suite;                        // of `image make debian`
  std::vector<std::string> image_packages;  // the same
  std::vector<std::string> setup_scripts;   // of `image build`, in their order
  std::vector<std::string> allowed_rules;   // of `mcp`: of the network, without asking
  std::string tool_set = "all";             // of `mcp`
  std::string mounted_tools;                // of `mcp`: a file of tool servers; empty: none
  int parent_pid = 0;                       // of `rpc`: the process with which it ends; 0: none
};

// Reads argv. Throws an Error of kind request for a line that cannot be understood.
Options parse(int argc, const char* const* argv);

// The page of a command, or of all of them; nothing where there is no such command.
std::optional<std::string> help_page(const std::string& topic);

}  // namespace cloche::cli
