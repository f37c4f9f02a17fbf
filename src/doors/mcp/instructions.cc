// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/instructions.h"

#include <fmt/format.h>

#include <ranges>

namespace cloche::mcp {
namespace {

constexpr std::string_view beginning =
    "A sandbox is a private Linux computer of yours: run what you like, nothing of the user's "
    "machine is in it. The one called default is there without further ado, in a millisecond.\n"
    "What you do stays: files, the shell's folder and variables, Python's names and imports, from "
    "call to call. Work in /workspace.\n";
constexpr std::string_view installed =
    "Installed: bash and the GNU tools, git, jq, ripgrep, curl, sqlite3, perl, node, and CPython "
    "with pip";
constexpr std::string_view on_all =
    "To try something out, fork the sandbox (sandbox_fork) or save a snapshot: files, shell and "
    "live Python go on in the copy, and the original stays as it is. Forks cost next to nothing.\n";
constexpr std::string_view on_figures =
    "Figures that Python shows (plt.show()) come back as pictures; any other file can be read "
    "with read_file, pictures too.\n";
constexpr std::string_view ending =
    "A command that runs long gives what it has written when its time is over; start servers and "
    "the like with 'background'.";

// As many as there is room for.
std::string commands_line(const std::vector<HostCommand>& commands) {
  constexpr std::size_t most = 250;
  if (commands.empty()) return {};
  std::string names;
  for (const HostCommand& command : commands) {
    if (names.size() + command.name.size() > most) {
      names += ", ... (/usr/lib/cloche/host-command lists all)";
      break;
    }
    names += (names.empty() ? "" : ", ") + command.name;
  }
  return fmt::format(
      "Tools of the user's that are commands in the shell and its pipes: {}; NAME --help.\n",
      names);
}

}  // namespace

std::string instructions(const HubOptions& options) {
  std::string text(beginning);
  if (options.sandbox.engine == EngineKind::native_linux) {
    constexpr std::size_t most_name = 100;
    text += fmt::format(
        "Installed is what the system image {} has, of which this is a Linux box at native speed; "
        "the tool python is its python3, and plt.show() shows what its matplotlib draws when the "
        "figure is left open",
        options.sandbox.image.string().substr(0, most_name));
  } else {
    text += installed;
  }
  const std::vector<std::string>& packages = options.sandbox.packages;
  constexpr std::size_t most_packages = 12;
  for (const std::string& package : packages | std::views::take(most_packages))
    text += ", " + package.substr(0, 40);
  text += packages.size() > most_packages ? " and others.\n" : ".\n";
  text += commands_line(options.sandbox.commands);
  const std::vector<std::string>& rules = options.sandbox.network.allow;
  // As many as there is room for.
  std::string names = fmt::format("{}", fmt::join(rules, ", "));
  constexpr std::size_t most = 200;
  if (names.size() > most) names = names.substr(0, names.rfind(',', most)) + " ...";
  text += rules.empty() ? "There is no network"
                        : fmt::format("Of the network there is {} and nothing else", names);
  text += options.tools == ToolSet::all ? "; the tool network asks the user for more.\n" : ".\n";
  if (options.tools == ToolSet::all) text += on_all;
  if (options.tools != ToolSet::anthropic) text += on_figures;
  if (options.tools == ToolSet::all) text += ending;
  return text;
}

}  // namespace cloche::mcp
