// SPDX-License-Identifier: Apache-2.0
// The Python guest's one import of its own, `host.call(request, length, answer_out,
// answer_length_out) -> i32`: system calls for our modules in the guest, which make of them what
// WASI lacks (children, pipes, terminals, owners ...).
//
// A request is a frame in guest memory: "sys0", the number of a Linux call, a word of marks, six
// argument words, then data. Bit i of the marks says that word i is an offset into the data; with
// bit 8 + i it is the offset of an array of such offsets, which ends in all ones; with bit 16 + i
// that of a struct msghdr, whose name, control data and buffers are such offsets, or all ones for
// none. The call works on the data in place. Its result, or negative errno, is written as i64 at
// the frame's start; the answer is empty. The calls are those of the Linux interface, under the
// same checks, less the ones that make no sense for this guest (its memory, its signal handlers,
// clone): those are ENOSYS. The import answers 0, or -2 for a frame that is none.
//
// Four requests are no calls, and touch nothing but the guest's own memory: "imm0" makes objects
// immortal, "pek0" reads memory, "pok0" writes it, "sgn0" names the words in which the interpreter
// is told of signals (kernel::InterpreterSignals). Those of own_requests.h are for what the sandbox
// is made of.
#pragma once

#include "wasm/linker.h"

namespace cloche::python {

void define_host_door(wasm::Linker& linker);

}  // namespace cloche::python
