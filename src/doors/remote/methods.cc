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
    Method{"events.subscribe", watching::events,
           "[`sessionId`: absent: of all], [`since`: after the event of that number]",
           "ok, and from then on notifications `event`, instead of those of an earlier call",
           Order::overtakes, Needs::nothing},
    Method{"processes.list", sessions::processes, "[`sessionId`]",
           "`{processes: [{pid, ppid, command, state, cpuMs, memoryBytes, startedMs}]}`",
           Order::overtakes, Needs::nothing},
    Method{"processes.signal", sessions::signal, "[`sessionId`], `pid`, `signal`", "ok",
           Order::overtakes, Needs::nothing},
    Method{"session.delete", sessions::remove, "[`sessionId`]", "the session as it was",
           Order::overtakes, Needs::nothing},
    Method{"session.extend", sessions::extend, "[`sessionId`], [`ttl`]",
           "the session, which lives that long from now", Order::overtakes, Needs::nothing},
    Method{"session.fork", sessions::fork, "[`sessionId`], [`count` 1, at most 100]",
           "`{sessions}`: independent ones that go on from here, with its shell and its Python; "
           "all of them or none",
           Order::queued, Needs::nothing},  // it waits for a shell that is busy
    Method{"session.list", sessions::list, "[`limit` 50, at most 1000], [`offset`]",
           "`{sessions, total, limit, offset}`, the newest first", Order::overtakes,
           Needs::nothing},
    Method{"session.pause", sessions::pause, "[`sessionId`]",
           "the session; its processes end, all else stays", Order::overtakes, Needs::nothing},
    Method{"session.resume", sessions::resume, "[`sessionId`]", "the session", Order::overtakes,
           Needs::nothing},
    Method{"stats.subscribe", watching::stats, "[`intervalMs` 1000, 250 to 60000]",
           "ok, and from then on notifications `stats`", Order::overtakes, Needs::nothing},
    Method{"terminal.close", terminals::close, "`terminal`", "ok; it is hung up", Order::overtakes,
           Needs::nothing},
    Method{"terminal.open", terminals::open,
           "[`cols` 80], [`rows` 24: each 1 to 4096], [`command`: absent: the user's shell], "
           "[`cwd`], [`env`], "
           "[`attach`: the number of one that is there], [`window`: bytes, 65536 to 16777216]",
           "`{terminal}`, its number", Order::overtakes, Needs::sandbox},
    Method{"terminal.resize", terminals::resize, "`terminal`, `cols`, `rows`", "ok",
           Order::overtakes, Needs::nothing},
    Method{"terminal.taken", terminals::taken, "`terminal`, `bytes`", "ok", Order::overtakes,
           Needs::nothing},
};

}  // namespace

const rpc::Method* find_method(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Method::name);
  return found == table.end() ? nullptr : found;
}

}  // namespace cloche::remote
