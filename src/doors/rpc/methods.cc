// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/methods.h"

#include <algorithm>
#include <array>

namespace cloche::rpc {
namespace {

constexpr std::array table{
    Method{"create", sandboxes::create, Order::queued, Needs::nothing},
    Method{"run", commands::run},
    Method{"files.write", files::write},
    Method{"files.read", files::read},
    Method{"files.list", files::list},
    Method{"files.mkdir", files::mkdir},
    Method{"files.rm", files::remove},
    Method{"files.stat", files::stat},
    Method{"env.set", sandboxes::set_environment},
    Method{"env.get", sandboxes::get_environment},
    Method{"kill", sandboxes::kill, Order::overtakes},

    Method{"cancel", commands::cancel, Order::overtakes},
    Method{"command.end", commands::end_input, Order::overtakes},
    Method{"command.kill", commands::kill, Order::overtakes},
    Method{"command.start", commands::start},
    Method{"command.write", commands::write, Order::overtakes},
    Method{"env.list", sandboxes::list_environment},
    Method{"figures", sandboxes::figures},
    Method{"files.chmod", files::chmod},
    Method{"files.glob", files::glob},
    Method{"files.rename", files::rename},
    Method{"files.symlink", files::symlink},
    Method{"files.tarIn", files::tar_in},
    Method{"files.tarOut", files::tar_out},
    Method{"history.clear", commands::clear_history},
    Method{"history.list", commands::history},
    Method{"packages.install", sandboxes::install_packages},
    Method{"packages.list", sandboxes::list_packages},
    Method{"persistence.export", sandboxes::export_state},
    Method{"persistence.import", sandboxes::import_state},
    Method{"ping", sandboxes::ping, Order::overtakes, Needs::nothing},
    Method{"python.execute", commands::python_execute, Order::queued, Needs::sandbox, Runs::python},
    Method{"sandbox.create", sandboxes::create_another, Order::queued, Needs::nothing},
    Method{"sandbox.destroy", sandboxes::destroy, Order::overtakes},
    Method{"sandbox.fork", sandboxes::fork},
    Method{"sandbox.list", sandboxes::list, Order::overtakes, Needs::nothing},
    Method{"snapshot.create", sandboxes::create_snapshot},
    Method{"snapshot.list", sandboxes::list_snapshots},
    Method{"snapshot.remove", sandboxes::remove_snapshot},
    Method{"snapshot.restore", sandboxes::restore_snapshot},
};

}  // namespace

std::span<const Method> methods() { return table; }

const Method* find_method(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Method::name);
  return found == table.end() ? nullptr : found;
}

std::shared_ptr<Place> Call::place() const {
  if (std::shared_ptr<Place> there = queue->place()) return there;
  throw RpcError{code::sandbox_error, "EINVAL: there is no sandbox: call create first"};
}

LiveSandbox Call::live() const {
  if (LiveSandbox there = place()->live()) return there;
  throw RpcError{code::sandbox_error, "EINVAL: there is no sandbox: call create first"};
}

}  // namespace cloche::rpc
