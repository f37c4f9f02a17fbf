// SPDX-License-Identifier: Apache-2.0
// What a MemFs has beyond its base layer, as bytes, and back: files that outlive the process.
//
// Inodes are saved by their numbers, and names with the directory that they are in. So there are no
// paths: any depth, any mode, holes, hard links, extended attributes, times and owners come back as
// they were. Grafts, devices and files that have no name any more are not saved.
//
// What has changed between two states is found by comparing them, which costs what differs: states
// share the nodes that are the same (memfs.h). A saved tree is one part with everything, then any
// number of parts with what has changed since the part before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vfs/memfs.h"

namespace cloche::vfs {

// Takes the next bytes. An error ends the writing, and is its result.
using ByteSink = std::function<Result<void>(std::span<const std::byte>)>;
// Gives the next bytes, 1 at least; 0: there are no more.
using ByteSource = std::function<Result<std::size_t>(std::span<std::byte>)>;

// What must be written: the files of `now` that are not the base's, where they are not what they
// are in `before`. Without `before`: all of them.
struct TreePart {
  Frozen base;
  Frozen before;
  Frozen now;
};

// About how many bytes it is. 0: nothing has changed. Any thread.
std::uint64_t size_of(const TreePart& part);

// `folders`: directories of the base, by their paths without a slash in front ("run/user"), that
// are saved with everything below them. Any thread. The sink's error is the only one.
Result<void> write_tree(const TreePart& part, std::span<const std::string_view> folders,
                        const ByteSink& sink);

// TreeReader: puts the parts together. What it reads may be anything: it is checked, and takes no
// more than there is room for.
class TreeReader {
 public:
  explicit TreeReader(Quota room);
  ~TreeReader();
  TreeReader(const TreeReader&) = delete;
  TreeReader& operator=(const TreeReader&) = delete;

  // One part, to the end of the source, in the order in which they were written. EINVAL: it is
  // none; ENOSPC; the source's error. After an error the reader is of no more use.
  Result<void> read(const ByteSource& source);

  // Puts all that was read into a file system, below the folders that were said when it was
  // written. What has the same name there is replaced; a directory becomes both, and a file to
  // which there is a Node stays, as it may be what a mount covers. ENOSPC by the quota of `files`;
  // EINVAL for a tree that is none. On failure a part of it may be there.
  Result<void> put_into(MemFs& files);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::vfs
