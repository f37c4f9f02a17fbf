// SPDX-License-Identifier: Apache-2.0
#include "wasm/compiler_threads.h"

#include <algorithm>
#include <exception>
#include <latch>
#include <thread>
#include <vector>

#include "base/background_thread.h"
#include "base/mutex.h"

namespace cloche::wasm {
namespace {

bool gives_threads(unsigned count) {
  std::latch end(1);
  std::vector<std::thread> threads;
  bool all = true;
  try {
    threads.reserve(count);
    while (threads.size() < count) threads.push_back(background_thread([&end] { end.wait(); }));
  } catch (const std::exception&) {  // no thread, or no memory
    all = false;
  }
  end.count_down();
  for (std::thread& thread : threads) thread.join();
  return all;
}

}  // namespace

bool has_compiler_threads() {
  // Of the process, as the library's own are.
  static Mutex mutex;
  static bool has_them = false;
  const MutexLock lock(mutex);
  if (!has_them) has_them = gives_threads(std::max(std::thread::hardware_concurrency(), 1U));
  return has_them;
}

}  // namespace cloche::wasm
