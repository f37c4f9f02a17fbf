// SPDX-License-Identifier: Apache-2.0
#include "base/file_watch.h"

#include <sys/stat.h>

#include <utility>

namespace cloche {

FileWatch::FileWatch(std::string path) : path_(std::move(path)), known_(stamp()), last_(known_) {}

bool FileWatch::has_changed() {
  const Stamp now = stamp();
  const bool is_settled = now == std::exchange(last_, now);
  if (!is_settled || now == known_) return false;
  known_ = now;
  return true;
}

FileWatch::Stamp FileWatch::stamp() const {
  struct stat facts{};
  if (path_.empty() || ::stat(path_.c_str(), &facts) != 0) return {};
  return {facts.st_dev, facts.st_ino, facts.st_size,
          facts.st_ctim.tv_sec * std::int64_t{1'000'000'000} + facts.st_ctim.tv_nsec};
}

}  // namespace cloche
