// SPDX-License-Identifier: Apache-2.0
// DebugListeners: what clients with E2B_DEBUG=true look for: the agent and the code interpreter of
// one sandbox at their own ports of this machine. They make no sandbox, and have no key and no
// token; the sandbox is made at the first request, and anew where it has ended.
//
// Only this machine connects, to its own names, and no page of the web (http/origin_guard.h). By
// other ways the sandbox is known by an id that cannot be guessed. Thread-safe.
#pragma once

#include <chrono>
#include <memory>

#include "doors/e2b/e2b_door.h"

namespace cloche::e2b {

class DebugListeners {
 public:
  // Listens from now on. Both outlive it. Throws HostError with one sentence.
  DebugListeners(Boxes& boxes, E2bDoor& door);
  ~DebugListeners();
  DebugListeners(const DebugListeners&) = delete;
  DebugListeners& operator=(const DebugListeners&) = delete;

  void close_after_answers();
  void drain(std::chrono::milliseconds patience);

 private:
  class Port;
  class TheBox;
  const std::unique_ptr<TheBox> box_;
  const std::unique_ptr<Port> agent_;
  const std::unique_ptr<Port> code_;
};

}  // namespace cloche::e2b
