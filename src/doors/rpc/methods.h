// SPDX-License-Identifier: Apache-2.0
// The methods of the door, as one table, from which docs/rpc.md has its own.
#pragma once

#include <span>
#include <string_view>

#include "doors/rpc/connection.h"
#include "doors/rpc/params.h"

namespace cloche::rpc {

// A request that is being served.
struct Call {
  Connection& connection;
  std::shared_ptr<SandboxQueue> queue;
  const Reply& id;
  Params params;
  std::function<void()> after = {};  // called once the answer is on its way

  // Throws Error when there is none (yet, or any more).
  LiveSandbox live() const;
  std::shared_ptr<Subject> subject() const;
  std::shared_ptr<Sandbox> sandbox() const { return live().sandbox; }
};

enum class Order : std::uint8_t { queued, overtakes };
enum class Needs : std::uint8_t { nothing, sandbox };

struct Method {
  std::string_view name;
  Reply (*serve)(Call& call);  // throws RpcError, WrongMember, Error
  // In words, for docs/rpc.md: what is in brackets may be absent.
  std::string_view parameters;
  std::string_view result;
  Order order = Order::queued;
  Needs needs = Needs::sandbox;
  Runs runs = Runs::commands;
};

std::span<const Method> methods();
// Null when there is none of that name.
const Method* find_method(std::string_view name);

// A sandbox as the parameters of `create` ask for it.
std::unique_ptr<Sandbox> create_sandbox(Connection& connection, const Params& params);

inline Reply ok() { return {{"ok", true}}; }

// The methods, by family.
namespace files {
Reply write(Call& call);
Reply read(Call& call);
Reply list(Call& call);
Reply mkdir(Call& call);
Reply remove(Call& call);
Reply stat(Call& call);
Reply rename(Call& call);
Reply glob(Call& call);
Reply chmod(Call& call);
Reply symlink(Call& call);
Reply tar_out(Call& call);
Reply tar_in(Call& call);
}  // namespace files

namespace commands {
const char* name_of(RunStatus status);
Reply run(Call& call);
Reply start(Call& call);
Reply write(Call& call);
Reply end_input(Call& call);
Reply kill(Call& call);
Reply cancel(Call& call);
Reply history(Call& call);
Reply clear_history(Call& call);
Reply python_execute(Call& call);
}  // namespace commands

namespace client_commands {
// From now on the client serves these, as `commands` of a request says them, in the sandbox of
// `subject`, which it knows by the queue. Throws RpcError and Error.
void give(Connection& connection, SandboxQueue& queue, Subject& subject, const Json& commands);
Reply set(Call& call);
Reply read(Call& call);
Reply write(Call& call);
}  // namespace client_commands

namespace python_states {
Reply snapshot(Call& call);
Reply restore(Call& call);
Reply clear(Call& call);
Reply save_image(Call& call);
Reply load_image(Call& call);
}  // namespace python_states

namespace sandboxes {
Reply create(Call& call);
Reply create_another(Call& call);
Reply fork(Call& call);
Reply list(Call& call);
Reply destroy(Call& call);
Reply kill(Call& call);
Reply set_environment(Call& call);
Reply get_environment(Call& call);
Reply list_environment(Call& call);
Reply install_packages(Call& call);
Reply list_packages(Call& call);
Reply figures(Call& call);
Reply create_snapshot(Call& call);
Reply restore_snapshot(Call& call);
Reply list_snapshots(Call& call);
Reply remove_snapshot(Call& call);
Reply export_state(Call& call);
Reply import_state(Call& call);
Reply ping(Call& call);
}  // namespace sandboxes

}  // namespace cloche::rpc
