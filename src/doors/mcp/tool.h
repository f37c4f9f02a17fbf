// SPDX-License-Identifier: Apache-2.0
// Tools: what a model may ask for, each with its parameters and what it answers.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "doors/mcp/arguments.h"
#include "doors/mcp/peer.h"
#include "doors/mcp/progress.h"

namespace cloche::mcp {

struct ToolResult {
  std::string text;             // for a model, first
  Reply more = Reply::array();  // further content
  Reply structured = nullptr;   // null: the tool has none
  bool is_error = false;
};

// A call in progress, on a thread that may wait.
class Call {
 public:
  // `box` is null for a tool that works on names. All of them outlive it.
  Call(Request& request, Peer& peer, const Arguments& arguments, std::shared_ptr<Box> box);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Request& request() noexcept { return request_; }
  Peer& peer() noexcept { return peer_; }
  Hub& hub() noexcept { return peer_.hub(); }
  const Scope& scope() const noexcept { return peer_.scope(); }
  const Arguments& arguments() const noexcept { return arguments_; }
  Box& box() noexcept { return *box_; }
  LiveSandbox live() { return box_->live(); }
  Progress& progress() noexcept { return progress_; }
  // Asked to stop when the call is cancelled, or its sandbox deleted.
  std::stop_token stop() const { return stop_.get_token(); }

 private:
  Request& request_;
  Peer& peer_;
  const Arguments& arguments_;
  const std::shared_ptr<Box> box_;
  Progress progress_;
  std::stop_source stop_;
  const std::function<void()> end_ = [this] { stop_.request_stop(); };
  std::stop_callback<std::function<void()>> on_cancel_{request_.stop(), end_};
  std::optional<std::stop_callback<std::function<void()>>> on_close_;
};

struct Tool {
  enum class Target : std::uint8_t { sandbox, names };
  enum class Order : std::uint8_t { queued, overtakes };
  enum class Effect : std::uint8_t { reads, changes, destroys };
  enum class World : std::uint8_t { closed, open };

  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::vector<Parameter> parameters;
  std::string_view output;        // JSON Schema of what is structured; empty: nothing is
  ToolResult (*run)(Call& call);  // throws ToolError, or ProtocolError, or InputRequired
  Target target = Target::sandbox;
  Order order = Order::queued;
  Effect effect = Effect::changes;
  World world = World::closed;
  const char* lenient = nullptr;  // see Arguments
};

// By name.
const std::vector<Tool>& tools(ToolSet set);
// As tools/list tells it.
Reply description_of(const Tool& tool);

// The parameter that all tools which work in a sandbox have.
Parameter sandbox_parameter();

// The tools, by family.
Tool bash_tool();
Tool python_tool();
Tool process_tool();
Tool read_file_tool();
Tool write_file_tool();
Tool edit_file_tool();
Tool list_files_tool();
Tool network_tool();
Tool sandbox_create_tool();
Tool sandbox_fork_tool();
Tool sandbox_list_tool();
Tool sandbox_delete_tool();
Tool snapshot_tool();
Tool trained_bash_tool();    // as models know `bash_20250124`
Tool trained_editor_tool();  // as they know `text_editor_20250728`

}  // namespace cloche::mcp
