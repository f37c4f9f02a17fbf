// SPDX-License-Identifier: Apache-2.0
#include "session_rows.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "cloche/python_session.h"

namespace cloche::bench {
namespace {

using Session = std::shared_ptr<PythonSession>;

void must(const ExecuteResult& result) {
  if (result.status != ExecuteStatus::ok)
    throw std::runtime_error(fmt::format("a measured execution went wrong: {} {}", result.reason,
                                         result.error ? result.error->traceback : ""));
}

Callback callback(const char* name) {
  Callback made;
  made.name = name;
  return made;
}

Session make_session(Engine& engine) {
  PythonSessionOptions options;
  options.callbacks = {callback("at_once"), callback("on_a_thread")};
  options.callbacks[0].async_handler = [](const std::shared_ptr<CallbackCall>& call) {
    call->reply("1");
  };
  options.callbacks[1].handler = [](CallbackCall&) { return std::string("1"); };
  return std::make_shared<PythonSession>(engine, SandboxOptions{}, std::move(options));
}

// One turn of a loop in the session.
Row repeated(const Session& session, std::string name, std::string code, int turns) {
  return {.name = std::move(name),
          .target = "",
          .ours = [session, code = std::move(code),
                   turns] { return milliseconds([&] { must(session->execute(code)); }) / turns; },
          .rounds = 20};
}

}  // namespace

std::vector<Row> session_rows(Engine& engine) {
  const Session session = make_session(engine);
  must(session->execute(
      "import asyncio\ndata = list(range(100_000))\nasync def f():\n    return 1"));
  std::vector<Row> rows;
  rows.push_back(
      {.name = "session: execute `1 + 1`",
       .target = "",
       .ours = [session] { return milliseconds([&] { must(session->execute("1 + 1")); }); },
       .rounds = 200});
  rows.push_back(
      {.name = "session: execute `await f()`",
       .target = "",
       .ours = [session] { return milliseconds([&] { must(session->execute("await f()")); }); },
       .rounds = 200});
  rows.push_back(repeated(session, "session: callback, answered at once",
                          "for _ in range(500): await at_once()", 500));
  rows.push_back(repeated(session, "session: callback, answered by a thread",
                          "for _ in range(500): await on_a_thread()", 500));
  rows.push_back(repeated(session, "session: a callback of 500 in parallel",
                          "_ = await asyncio.gather(*[on_a_thread() for _ in range(500)])", 500));
  rows.push_back(
      {.name = "session: fork, files and interpreter", .target = "0.5", .ours = [session] {
         std::unique_ptr<PythonSession> twin;
         return milliseconds([&] { twin = session->fork(); });
       }});
  rows.push_back(
      {.name = "session: snapshot_state of 100000 numbers", .target = "", .ours = [session] {
         return milliseconds([&] {
           if (!session->snapshot_state()) throw std::runtime_error("no snapshot");
         });
       }});
  rows.push_back({.name = "session: restore_state of them", .target = "", .ours = [session] {
                    const auto state = session->snapshot_state();
                    return milliseconds([&] {
                      if (!session->restore_state(state->bytes))
                        throw std::runtime_error("no restore");
                    });
                  }});
  return rows;
}

}  // namespace cloche::bench
