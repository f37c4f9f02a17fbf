// SPDX-License-Identifier: Apache-2.0
// The files that a box has changed, as a stream: what one box writes (tree_pack.h) and another one,
// of the same image, reads (tree_unpack.h). Items, each with its path and bytes after it. Both ends
// are processes behind the wall of a guest; Cloche looks at none of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cloche::warden {

inline constexpr std::size_t most_tree_path = 4095;
inline constexpr std::size_t most_tree_bytes = 128 << 10;  // of one item
inline constexpr int most_tree_depth = 2000;               // of a path of 4096 bytes

struct TreeItem {
  enum class Kind : std::uint8_t {
    folder,      // made where it is not there; what is below follows, up to its folder_end
    folder_end,  // mode and times
    file,        // `number` is its size; data and attributes of it follow, up to its file_end
    data,        // of the file: bytes at `number`
    file_end,    // mode and times
    attribute,  // of the folder or file that has begun: the path is the name, the bytes are the value
    link,       // symbolic: the bytes are the target
    hard_link,  // the bytes are the path of a file that came before
    pipe,       // with its mode
    removed,    // what the image has there is not there
    end,
  };
  Kind kind = Kind::end;
  bool hides_image = false;  // of a folder: nothing of the image's is in it
  std::uint16_t path_bytes = 0;
  std::uint32_t mode = 0;
  std::uint32_t bytes = 0;
  std::uint32_t reserved = 0;
  std::uint64_t number = 0;
  std::int64_t accessed_ns = 0;
  std::int64_t modified_ns = 0;
};
static_assert(sizeof(TreeItem) == 40);

}  // namespace cloche::warden
