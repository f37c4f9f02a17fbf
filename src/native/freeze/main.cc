// SPDX-License-Identifier: Apache-2.0
// cloche_freeze: a library that a process loads to write an image of itself. It is called in a child
// of fork, which has one thread and nobody else's memory, and ends afterwards.
#include "native/freeze/freezer.h"

// See freeze().
extern "C" __attribute__((visibility("default"))) long cloche_freeze(int to,
                                                                     long restartable_offset) {
  return cloche::freeze::freeze(to, restartable_offset);
}
