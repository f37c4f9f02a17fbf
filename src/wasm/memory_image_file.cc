// SPDX-License-Identifier: Apache-2.0
// Memory images on disk: one page of header, then all of memory, holes where it is zero.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/host_error.h"
#include "base/host_files.h"
#include "wasm/image_memory.h"
#include "wasm/memory_image.h"
#include "wasm/page_size.h"
#include "wasm/trusted_file.h"

namespace cloche::wasm {
namespace {

constexpr std::uint64_t header_bytes = 65536;  // a multiple of every page size

struct GlobalRecord {
  std::array<char, 48> name{};  // ends with a NUL
  std::uint64_t type = 0;
  std::uint64_t bits = 0;
};

struct Header {
  static constexpr std::uint64_t expected_magic = 0x00316567616d6963;  // "cimage1"
  static constexpr std::size_t max_globals = 64;

  std::uint64_t magic = expected_magic;
  Digest digest{};
  std::uint64_t memory_bytes = 0;
  std::uint64_t data_bytes = 0;  // the rest of memory is zero
  std::uint64_t global_count = 0;
  std::array<GlobalRecord, max_globals> globals{};
};
static_assert(sizeof(Header) <= header_bytes);

Result<void> write_at(HostFiles& files, int fd, std::uint64_t offset,
                      std::span<const std::byte> bytes) {
  if (lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0) return errno_from_host(errno);
  return files.write_all(fd, bytes);
}

}  // namespace

void MemoryImage::save(const std::filesystem::path& path) const {
  save_trusted(path, module_digest_, memory_bytes_,
               [this](HostFiles& files, int fd) { return write(files, fd, 0); });
}

Result<void> MemoryImage::write(HostFiles& files, int fd, std::uint64_t offset) const {
  Header header;
  header.digest = module_digest_;
  header.memory_bytes = memory_bytes_;
  if (globals_.size() > Header::max_globals)
    throw HostError("the program has too many globals for an image file");
  for (const Global& global : globals_) {
    GlobalRecord& record = header.globals[header.global_count++];
    if (global.name.size() >= record.name.size()) {
      throw HostError("a global of the program has too long a name for an image file");
    }
    std::memcpy(record.name.data(), global.name.data(), global.name.size());
    record.type = static_cast<std::uint64_t>(global.value.type);
    record.bits = global.value.bits;
  }
  const std::byte* base = content_->view().data();
  if (base == nullptr && memory_bytes_ > 0) throw HostError("cannot map a memory image");
  const auto runs = find_nonzero_pages(base, memory_bytes_);
  if (!runs.empty()) {
    header.data_bytes =
        (runs.back().end() + wasm_page_bytes - 1) / wasm_page_bytes * wasm_page_bytes;
  }
  CLOCHE_TRY(write_at(files, fd, offset, std::as_bytes(std::span(&header, 1))));
  for (const PageRun& run : runs)
    CLOCHE_TRY(write_at(files, fd, offset + header_bytes + run.start,
                        std::span(base + run.start, run.length)));
  if (ftruncate(fd, static_cast<off_t>(offset + header_bytes + header.data_bytes)) != 0)
    return errno_from_host(errno);
  return {};
}

Result<std::shared_ptr<const MemoryImage>> MemoryImage::load(const std::filesystem::path& path,
                                                             const Module& module) {
  auto found = open_trusted(path, module.info().digest);
  if (!found) return Errno::noent;
  Header header;
  if (pread(found->fd.get(), &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      header.magic != Header::expected_magic || header.digest != module.info().digest) {
    return Errno::noent;
  }
  const bool sound =
      header.memory_bytes <= address_space_bytes && header.memory_bytes % wasm_page_bytes == 0 &&
      header.data_bytes <= header.memory_bytes && header.data_bytes % wasm_page_bytes == 0 &&
      found->size == header_bytes + header.data_bytes && header.global_count <= Header::max_globals;
  if (!sound) return Errno::noent;

  std::shared_ptr<MemoryImage> image(new MemoryImage);
  image->module_digest_ = header.digest;
  image->memory_bytes_ = header.memory_bytes;
  image->own_bytes_ = header.data_bytes;
  for (std::size_t i = 0; i < header.global_count; ++i) {
    const GlobalRecord& record = header.globals[i];
    if (record.name.back() != '\0' || record.type > static_cast<std::uint64_t>(ValueType::f64)) {
      return Errno::noent;
    }
    image->globals_.push_back(
        {record.name.data(), {static_cast<ValueType>(record.type), record.bits}});
  }
  std::vector<PageRun> data = find_file_data(found->fd.get(), found->size);
  std::erase_if(data, [](PageRun& run) {
    const std::uint64_t start = std::max(run.start, header_bytes);
    if (run.end() <= start) return true;
    run = {start - header_bytes, run.end() - start};
    return false;
  });
  image->find_tail(0, std::move(data));
  auto file = std::make_shared<MemoryFile>();
  file->fd = std::move(found->fd);
  if (header.data_bytes > 0)
    image->segments_.push_back({0, header.data_bytes, header_bytes, std::move(file)});
  image->seal();
  return std::shared_ptr<const MemoryImage>(std::move(image));
}

}  // namespace cloche::wasm
