// SPDX-License-Identifier: Apache-2.0
// PythonStarts: images of interpreters that have begun and done nothing yet, or have become a
// session, so that the first call of a sandbox need not wait for that. Made as those of forks are,
// in a sandbox of their own that nobody else has, when the same start is wanted again; kept for the
// `most` that were wanted last.
//
// A start is the same where all is that an interpreter begins by: the image, the user, the folder,
// the variables, and the packages that the sandbox was made with, which are imported. Whether the
// sandbox's own files are still those of its image, its box says (Box::is_as_image).
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file_number.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cloche/sandbox.h"
#include "sandbox/native/kept_image.h"

namespace cloche::sandbox {

class NativeBackend;
class NativeParts;

enum class PythonStart : std::uint8_t {
  plain,    // has done nothing yet
  session,  // has been asked to open a session
};

class PythonStarts {
 public:
  static constexpr std::size_t most = 6;
  // As often an image is given away; the next one has another seed of hashes and other addresses.
  static constexpr std::uint64_t most_uses = 1000;
  static constexpr int most_failures = 3;

  explicit PythonStarts(NativeParts& parts) : parts_(parts) {}
  ~PythonStarts() { end(); }
  PythonStarts(const PythonStarts&) = delete;
  PythonStarts& operator=(const PythonStarts&) = delete;

  // For the first interpreter of this sandbox; null: it begins by itself.
  SharedFile find(NativeBackend& sandbox, PythonStart what);
  // What find() gave did not live: after some of those that start has no images any more.
  void give_up(NativeBackend& sandbox, PythonStart what);
  // No more are made.
  void end();

 private:
  struct Key {
    FileNumber image;
    std::uint32_t user = 0, group = 0;
    std::string folder;
    std::vector<std::string> variables;
    std::vector<std::string> packages;  // that are imported
    PythonStart what = PythonStart::plain;
    bool operator==(const Key&) const = default;
  };
  struct Start {
    Key key;
    UniqueFd system;  // the image's folder, so that its number is no other's
    SandboxOptions options;
    SharedFile image;  // null: not yet, or never
    std::uint64_t uses = 0;
    int failures = 0;
    bool is_wanted_again = false;
    bool is_given_up = false;
  };
  using Starts = std::list<Start>;

  static std::optional<Key> key_of(NativeBackend& sandbox, PythonStart what);
  Starts::iterator find(const Key& key) REQUIRES(mutex_);
  Start* next_to_make() REQUIRES(mutex_);
  void begin() REQUIRES(mutex_);
  void work();
  SharedFile make(const SandboxOptions& options, const Key& key);

  NativeParts& parts_;
  Mutex mutex_;
  Condition changed_;
  Starts starts_ GUARDED_BY(mutex_);
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox
