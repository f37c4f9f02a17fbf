// SPDX-License-Identifier: Apache-2.0
// FolderWatch: what changes in a folder of a sandbox, as it does, whoever changes it: names that
// come and go, content, permissions.
//
//   auto watch = sandbox->files().watch("/workspace", WatchDepth::tree, [&] { wake(); });
//   const auto changes = (*watch)->take();
//   for (const FileChange& change : *changes) show(change.path);
//
// Not seen is what happens in a folder that is mounted below, or of the host; and what is more than
// 256 folders down. A fork is not watched.
//
// Threads: every member may be called from any thread. Lifetime: it must be gone before its
// Sandbox.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cloche/result.h"

namespace cloche {

namespace sandbox {
class WatchBackend;
}

enum class WatchDepth : std::uint8_t { folder, tree };

struct FileChange {
  // A file that is moved is `renamed` where it was, then `created` where it is.
  enum class Kind : std::uint8_t { created, written, removed, renamed, attributes };
  Kind kind = Kind::created;
  std::string path;  // from the folder; "." is the folder itself
};

class FolderWatch {
 public:
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // What has come since the last call, in order, without waiting. EOVERFLOW: that was more than is
  // kept, half a MiB, and is lost; what comes from now on is kept again.
  Result<std::vector<FileChange>> take();
  // The folder has been removed: nothing comes any more.
  bool is_over() const;

 private:
  friend class Files;
  explicit FolderWatch(std::unique_ptr<sandbox::WatchBackend> watch);
  std::unique_ptr<sandbox::WatchBackend> watch_;
};

}  // namespace cloche
