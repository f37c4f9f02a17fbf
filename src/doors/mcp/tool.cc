// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tool.h"

#include <algorithm>

namespace cloche::mcp {
namespace {

Progress::Tell teller_of(Request& request) {
  Reply token = request.progress_token();
  if (token.is_null()) return nullptr;
  return [&request, token = std::move(token)](double seconds, const std::string& line) {
    Reply params{{"progressToken", token}, {"progress", seconds}};
    if (!line.empty()) params["message"] = line;
    request.notify("notifications/progress", std::move(params));
  };
}

std::vector<Tool> sorted(std::vector<Tool> list) {
  std::ranges::sort(list, {}, &Tool::name);
  return list;
}

}  // namespace

Call::Call(Request& request, Peer& peer, const Arguments& arguments, std::shared_ptr<Box> box)
    : request_(request),
      peer_(peer),
      arguments_(arguments),
      box_(std::move(box)),
      progress_(peer.hub().timers(), teller_of(request)) {
  if (box_) on_close_.emplace(box_->closing(), end_);
}

const std::vector<Tool>& tools(ToolSet set) {
  static const std::vector<Tool> all =
      sorted({bash_tool(), python_tool(), process_tool(), read_file_tool(), write_file_tool(),
              edit_file_tool(), list_files_tool(), network_tool(), sandbox_create_tool(),
              sandbox_fork_tool(), sandbox_list_tool(), sandbox_delete_tool(), snapshot_tool()});
  static const std::vector<Tool> minimal =
      sorted({bash_tool(), python_tool(), read_file_tool(), write_file_tool(), edit_file_tool()});
  static const std::vector<Tool> anthropic = sorted({trained_bash_tool(), trained_editor_tool()});
  switch (set) {
    case ToolSet::all: return all;
    case ToolSet::minimal: return minimal;
    case ToolSet::anthropic: return anthropic;
  }
  return all;
}

Reply description_of(const Tool& tool) {
  Reply description{{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", schema_of(tool.parameters)}};
  if (!tool.output.empty()) description["outputSchema"] = Reply::parse(tool.output);
  description["annotations"] = {{"title", tool.title},
                                {"readOnlyHint", tool.effect == Tool::Effect::reads},
                                {"destructiveHint", tool.effect == Tool::Effect::destroys},
                                {"idempotentHint", tool.effect == Tool::Effect::reads},
                                {"openWorldHint", tool.world == Tool::World::open}};
  return description;
}

Parameter sandbox_parameter() {
  return {"sandbox", Parameter::Kind::word,
          "Which sandbox, by its name. Without it the one called default, which is made at its "
          "first use."};
}

}  // namespace cloche::mcp
