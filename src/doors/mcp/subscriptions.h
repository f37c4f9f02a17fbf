// SPDX-License-Identifier: Apache-2.0
// Subscriptions: which files clients want to hear of when they have changed. They are looked at
// after each call that may have changed them. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "doors/mcp/space.h"

namespace cloche::mcp {

// A resource's address, taken apart.
struct FileAddress {
  std::string sandbox;
  std::string path;  // absolute
};

class Subscriptions {
 public:
  static constexpr std::size_t limit = 1000;
  // Told the address as the client gave it. It must not throw.
  using Tell = std::function<void(const std::string& uri)>;

  // False: there are too many. A second one of the same name and address replaces the first.
  // `name` tells who wants to know.
  bool add(const Scope& scope, const std::string& name, const std::string& uri, FileAddress address,
           Tell tell);
  void remove(const std::string& name, const std::string& uri);
  void remove_all(const std::string& name);

  // Tells of the files of this sandbox that have changed.
  void look(const std::shared_ptr<Box>& box);

 private:
  // When it was written and how large it is; nothing: it is not there.
  using Mark = std::optional<std::pair<std::int64_t, std::uint64_t>>;
  struct Watched {
    std::shared_ptr<Space> own;  // where the sandbox's name is looked for: here first
    std::shared_ptr<Space> named;
    FileAddress address;
    Mark mark;
    Tell tell;
  };
  static std::shared_ptr<Box> box_of(const Watched& watched);
  static Mark mark_of(const Watched& watched);

  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Watched> watched_ GUARDED_BY(mutex_);
};

}  // namespace cloche::mcp
