// SPDX-License-Identifier: Apache-2.0
// Engine: what all sandboxes of a process share: compiled programs, the read-only system layer,
// host threads.
//
// One is enough for a process. Making it takes some milliseconds when the programs are compiled
// already (they are kept in the cache folder), and compiles them at their first use else.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/sandbox.h"

namespace cloche {

namespace sandbox {
class EngineState;
class NativeParts;
}  // namespace sandbox

// When the interpreter is made ready for a set of packages that this machine has not seen: some
// seconds of work, once. Until then its programs import them from files.
enum class PackageImages : std::uint8_t {
  behind,  // after `create` has answered, at a low priority; the engine's end stops it
  first,   // before `create` answers: for a process that makes one sandbox and ends
};

struct EngineOptions {
  // The guests' system (a folder with manifest.json). Empty: $CLOCHE_ROOTFS, the one beside the
  // program, or the installed one.
  std::filesystem::path system_folder = {};
  // Machine code, boot images. Empty: $CLOCHE_CACHE or the user's; where that cannot be, not kept.
  std::filesystem::path cache_folder = {};
  // Machine code that came with the system (see Engine::ship). Empty: `code` beside the system's
  // folder, if it is there.
  std::filesystem::path code_folder = {};
  // Compiles the programs that users bring, each in a process of its own with limits. Empty: the
  // `cloche-compile` that came with the program or the system; without one such programs are
  // refused.
  std::filesystem::path compiler_program = {};
  // What wheels that sandboxes fetch from package indexes may take of the cache folder, where the
  // next sandbox finds them; 0: they are not kept. Absent: $CLOCHE_WHEEL_CACHE, a number of MiB, or
  // 1 GiB.
  std::optional<std::uint64_t> wheel_cache_bytes = {};
  PackageImages package_images = PackageImages::behind;
  // After so long without a run the memory of a kept shell, a Python session and the like is kept
  // as its differences from what it began with: a fraction of it. The next run puts it back, which
  // takes a fault for each page. 0: never. Absent: $CLOCHE_PACK_IDLE_AFTER, in seconds, or 10 s.
  // The wasm engine's alone.
  std::optional<std::chrono::milliseconds> pack_idle_after = {};
  // What makes the boxes of the linux engine, where it was begun before this: in a jail it cannot
  // begin. Null: it begins when the first one is made.
  std::shared_ptr<sandbox::NativeParts> natives = {};
  // Told one line when something takes long (a program is compiled for the first time). Any thread.
  std::function<void(std::string_view line)> progress = {};
};

class Engine {
 public:
  // Throws Error with one sentence that says what is wrong and what to do.
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Throws Error: a mount that cannot be made, an unknown package (the sentence lists what there
  // is), network rules that are none.
  std::unique_ptr<Sandbox> create(const SandboxOptions& options);

  // Compiles all programs of the system that are not in the cache yet.
  void prepare();

  // Compiles all programs of a system for any CPU of the x86-64-v3 level, and writes the machine
  // code into `folder`: with it beside a copy of the system, that copy starts without compiling.
  // Throws as the constructor does.
  static void ship(const EngineOptions& options, const std::filesystem::path& folder);

 private:
  friend class StateReader;
  std::unique_ptr<sandbox::EngineState> state_;
};

}  // namespace cloche
