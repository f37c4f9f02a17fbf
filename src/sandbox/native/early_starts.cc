// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/early_starts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/host_error.h"
#include "sandbox/native/freeze_programs.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/native_session.h"
#include "sandbox/native/python_starts.h"
#include "sandbox/native/start_variables.h"

namespace cloche::sandbox {

EarlyStarts::~EarlyStarts() { sandbox_.timers().drain(this); }

void EarlyStarts::make(const FirstUses& uses) {
  const native::CommandSpec spec = sandbox_.spec_of({});
  if (!sandbox_.freeze_programs().exist() ||
      std::ranges::any_of(spec.environment, may_change_a_start))
    return;
  Started made;
  if (uses.has(FirstUse::shell)) {
    if (Result<std::unique_ptr<LiveShell>> shell = LiveShell::start(sandbox_, -1))
      made.shell = *std::move(shell);
  }
  const auto begin = [&](PythonStart what) {
    Result<std::unique_ptr<NativeInterpreter>> begun = NativeInterpreter::begin(sandbox_, what);
    return begun ? *std::move(begun) : nullptr;
  };
  if (uses.has(FirstUse::python)) made.python = begin(PythonStart::plain);
  if (uses.has(FirstUse::session)) made.session = begin(PythonStart::session);
  if (made.session && !NativeSession::open(sandbox_.box(), *made.session)) made.session.reset();
  if (made.shell && !made.shell->is_alive()) made.shell.reset();
  if (made.python && !made.python->is_alive()) made.python.reset();
  const MutexLock lock(mutex_);
  started_ = std::move(made);
}

void EarlyStarts::give_away() {
  try {
    sandbox_.timers().add(sandbox_.timers().clock().steady() + rest, this, [this] { let_go(); });
  } catch (const HostError&) {  // nobody would end them
    let_go();
  }
}

template <typename What>
std::unique_ptr<What> EarlyStarts::take(std::unique_ptr<What> Started::* which) {
  std::unique_ptr<What> taken;
  {
    const MutexLock lock(mutex_);
    taken = std::move(started_.*which);
  }
  if (!taken || taken->has_ended()) return nullptr;
  if (sandbox_.box().is_as_image()) return taken;
  let_go();
  return nullptr;
}

std::unique_ptr<LiveShell> EarlyStarts::take_shell() { return take(&Started::shell); }

std::unique_ptr<NativeInterpreter> EarlyStarts::take_python(PythonStart what) {
  return take(what == PythonStart::session ? &Started::session : &Started::python);
}

void EarlyStarts::let_go() {
  Started unwanted;
  const MutexLock lock(mutex_);
  std::swap(unwanted, started_);
}

}  // namespace cloche::sandbox
