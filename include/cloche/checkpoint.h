// SPDX-License-Identifier: Apache-2.0
// Checkpoint: what a sandbox is at one moment, files of the user, environment and packages, to be
// written as bytes that outlive the process; and StateReader, which makes a sandbox of them again.
//
// Taking one costs the same whatever the sandbox holds, and stops nothing in it: what is changed
// afterwards is not in it. Comparing two of the same sandbox, or of a sandbox and a fork of it,
// costs what differs. Of a sandbox of the linux engine it costs what its files are, for whose time
// it stands still, and each part has everything.
//
// Any mode, depth, hole, link, owner, time and extended attribute is in it. Running processes, a
// live Python, what is mounted from the host, and what has no name any more are not; a kept shell
// is where it is asked for.
//
// A written state is one part with everything, then parts with what has changed since the part
// before. Each ends with a SHA-256 of itself. Thread-safe, but for a StateReader.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cloche/engine.h"
#include "cloche/result.h"

namespace cloche {

// Takes the next bytes; an error ends the writing and is its result.
using ByteSink = std::function<Result<void>(std::span<const std::byte>)>;
// Gives the next bytes; 0: there are no more.
using ByteSource = std::function<Result<std::size_t>(std::span<std::byte>)>;

class Checkpoint {
 public:
  // Throws Error where a box of the linux engine does not give its files.
  explicit Checkpoint(Sandbox& sandbox);
  // With the kept shell (ShellState::kept), as a script: a copy of the shell writes it, in some
  // milliseconds, or is given up after `time`. Waits as long for the run that is in progress in it.
  // With no time: where it is known from before, as nothing has changed it since.
  struct WithShell {
    std::chrono::milliseconds time{5000};
  };
  Checkpoint(Sandbox& sandbox, const WithShell& shell);
  // Why there is no shell in it, though it was asked for and the sandbox has one; empty: it is.
  const std::string& shell_problem() const;

  // About how many bytes write() makes.
  std::uint64_t size() const;
  // The same for write_since(); 0: nothing has changed.
  std::uint64_t size_since(const Checkpoint& before) const;

  // Of a sandbox of the linux engine: gives up the memory that its files take. What is left can be
  // compared, and not be written any more.
  void forget_files();

  // The sink's error is the only one.
  Result<void> write(const ByteSink& sink) const;
  Result<void> write_since(const Checkpoint& before, const ByteSink& sink) const;

 private:
  struct Parts;
  // Throws Error. `shell`: null where it is not asked for.
  static std::shared_ptr<const Parts> parts_of(Sandbox& sandbox, const WithShell* shell);
  Result<void> write_part(const Parts* before, const ByteSink& sink) const;
  std::shared_ptr<const Parts> parts_;
};

class StateReader {
 public:
  // Whether a sandbox may have more files than its options allow, because it had them before.
  enum class Quota : std::uint8_t { of_options, as_saved };

  StateReader(const SandboxOptions& options, Quota quota);
  ~StateReader();
  StateReader(const StateReader&) = delete;
  StateReader& operator=(const StateReader&) = delete;

  // The next part: exactly the bytes of one. EINVAL: they are none, or have changed since; ENOSPC;
  // the source's error. After an error the reader is of no more use.
  Result<void, Error> read(const ByteSource& source);

  // A sandbox as it was, under the reader's options. Packages that this engine no longer has are
  // left out.
  Result<std::unique_ptr<Sandbox>, Error> make(Engine& engine);
  const std::vector<std::string>& missing_packages() const;
  // Packages that this engine has in another version: "numpy 2.1=2.2".
  const std::vector<std::string>& changed_packages() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche
