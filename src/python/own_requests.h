// SPDX-License-Identifier: Apache-2.0
// Requests of our modules in the guest that are no system calls (see host_door.h) and that act on
// what the sandbox is made of, by its HostServices. The result, or negative errno, is written as
// i64 at the frame's start; an error of these functions means that the frame is none.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "wasm/host_function.h"

namespace cloche::python {

// "pkg0", 'i' (install) or 'u' (uninstall), and the name of a package of the build with zeros up to
// the end.
Result<void> change_package(wasm::HostCall& host, std::uint32_t request, std::uint32_t length);

// "whl0", a descriptor (i32), a size (u64, unaligned), a SHA-256 and an address up to the end: a
// descriptor for a file of the host's cache of wheels. The descriptor that is given is an open
// connection to whom the file comes from: a sandbox that its policy does not let there has none. A
// size asks to keep a file of so many bytes, 0 for the file that is kept. ENOENT: it is not there,
// or would not be kept.
Result<void> open_wheel(wasm::HostCall& host, std::uint32_t request, std::uint32_t length);

// "fig0" and a path with zeros up to the end: a figure was shown, and is in that file.
Result<void> show_figure(wasm::HostCall& host, std::uint32_t request, std::uint32_t length);

}  // namespace cloche::python
