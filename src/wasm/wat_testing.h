// SPDX-License-Identifier: Apache-2.0
// Small guests in text form, for tests of this layer and those above.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/guest_threads.h"
#include "wasm/instance.h"
#include "wasm/linker.h"
#include "wasm/module_store.h"

namespace cloche::wasm {

// The binary of a program in text form. Fails the test, and gives nothing, when the text is wrong.
std::vector<std::byte> from_wat(std::string_view text);

// A guest that imports all of these functions and exports each under its own name, for a host that
// calls them by way of the guest: its `_start` calls `test.turn`, in which that is done. It has a
// memory of two pages.
std::string forwarding_wat(std::span<const HostFunction> functions);

// One engine for all tests of a program: making one is not free.
Engine& test_engine();

// Runs `body` on a thread with the stack of a guest, and waits for it.
void on_guest_thread(const std::function<void()>& body);

// Compiles and links guests against the host functions of one linker.
class GuestMaker {
 public:
  GuestMaker() : store(test_engine(), {}), linker(test_engine()) {}

  std::shared_ptr<const LinkedModule> link(std::string_view wat);
  std::unique_ptr<Instance> make(const std::shared_ptr<const LinkedModule>& module,
                                 const InstanceOptions& options = {});
  std::unique_ptr<Instance> make(std::string_view wat, const InstanceOptions& options = {}) {
    return make(link(wat), options);
  }

  ModuleStore store;
  Linker linker;
};

}  // namespace cloche::wasm
