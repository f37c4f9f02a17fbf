// SPDX-License-Identifier: Apache-2.0
// Images of live interpreters as files of the user's: what `cloche image build` and
// PythonSession::checkpoint write.
//
// Format 1: 64 KiB of header, which are a line "cloche-image 1", a line of JSON (ImageHeader) and
// zeros; then the file that MemoryImage::save writes, holes where memory is zero. Format 2 is a
// layer over a boot image: layer_file.h. The file may come from anywhere: what it holds is a
// guest's memory, and is used as that alone. A checksum finds damage.
//
// Functions throw HostError with one sentence that says what is wrong and what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/guest_folders.h"
#include "base/host_files.h"
#include "base/unique_fd.h"
#include "wasm/memory_image.h"

namespace cloche::python {

// Which interpreter an image file is of.
struct ImageBuild {
  std::string program;  // the digest of its WebAssembly
  std::string library;  // of its library: BootImages::Options::library_id
  friend bool operator==(const ImageBuild&, const ImageBuild&) = default;
};

// The boot image that a layer lies over.
struct ImageBase {
  std::string key;  // Preload::key
  std::string sum;  // of its pages that are not in the layer: wasm::PageSums
  friend bool operator==(const ImageBase&, const ImageBase&) = default;
};

struct ImageHeader {
  ImageBuild build;
  std::vector<std::string> packages;  // that its sandbox had
  std::uint64_t content_bytes = 0;
  std::string content_hash;       // of what follows the header: SHA-256, of a layer wasm::sum_of
  std::optional<ImageBase> base;  // of a layer
  std::string folder = {};        // that the interpreter was in, absolute; empty: not known
};

// Complete, or as it was before. `header` without size and hash.
void write_image_file(const std::filesystem::path& file, const wasm::MemoryImage& image,
                      ImageHeader header, HostFiles& files = host_files());

ImageHeader read_image_header(const std::filesystem::path& file);

// For the rest of this layer: the file, which may be anything that can be opened, and its header.
struct OpenedImage {
  UniqueFd fd;
  ImageHeader header;
};
OpenedImage open_image_file(const std::filesystem::path& file);
// The same in two steps. A guest's link that leads out of its folder is followed by neither.
UniqueFd open_image(const std::filesystem::path& file);
OpenedImage read_opened_image(UniqueFd fd, const std::filesystem::path& file);
// The header's bytes.
std::string image_header_text(const ImageHeader& header);
inline constexpr std::uint64_t image_header_bytes = 65536;
inline constexpr unsigned image_file_mode = 0644;
// What follows the header: a memory, and what tells of it.
inline constexpr std::uint64_t max_image_bytes = std::uint64_t{5} << 30;
// Where an image is to be written; throws HostError.
HostPlace place_of_image(const std::filesystem::path& file);

// The memory image, when it is one of this build. What is mapped is a copy in `cache_folder`
// (empty: one that has no name any more), since a file that is cut short while a guest runs from it
// would end this process. A file that has not changed since it was last loaded is not read again.
std::shared_ptr<const wasm::MemoryImage> load_image_file(const std::filesystem::path& file,
                                                         const OpenedImage& opened,
                                                         const ImageBuild& build,
                                                         const wasm::Module& module,
                                                         const std::filesystem::path& cache_folder);

}  // namespace cloche::python
