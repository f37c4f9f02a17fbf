// SPDX-License-Identifier: Apache-2.0
// HotPages: the pages that every start of a program writes, learnt from its first starts in this
// host process. A start that has them made private in a few calls to the host's kernel saves a page
// fault for each, which is most of what a start costs.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <vector>

#include "base/mutex.h"
#include "wasm/instance.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {

class HotPages {
 public:
  // After a program has run: what it wrote. Does nothing once enough is known.
  void learn(Instance& instance);
  // Before a program runs. Does nothing while too little is known, or where the host cannot do it.
  void prepare(Instance& instance) const;

 private:
  static constexpr int lessons_needed = 3;

  std::atomic<bool> known_{false};
  Mutex mutex_;
  int lessons_ GUARDED_BY(mutex_) = 0;
  std::vector<PageRun> runs_;  // never changes once known_
};

}  // namespace cloche::wasm
