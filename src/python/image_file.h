// SPDX-License-Identifier: Apache-2.0
// Images of live interpreters as files of the user's: what `cloche image build` and
// PythonSession::checkpoint write.
//
// Format 1: 64 KiB of header, which are a line "cloche-image 1", a line of JSON (ImageHeader) and
// zeros; then the file that MemoryImage::save writes, holes where memory is zero. The file may come
// from anywhere: what it holds is a guest's memory, and is used as that alone. A checksum finds
// damage.
//
// Functions throw HostError with one sentence that says what is wrong and what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/host_files.h"
#include "wasm/memory_image.h"

namespace cloche::python {

// Which interpreter an image file is of.
struct ImageBuild {
  std::string program;  // the digest of its WebAssembly
  std::string library;  // of its library: BootImages::Options::library_id
  friend bool operator==(const ImageBuild&, const ImageBuild&) = default;
};

struct ImageHeader {
  ImageBuild build;
  std::vector<std::string> packages;  // that its sandbox had
  std::uint64_t content_bytes = 0;
  std::string content_hash;  // SHA-256 of what follows the header
};

// Complete, or as it was before. `header` without size and hash.
void write_image_file(const std::filesystem::path& file, const wasm::MemoryImage& image,
                      ImageHeader header, HostFiles& files = host_files());

ImageHeader read_image_header(const std::filesystem::path& file);

// The memory image, when it is one of this build. What is mapped is a copy in `cache_folder`
// (empty: one that has no name any more), since a file that is cut short while a guest runs from it
// would end this process. A file that has not changed since it was last loaded is not read again.
std::shared_ptr<const wasm::MemoryImage> load_image_file(const std::filesystem::path& file,
                                                         const ImageBuild& build,
                                                         const wasm::Module& module,
                                                         const std::filesystem::path& cache_folder);

}  // namespace cloche::python
