// SPDX-License-Identifier: Apache-2.0
// The frames that the host gives the interpreter's `turn`; userland/python/lib/_cloche/start.py
// reads them.
#pragma once

#include <string>
#include <string_view>

#include "kernel/process/process.h"

namespace cloche::python {

// What `turn` is asked to do.
enum class Turn : char {
  process = 'P',      // be the process of the start block; the result is its exit status
  session = 'S',      // adopt the start block, then wait for code
  execute = 'X',      // run source text in the session
  exit_status = 'Q',  // the status that the last sys.exit of the session gave
  resume = 'F',       // be the process of the start block, as a fork of a session
  join = 'G',         // the same from an image of the user's: another sandbox, with its environment
  image = 'I',        // run source text while a boot image is made
  evaluate = 'E',     // run source text in the session; the outcome comes through the SessionPort
  snapshot = 'N',     // send the user's names through the SessionPort
  restore = 'R',      // take names from a snapshot
  clear = 'C',        // forget the user's names
  settle = 'Z',       // let go of what belongs to this process, before its memory becomes an image
};

// A frame with the process's numbers, names, argv and environment. Kernel lock held.
std::string start_block(Turn turn, const kernel::Process& process, std::string_view host_name);
// A frame with source text.
std::string code_frame(Turn turn, std::string_view source);

}  // namespace cloche::python
