// SPDX-License-Identifier: Apache-2.0
// python.*: the state of the sandbox's live interpreter, as bytes or as a file of the host.
#include <filesystem>

#include "base/base64.h"
#include "doors/rpc/methods.h"
#include "doors/rpc/python_turn.h"

namespace cloche::rpc::python_states {
namespace {

SnapshotOptions snapshot_options_of(const Params& params) {
  SnapshotOptions options;
  const std::string action = params.optional_text("onUnpicklable").value_or("fail");
  if (action != "fail" && action != "leaveOut")
    throw RpcError{code::invalid_params, "'onUnpicklable' must be \"fail\" or \"leaveOut\""};
  if (action == "leaveOut") options.on_unpicklable = SnapshotOptions::OnUnpicklable::leave_out;
  options.max_bytes = params.optional_count("maxBytes", {.least = 0, .most = payload_limit_bytes})
                          .value_or(options.max_bytes);
  return options;
}

// A file of this machine that the client names.
std::filesystem::path state_path(Call& call) {
  std::string path = call.params.word("path");
  call.connection.backend().admit_host_path("path");
  return path;
}

template <typename Work>
Reply with_image(Call& call, Work work) {
  const std::filesystem::path path = state_path(call);
  const LiveSandbox live = call.live();
  const PythonTurn turn(call);
  work(*live.python, path);
  return ok();
}

}  // namespace

Reply snapshot(Call& call) {
  const SnapshotOptions options = snapshot_options_of(call.params);
  const LiveSandbox live = call.live();
  const PythonTurn turn(call);
  const PythonState state = must(live.python->snapshot_state(options));
  Reply left_out = Reply::array();
  for (const LeftOut& one : state.left_out)
    left_out.push_back({{"name", one.name}, {"reason", one.reason}});
  return {{"data", to_base64(state.bytes)}, {"leftOut", std::move(left_out)}};
}

Reply restore(Call& call) {
  const std::string bytes = call.params.bytes("data");
  const LiveSandbox live = call.live();
  const PythonTurn turn(call);
  must(live.python->restore_state(bytes));
  return ok();
}

Reply clear(Call& call) {
  const LiveSandbox live = call.live();
  const PythonTurn turn(call);
  must(live.python->clear_state());
  return ok();
}

Reply save_image(Call& call) {
  return with_image(call, [](PythonSession& python, const std::filesystem::path& path) {
    python.checkpoint(path);
  });
}

Reply load_image(Call& call) {
  return with_image(
      call, [](PythonSession& python, const std::filesystem::path& path) { python.restore(path); });
}

}  // namespace cloche::rpc::python_states
