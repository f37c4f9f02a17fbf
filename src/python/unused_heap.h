// SPDX-License-Identifier: Apache-2.0
// What of an interpreter's memory its allocator holds for later: whole pages in which nothing is.
//
// The interpreter's C library allocates by Doug Lea's malloc 2.8.6. Where its state lies is
// exported by the guest's build (userland/python/heap_patch.py). Guests can write to it: what it
// says is bounded here, and what is done with it must harm nobody but that guest.
#pragma once

#include <vector>

#include "wasm/instance.h"
#include "wasm/private_pages.h"

namespace cloche::python {

// Sorted, disjoint. Empty where the state is not known, or makes no sense. For an instance that
// nobody uses.
std::vector<wasm::PageRun> unused_heap(wasm::Instance& instance);

}  // namespace cloche::python
