// SPDX-License-Identifier: Apache-2.0
// Threads of the interpreter, each with a stack of its own.
//
// A thread is another instance of the interpreter's program over the same memory
// (wasm::InstanceOptions::memory_of), on a thread of the host. One of them runs at a time, as under
// CPython's own lock, and goes on only when another hands over: the scheduler in the guest
// (userland/python/lib/_cloche/threads) says to whom. All act for one task of the kernel, which
// knows nothing of it but on which thread of the host its guest runs.
//
//   begin_thread   "thr0" and the argument of the C library's thread function. A stack is ready
//                  then, and its number, or 0 where there is none, is in the argument's place
//   run_thread     "swt0" and a number: that thread goes on, and the caller waits until it is handed
//                  to again. One that is not there is the main one, 0. A thread that ends hands to
//                  the main one. The main one goes on at once where a signal's handler has to run
//   yield_thread   "yld0", a clock of WASI's, the address of a moment by it or 0: the next one in
//                  turn; for the waits of C code. Where there is no other the process waits for a
//                  signal or that moment
//   end_thread     "end0": the calling thread is about to end, and what CPython keeps of it goes
//   tick           "tck0", milliseconds, a signal: once, so much later, the thread that runs then is
//                  told of that signal as of one that came, at its next look
//
// An end of the process (exec, exit, a kill, a trap in any of them) unwinds all. Errors of these
// functions mean that the frame is none.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernel/process/task.h"
#include "wasm/host_function.h"

namespace cloche::python {

Result<void> begin_thread(wasm::HostCall& host, std::uint32_t request);
Result<void> run_thread(wasm::HostCall& host, std::uint32_t request);
Result<void> yield_thread(wasm::HostCall& host, std::uint32_t request);
Result<void> end_thread(wasm::HostCall& host);
Result<void> tick(wasm::HostCall& host, std::uint32_t request);

// The interpreter's turn is over: nothing is told to it until the next one.
void rest(kernel::Task& task);

}  // namespace cloche::python
