// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/python_programs.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/embed.h"
#include "sandbox/native/sealed_file.h"

#define CLOCHE_OWN(name, file) CLOCHE_EMBED(native_python_##name, CLOCHE_NATIVE_PYTHON "/" file)
#define CLOCHE_SHARED(name, file) CLOCHE_EMBED(session_##name, CLOCHE_SESSION_PYTHON "/" file)

CLOCHE_OWN(driver, "driver.py")
CLOCHE_OWN(rooms, "rooms.py")
CLOCHE_OWN(loop, "rooms/sockets/loop.py")
CLOCHE_OWN(trip, "rooms/processes/trip.py")
CLOCHE_OWN(native, "rooms/sessions/native.py")
CLOCHE_SHARED(cloche, "cloche.py")
CLOCHE_SHARED(root, "_cloche/__init__.py")
CLOCHE_SHARED(state, "_cloche/host/state.py")
CLOCHE_SHARED(main_module, "_cloche/programs/main_module.py")
CLOCHE_SHARED(streams, "_cloche/programs/streams.py")
CLOCHE_SHARED(by_value, "_cloche/sessions/by_value.py")
CLOCHE_SHARED(callbacks, "_cloche/sessions/callbacks.py")
CLOCHE_SHARED(execution, "_cloche/sessions/execution.py")
CLOCHE_SHARED(interrupts, "_cloche/sessions/interrupts.py")
CLOCHE_SHARED(port, "_cloche/sessions/port.py")
CLOCHE_SHARED(source, "_cloche/sessions/source.py")
CLOCHE_SHARED(snapshot, "_cloche/sessions/snapshot.py")
CLOCHE_SHARED(tracing, "_cloche/sessions/tracing.py")

namespace cloche::sandbox {

PythonPrograms::PythonPrograms() {
  const nlohmann::json modules{{"cloche", session_cloche()},
                               {"_cloche", session_root()},
                               {"_cloche.host", ""},
                               {"_cloche.host.state", session_state()},
                               {"_cloche.processes", ""},
                               {"_cloche.processes.trip", native_python_trip()},
                               {"_cloche.programs", ""},
                               {"_cloche.programs.main_module", session_main_module()},
                               {"_cloche.programs.streams", session_streams()},
                               {"_cloche.sockets", ""},
                               {"_cloche.sockets.loop", native_python_loop()},
                               {"_cloche.sessions", ""},
                               {"_cloche.sessions.by_value", session_by_value()},
                               {"_cloche.sessions.callbacks", session_callbacks()},
                               {"_cloche.sessions.execution", session_execution()},
                               {"_cloche.sessions.interrupts", session_interrupts()},
                               {"_cloche.sessions.native", native_python_native()},
                               {"_cloche.sessions.port", session_port()},
                               {"_cloche.sessions.source", session_source()},
                               {"_cloche.sessions.snapshot", session_snapshot()},
                               {"_cloche.sessions.tracing", session_tracing()}};
  std::string file = modules.dump();
  file.push_back('\0');
  file += native_python_rooms();
  if (Result<UniqueFd> made = make_sealed_file(file)) modules_ = *std::move(made);
}

std::string_view PythonPrograms::driver() const noexcept { return native_python_driver(); }

}  // namespace cloche::sandbox
