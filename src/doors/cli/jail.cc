// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/jail.h"

#include <filesystem>

#include "base/host_error.h"
#include "doors/cli/support.h"
#include "sandbox/host_needs.h"

namespace cloche::cli {

void enter_jail(const Options& options, EngineOptions& engine, Connections connections) {
  JailRules rules{.readable = system_files(),
                  .writable = {},
                  .executable = {},
                  .connects = connections == Connections::some};
  sandbox::add_needs(rules, engine);
  sandbox::add_needs(rules, options.sandbox);
  if (options.sandbox.engine == EngineKind::native_linux) sandbox::begin_natives(rules, engine);
  for (const CopyOut& copy : options.copies) {
    if (is_standard_output(copy)) continue;
    // A device takes the bytes itself; a file is replaced by another, made beside it.
    rules.writable.emplace_back(copy.host_path);
    rules.writable.push_back(std::filesystem::absolute(target_of(copy.host_path)).parent_path());
  }
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
