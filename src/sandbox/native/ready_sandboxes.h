// SPDX-License-Identifier: Apache-2.0
// ReadySandboxes: sandboxes that are made before anybody wants them, with the shell and the Python
// started that others of the same options were asked for. One is given once, to who wants it with
// the very options that it was made with; nothing has been asked of it.
//
// Options that call somebody, name folders of the host, or let the sandbox reach something are
// nobody else's: of those there are none. `wanted` counts how often a kind was.
//
// A thread makes them, one at a time, once a kind is wanted again and what it is asked first is
// known. At most `most_of_a_kind` wait, for `most_kinds`; those of a kind that nobody has wanted
// for `rest` are ended.
//
// Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cloche/sandbox.h"
#include "sandbox/native/first_uses.h"

namespace cloche::sandbox {

class NativeBackend;
class NativeParts;

class ReadySandboxes {
 public:
  static constexpr std::size_t most_of_a_kind = 2;
  static constexpr std::size_t most_kinds = 4;
  static constexpr std::chrono::seconds rest{20};
  // What nobody has used in as many sandboxes of a kind is not started in the next one.
  static constexpr std::uint64_t memory = 4;

  // `is_wanted`: otherwise there are never any.
  ReadySandboxes(NativeParts& parts, bool is_wanted);
  ~ReadySandboxes();
  ReadySandboxes(const ReadySandboxes&) = delete;
  ReadySandboxes& operator=(const ReadySandboxes&) = delete;

  // Null: there is none.
  std::unique_ptr<NativeBackend> take(const SandboxOptions& options);
  // A sandbox of these options is asked for this for the first time.
  void learn(const SandboxOptions& options, FirstUse use);
  // Ends those that wait, and the thread; there are none from then on.
  void end();

  std::size_t count() const;

 private:
  struct Kind {
    SandboxOptions options;
    std::vector<std::unique_ptr<NativeBackend>> ready;
    std::uint64_t wanted = 0;
    std::uint64_t failed = 0;                           // `wanted` when none could be made
    std::array<std::uint64_t, first_use_count> used{};  // `wanted` at the last time; 0: never
    SteadyTime last;
  };
  using Kinds = std::list<Kind>;

  Kinds::iterator find(const SandboxOptions& options) REQUIRES(mutex_);
  static FirstUses uses_of(const Kind& kind);
  Kind* next_to_fill() REQUIRES(mutex_);
  bool begin() REQUIRES(mutex_);
  void work();
  void fill_one();

  NativeParts& parts_;
  const bool is_wanted_;
  mutable Mutex mutex_;
  Condition changed_;
  Kinds kinds_ GUARDED_BY(mutex_);  // the one wanted last first
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox
