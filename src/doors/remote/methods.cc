// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/methods.h"

#include <algorithm>
#include <array>

namespace cloche::remote {
namespace {

using rpc::Method;
using rpc::Needs;
using rpc::Order;

constexpr std::array table{
    Method{"events.subscribe", watching::events, Order::overtakes, Needs::nothing},
    Method{"processes.list", sessions::processes, Order::overtakes, Needs::nothing},
    Method{"processes.signal", sessions::signal, Order::overtakes, Needs::nothing},
    Method{"session.delete", sessions::remove, Order::overtakes, Needs::nothing},
    Method{"session.extend", sessions::extend, Order::overtakes, Needs::nothing},
    Method{"session.fork", sessions::fork, Order::overtakes, Needs::nothing},
    Method{"session.list", sessions::list, Order::overtakes, Needs::nothing},
    Method{"session.pause", sessions::pause, Order::overtakes, Needs::nothing},
    Method{"session.resume", sessions::resume, Order::overtakes, Needs::nothing},
    Method{"stats.subscribe", watching::stats, Order::overtakes, Needs::nothing},
    Method{"terminal.close", terminals::close, Order::overtakes, Needs::nothing},
    Method{"terminal.open", terminals::open, Order::overtakes, Needs::sandbox},
    Method{"terminal.resize", terminals::resize, Order::overtakes, Needs::nothing},
};

}  // namespace

const rpc::Method* find_method(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Method::name);
  return found == table.end() ? nullptr : found;
}

}  // namespace cloche::remote
