// SPDX-License-Identifier: Apache-2.0
// FulfilledPackages: the wishes for packages that images have turned out to have already, so that
// pip is asked once. The `most` wished for last are known.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/file_number.h"
#include "base/mutex.h"
#include "base/unique_fd.h"

namespace cloche::sandbox {

class NativeBackend;

class FulfilledPackages {
 public:
  static constexpr std::size_t most = 32;

  // Of a sandbox that is new. False: it is not known.
  bool are_there(NativeBackend& sandbox, const std::vector<std::string>& names);
  // Pip has said that it has them now.
  void learn(NativeBackend& sandbox, const std::vector<std::string>& names);

 private:
  struct Wish {
    FileNumber image;
    std::uint32_t user = 0, group = 0;
    // Which Python it is, and where that looks, they may say: PATH, HOME.
    std::vector<std::string> variables;
    std::vector<std::string> names;
    bool operator==(const Wish&) const = default;
  };
  struct Known {
    Wish wish;
    UniqueFd image;  // so that its number is no other's
  };
  // Nothing where variables may lead pip elsewhere.
  static std::optional<Wish> wish_of(NativeBackend& sandbox, const std::vector<std::string>& names);

  Mutex mutex_;
  std::list<Known> known_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox
