// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/jail.h"

#include "base/host_error.h"
#include "sandbox/host_needs.h"

namespace cloche::cli {

void enter_jail(const Options& options, const OutPlaces& places, EngineOptions& engine,
                Connections connections) {
  JailRules rules{.readable = system_files(),
                  .writable = places.paths(),
                  .executable = {},
                  .connects = connections == Connections::some};
  sandbox::add_needs(rules, engine);
  sandbox::add_needs(rules, options.sandbox);
  if (options.sandbox.engine == EngineKind::native_linux) sandbox::begin_natives(rules, engine);
  (void)cloche::enter_jail(rules);
}

void enter_jail_with_files(EngineOptions& engine) {
  JailRules rules{.readable = {}, .writable = {"/"}, .executable = {}, .connects = true};
  try {
    sandbox::add_needs(rules, engine);
  } catch (const HostError&) {
    return;  // no engine can be made, and so no guest: who asks for one is told
  }
  try {
    sandbox::begin_natives(rules, engine);
  } catch (const HostError&) {
    engine.natives.reset();  // who asks for the linux engine is told
  }
  (void)cloche::enter_jail(rules);
}

}  // namespace cloche::cli
