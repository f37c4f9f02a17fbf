// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/methods.h"

#include <algorithm>
#include <array>

namespace cloche::rpc {
namespace {

constexpr std::array table{
    Method{
        "create", sandboxes::create,
        "[`timeoutMs` 30000: wall clock of a command, 0 for none], [`fsLimitBytes` 268435456: "
        "these two and their like may be texts such as `\"30s\"` and `\"512m\"`], [`packages`: "
        "names], [`env`: object], [`mounts`: list of `{host, guest, [readOnly]}`], [`network`: "
        "rules of what it may reach, as a list or as `{allow, [deny], [maxConnections], "
        "[maxTotalConnections], [maxBytes], [connectTimeoutMs], [idleTimeoutMs], "
        "[trustedCertificates], [secrets: {NAME: {value, hosts}}]}`; absent: nothing], "
        "[`wasmDir`: a folder of programs, `NAME.wasm` is the command NAME], [`image`: a file "
        "of `persistence.export`, or of `cloche image build`], [`engine` wasm, or linux: then "
        "`image` is a name of `cloche image list`], [`isolation` full, or gvisor with the linux "
        "engine], [`user`: its name, or ID[:ID] with the linux engine], [`limits`: `{memoryBytes, "
        "cpus, "
        "processes, fileCount, openFiles}`], [`commands` that the client serves: list of `{name, "
        "[description]}`], [`progress`: tell what takes long]; "
        "[options.md](options.md) has units and defaults",
        "ok", Order::queued, Needs::nothing},
    Method{"run", commands::run,
           "`command`, [`cwd`], [`env`], [`stdin` text or `stdinBase64`], [`timeoutMs`], "
           "[`stream`], [`encoding`], [`outputLimitBytes` 67108864], [`detail`], [`figures`]",
           "`{exitCode, stdout, stderr, executionTimeMs}`; exit code 124 over its time, 137 when "
           "cancelled. `detail` adds `status` (`exited`, `signaled`, `timedOut`, `killed`, "
           "`notStarted`), `signal`, `reason`, `stdoutTruncated`, `stderrTruncated`. `figures` "
           "adds what Python programs of the command have shown (`plt.show()`): `figures: [{path, "
           "mimeType, data}]`"},
    Method{"files.write", files::write,
           "`path`, `data`, [`append`], [`mode`]; folders on the way are made", "ok"},
    Method{"files.read", files::read, "`path`, [`offset`], [`length`]",
           "`{data}`; 256 MiB at most in one answer"},
    Method{"files.list", files::list, "`path`, [`detail`]",
           "`{entries: [{name, type, size}]}`, by name; `type` is `file` or `dir`, of what a link "
           "leads to. `detail` adds `mode`, `modifiedMs`, `createdMs`, `target`, and the types "
           "`symlink` and `other`"},
    Method{"files.mkdir", files::mkdir,
           "`path`, [`parents`: make those too, and be content when it is there]", "ok"},
    Method{"files.rm", files::remove, "`path`, [`recursive`]", "ok"},
    Method{"files.stat", files::stat, "`path`, [`detail`: of a link itself]",
           "`{name, type, size}`"},
    Method{"env.set", sandboxes::set_environment, "`name`, `value`",
           "ok; for the commands that follow. `E2BIG` beyond 2 MiB of all"},
    Method{"env.get", sandboxes::get_environment, "`name`",
           "`{value}`: string or null, as the next command gets it: what commands have exported or "
           "unset counts"},
    Method{"kill", sandboxes::kill, "", "ok, and then the server ends", Order::overtakes},

    Method{
        "call.read", client_commands::read, "`call`, [`bytes` 65536 more of its input]",
        "ok; they come as `call.input`. `EAGAIN` where more than 1 MiB is asked for and not there "
        "yet, `ECANCELED` where the call has ended",
        Order::overtakes, Needs::nothing},
    Method{"call.write", client_commands::write, "`call`, `data`, [`stream` `stdout` or `stderr`]",
           "ok; `EAGAIN` where more than 1 MiB would not be taken yet, `ECANCELED` where the call "
           "has ended, what a write before has failed with (`EPIPE`, `ENOSPC`, ...)",
           Order::overtakes, Needs::nothing},
    Method{"cancel", commands::cancel, "[`id` of a request; absent: all requests for the sandbox]",
           "`{ok, [cancelled]}`; a command that runs ends with 137 and with all that it has "
           "started, as at its time limit, Python code gets an exception and keeps its names, a "
           "request that waits is answered with `ECANCELED`. What requests before have left goes "
           "on: a live Python, background jobs, commands of `command.start`",
           Order::overtakes},
    Method{"command.end", commands::end_input, "`command`", "ok; its input ends", Order::overtakes},
    Method{"command.kill", commands::kill, "`command`, [`signal` 9]", "ok", Order::overtakes},
    Method{
        "command.start", commands::start,
        "`script`, [`cwd`], [`env`], [`timeoutMs`: absent: no limit], [`account` `user`, or `root` "
        "of the sandbox]",
        "`{command}`, a number: it runs in a shell of its own beside other requests, and is "
        "told of by notifications"},
    Method{"command.write", commands::write, "`command`, `data` for its standard input",
           "ok; `EAGAIN` where it leaves 16 MiB unread", Order::overtakes},
    Method{"commands.set", client_commands::set, "`commands`, as in `create`",
           "ok; these instead of those that the sandbox had from the host"},
    Method{"env.list", sandboxes::list_environment, "", "`{env}`, the same for all variables"},
    Method{"figures", sandboxes::figures, "", "`{fileBytes, fileInodes, memoryBytes, processes}`"},
    Method{"files.chmod", files::chmod, "`path`, `mode` number", "ok"},
    Method{"files.glob", files::glob, "`pattern`: `*`, `?`, `[...]`, `**`", "`{paths}`, sorted"},
    Method{"files.rename", files::rename, "`from`, `to`", "ok"},
    Method{"files.symlink", files::symlink, "`target`, `path`", "ok"},
    Method{"files.tarIn", files::tar_in, "`path` of a folder, `data`", "ok"},
    Method{"files.tarOut", files::tar_out, "`path`",
           "`{data}`: a folder's content, or one file, as a tar archive"},
    Method{"history.clear", commands::clear_history, "", "ok"},
    Method{"history.list", commands::history, "",
           "`{entries: [{index, command, exitCode, timestamp, executionTimeMs}]}`, of the last "
           "1000 commands, of 16 MiB"},
    Method{"packages.install", sandboxes::install_packages, "`packages`: names", "ok",
           Order::queued, Needs::sandbox, Runs::processes},
    Method{"packages.list", sandboxes::list_packages, "", "`{installed, available}`"},
    Method{"persistence.export", sandboxes::export_state, "[`path`: a file of the host]",
           "`{data}`, or `{ok, size}`: files of the user with all that a file can be, environment, "
           "packages, with a checksum; a file is synced, and whole or not there"},
    Method{"persistence.import", sandboxes::import_state, "`path` or `data`",
           "ok; the sandbox is what was exported, also by the release before. `EINVAL` for "
           "anything else, `ENOSPC` where it may not have that many files"},
    Method{"ping", sandboxes::ping, "", "`{ok, version}`", Order::overtakes, Needs::nothing},
    Method{"python.checkpoint", python_states::save_image, "`path` of a file of the host",
           "ok; the whole interpreter with its libraries is in the file, for `python.restore` and "
           "for `image` of `create`",
           Order::queued, Needs::sandbox, Runs::python},
    Method{"python.clearState", python_states::clear, "", "ok; all names are forgotten",
           Order::queued, Needs::sandbox, Runs::python},
    Method{
        "python.execute", commands::python_execute,
        "`code`, [`timeoutMs`], [`cpuTimeMs`], [`steps`: lines that it may execute], "
        "[`memoryBytes` of the interpreter], [`callbacks`: list of `{name, [description], "
        "[parametersSchema], [timeoutMs]}`], [`maxCallbacks` 10000: calls of them], [`figures`], "
        "[`stream`], [`trace`: true or `{[files: globs], [maxEventsPerSecond 100000], [values "
        "true]}`], [`encoding`], [`outputLimitBytes` 67108864], [`onOutputLimit`: `drop` or "
        "`stop`], [`detail`], [`tracebackApart`: not in `stderr`]",
        "`{exitCode, stdout, stderr, executionTimeMs, result, error}`: `result` is the repr of the "
        "last expression or null, `error` null or `{type, message, line}`, its traceback is at the "
        "end of `stderr`. `figures` adds what matplotlib drew: `figures: [{mimeType, data}]`. "
        "`detail` adds `outcome` (`ok`, `error`, `exited`, `limit`, `cancelled`, `ended`), `limit` "
        "(`time`, `cpuTime`, `steps`, `memory`, `callbacks`, `output`), `reason`, `resultJson` (a "
        "text), `error.traceback`, `sessionAlive`: whether names are still there, `callbackCount`, "
        "`steps` that were used, where there is a limit of them, `peakMemoryBytes` that the "
        "interpreter has had at most, `traceEventsDropped`, `status`, `stdoutTruncated`, "
        "`stderrTruncated`",
        Order::queued, Needs::sandbox, Runs::python},
    Method{"python.restore", python_states::load_image, "`path` of a file of the host",
           "ok; Python goes on from a checkpoint, and what it was is gone", Order::queued,
           Needs::sandbox, Runs::python},
    Method{"python.restoreState", python_states::restore, "`data` of `python.snapshotState`",
           "ok; its names are set, others stay. `EINVAL` for anything else", Order::queued,
           Needs::sandbox, Runs::python},
    Method{"python.snapshotState", python_states::snapshot,
           "[`onUnpicklable`: `fail` or `leaveOut`], [`maxBytes` 67108864]",
           "`{data, leftOut: [{name, reason}]}`: the user's names, for any sandbox of this Python "
           "version",
           Order::queued, Needs::sandbox, Runs::python},
    Method{"sandbox.create", sandboxes::create_another, "those of `create`", "`{sandboxId}`",
           Order::queued, Needs::nothing},
    Method{"sandbox.destroy", sandboxes::destroy, "`sandboxId`", "ok; what runs in it ends",
           Order::overtakes, Needs::nothing},
    Method{"sandbox.fork", sandboxes::fork, "",
           "`{sandboxId}` of an independent sandbox that goes on from here"},
    Method{"sandbox.list", sandboxes::list, "", "`{sandboxes: [{sandboxId, busy}]}`",
           Order::overtakes, Needs::nothing},
    Method{
        "snapshot.create", sandboxes::create_snapshot, "",
        "`{id}`: files, environment, packages, the shell and a live Python, as they are now. 64 at "
        "most; `EAGAIN` there, and where a server has no memory for it (`--memory-limit`)"},
    Method{"snapshot.list", sandboxes::list_snapshots, "", "`{snapshots: [{id}]}`"},
    Method{"snapshot.remove", sandboxes::remove_snapshot, "`id`", "ok"},
    Method{"snapshot.restore", sandboxes::restore_snapshot, "`id`", "ok; what runs ends"},
};

}  // namespace

std::span<const Method> methods() { return table; }

const Method* find_method(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Method::name);
  return found == table.end() ? nullptr : found;
}

std::shared_ptr<Subject> Call::subject() const {
  if (std::shared_ptr<Subject> there = queue->subject()) return there;
  throw request_error("there is no sandbox: call create first");
}

LiveSandbox Call::live() const {
  if (LiveSandbox there = subject()->live()) return there;
  throw request_error("there is no sandbox: call create first");
}

}  // namespace cloche::rpc
