// SPDX-License-Identifier: Apache-2.0
// A connection from the host to a program of a box that listens on its loopback. Pid 1 makes the
// socket, within the box's network; the host has its end, which is a socket like any other.
#pragma once

#include <functional>
#include <memory>

#include "sandbox/backend.h"

namespace cloche::native {
class Box;
}

namespace cloche::sandbox {

class EdgeWatch;

// See Sandbox::connect.
Result<std::unique_ptr<LoopbackStream>> connect_loopback(native::Box& box, EdgeWatch& watch,
                                                         std::uint16_t port,
                                                         std::function<void()> changed);

}  // namespace cloche::sandbox
