// SPDX-License-Identifier: Apache-2.0
// tools/call: finds the tool and the sandbox, waits for its turn there, and says how it went.
#include <fmt/format.h>

#include "base/utf8.h"
#include "doors/mcp/consent.h"
#include "doors/mcp/content.h"
#include "doors/mcp/methods.h"
#include "doors/mcp/subscriptions.h"

namespace cloche::mcp {
namespace {

ToolResult failed(const std::string& sentence) { return {.text = sentence, .is_error = true}; }

Reply reply_of(ToolResult result) {
  Reply content = Reply::array({text_content(result.text)});
  for (Reply& more : result.more) content.push_back(std::move(more));
  Reply reply{{"content", std::move(content)}};
  if (!result.structured.is_null()) reply["structuredContent"] = std::move(result.structured);
  reply["isError"] = result.is_error;
  return reply;
}

// One call, from its message to its answer.
class ToolCall {
 public:
  ToolCall(std::shared_ptr<Request> request, Peer& peer, const Tool& tool)
      : request_(std::move(request)), peer_(peer.shared_from_this()), tool_(tool) {
    if (const Json* given = member(request_->params(), "arguments")) given_ = given;
  }

  // Checks what was given, and has it done. Throws ToolError.
  static void begin(std::shared_ptr<ToolCall> self) {
    self->arguments_.emplace(self->tool_.parameters, *self->given_, self->tool_.lenient);
    if (self->tool_.target == Tool::Target::names)
      return self->peer_->hub().pool().post([self] { self->run(); }, self->peer_->scope().owner);
    self->box_ = self->peer_->hub().box(
        self->peer_->scope(), self->arguments_->optional_text("sandbox").value_or(default_name));
    if (self->tool_.order == Tool::Order::overtakes)
      return self->box_->post_at_once([self] { self->run(); });
    if (!self->box_->post([self] { self->run(); })) {
      throw ToolError{
          fmt::format("EAGAIN: {} calls wait for this sandbox already", Box::waiting_limit)};
    }
  }

 private:
  void run() noexcept {
    if (request_->stop().stop_requested()) return;  // before its turn
    try {
      request_->finish(reply_of(serve()));
    } catch (InputRequired& required) {
      request_->finish(std::move(required.result));
    } catch (const ProtocolError& error) {
      request_->fail(error);
    } catch (const std::bad_alloc&) {
      request_->fail({code::internal_error, "the server has no memory for this"});
    }
    if (box_ && tool_.effect != Tool::Effect::reads) peer_->scope().subscriptions->look(box_);
  }

  ToolResult serve() {
    try {
      Call call(*request_, *peer_, *arguments_, box_);
      return tool_.run(call);
    } catch (const ToolError& error) {
      return failed(error.sentence);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& problem) {
      return failed(fmt::format("EIO: {}", problem.what()));
    }
  }

  const std::shared_ptr<Request> request_;
  const std::shared_ptr<Peer> peer_;
  const Tool& tool_;
  const Json none_;
  const Json* given_ = &none_;
  std::optional<Arguments> arguments_;
  std::shared_ptr<Box> box_;
};

}  // namespace

void call_tool(const std::shared_ptr<Request>& request, Peer& peer) {
  const std::string_view name = text_member(request->params(), "name");
  const std::vector<Tool>& all = tools(peer.hub().options().tools);
  const auto tool = std::ranges::find(all, name, &Tool::name);
  if (tool == all.end())
    throw ProtocolError{code::invalid_params, fmt::format("there is no tool '{}'", shown(name))};
  try {
    ToolCall::begin(std::make_shared<ToolCall>(request, peer, *tool));
  } catch (const ToolError& error) {
    request->finish(reply_of(failed(error.sentence)));
  }
}

}  // namespace cloche::mcp
