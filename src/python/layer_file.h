// SPDX-License-Identifier: Apache-2.0
// Layers: image files (image_file.h) that have only what an interpreter has written over its boot
// image, so that to save and to bring back one costs what it has written.
//
// Format 2: the header, whose line of JSON names the boot image; then a line of JSON with the size
// of memory, the globals and the number of runs of pages, NUL bytes up to a multiple of 64 KiB; the
// runs (start and length, 64 bits each, least byte first), NUL bytes up to a multiple of 64 KiB;
// their pages, one run after the other.
//
// Each machine makes its boot images itself, and they are the same where nothing random was drawn;
// what was is in each layer, since an interpreter draws anew when it starts. Whether that is so is
// checked: the sum of all pages of the boot image that are not in the layer must be what it was.
// A file from anywhere can name any boot image, which has nothing of a user's.
//
// Functions throw HostError with one sentence.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/host_files.h"
#include "python/boot_images.h"
#include "python/image_file.h"
#include "wasm/trusted_file.h"

namespace cloche::python {

// The boot image of a key, null where it is not there.
using FindBase = std::function<std::shared_ptr<BootImage>(const std::string& key)>;

// Complete, or as it was before; the identity of what is there now. `header` without what is told
// of the content. `runs`: the pages of `image` that go into it, sorted.
wasm::FileIdentity write_layer_file(const std::filesystem::path& file,
                                    const wasm::MemoryImage& image,
                                    const std::vector<wasm::PageRun>& runs, ImageHeader header,
                                    const BootImages::Known& base, HostFiles& files = host_files());

// The memory image of a layer of this build. Its pages are read, not mapped: who changes the file
// later changes nothing of what runs.
std::shared_ptr<const wasm::MemoryImage> load_layer_file(const std::filesystem::path& file,
                                                         const OpenedImage& opened,
                                                         const ImageBuild& build,
                                                         const wasm::Module& module,
                                                         const FindBase& find_base);

}  // namespace cloche::python
