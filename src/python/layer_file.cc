// SPDX-License-Identifier: Apache-2.0
#include "python/layer_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/host_error.h"
#include "base/new_file.h"
#include "python/json_text.h"
#include "wasm/image_memory.h"
#include "wasm/memory_pieces.h"
#include "wasm/page_sums.h"

namespace cloche::python {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t layer_unit = 65536;  // a multiple of every page size
constexpr std::uint64_t max_layer_runs = std::uint64_t{1} << 20;
constexpr std::size_t max_layer_globals = 64;
constexpr std::size_t layer_batch = std::size_t{256} << 10;

std::uint64_t whole_units(std::uint64_t bytes) {
  return (bytes + layer_unit - 1) / layer_unit * layer_unit;
}

HostError damaged_layer(const std::filesystem::path& file, std::string_view how) {
  return HostError(fmt::format("the image {} is damaged ({}): make it anew", file.string(), how));
}

// What stands before the pages.
struct LayerDescription {
  std::uint64_t memory_bytes = 0;
  std::uint64_t run_count = 0;
  std::vector<wasm::MemoryImage::Global> globals;

  std::string text() const {
    Json values = Json::array();
    for (const auto& global : globals)
      values.push_back({{"name", global.name},
                        {"type", static_cast<unsigned>(global.value.type)},
                        {"bits", global.value.bits}});
    std::string text = write_json(Json{{"memory_bytes", memory_bytes},
                                       {"run_count", run_count},
                                       {"globals", std::move(values)}}) +
                       "\n";
    text.resize(whole_units(text.size()), '\0');
    return text;
  }
};

std::uint64_t number_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::optional<LayerDescription> parse_description(std::string_view text) {
  const std::optional<Json> json = read_json(text.substr(0, text.find('\n')));
  if (!json || !json->is_object()) return std::nullopt;
  LayerDescription read{number_in(*json, "memory_bytes"), number_in(*json, "run_count"), {}};
  const auto globals = json->find("globals");
  if (read.run_count > max_layer_runs || globals == json->end() || !globals->is_array() ||
      globals->size() > max_layer_globals)
    return std::nullopt;
  for (const Json& one : *globals) {
    const auto name = one.is_object() ? one.find("name") : one.end();
    const std::uint64_t type = one.is_object() ? number_in(one, "type") : ~std::uint64_t{0};
    if (type > static_cast<std::uint64_t>(wasm::ValueType::f64) || name == one.end() ||
        !name->is_string())
      return std::nullopt;
    read.globals.push_back(
        {name->get<std::string>(), {static_cast<wasm::ValueType>(type), number_in(one, "bits")}});
  }
  return read;
}

// A file in memory that is mapped here: the mapping ends with this, the file with its last owner.
struct LayerBuffer {
  std::shared_ptr<const wasm::MemoryFile> file;
  std::byte* at = nullptr;
  std::uint64_t bytes = 0;

  explicit LayerBuffer(std::uint64_t size) : bytes(size) {
    auto made = wasm::create_memory_file(size);
    if (!made) throw HostError("the host has no memory for an image", made.error());
    file = *std::move(made);
    void* mapping =
        size == 0 ? MAP_FAILED
                  : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd.get(), 0);
    if (size > 0 && mapping == MAP_FAILED)
      throw HostError::from_errno("cannot map an image", errno);
    if (size > 0) at = static_cast<std::byte*>(mapping);
  }
  LayerBuffer(const LayerBuffer&) = delete;
  LayerBuffer& operator=(const LayerBuffer&) = delete;
  ~LayerBuffer() {
    if (at != nullptr) munmap(at, bytes);
  }
  std::span<std::byte> all() const { return {at, bytes}; }
};

// Writes the content of a layer, and sums it.
class LayerWriter {
 public:
  LayerWriter(HostFiles& files, int to) : files_(files), to_(to) {}

  Result<void> write(std::span<const std::byte> bytes) {
    sum_.add(bytes);
    return files_.write_all(to_, bytes);
  }
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

  // These pages, in this order.
  Result<void> write(const wasm::MemoryImage& image, const std::vector<wasm::PageRun>& runs) {
    const wasm::ImagePages pages(image);
    std::vector<std::byte> buffer(layer_batch);
    gathered_.reserve(layer_batch);
    for (const wasm::PageRun& run : runs) {
      CLOCHE_TRY(pages.read(run, buffer,
                            [this](std::span<const std::byte> part) { return gather(part); }));
    }
    return flush();
  }

  std::string sum() const { return sum_.end(); }

 private:
  // Few large writes: the kernel takes larger pages for them.
  Result<void> gather(std::span<const std::byte> part) {
    if (gathered_.size() + part.size() > layer_batch) CLOCHE_TRY(flush());
    if (part.size() >= layer_batch) return write(part);
    gathered_.insert(gathered_.end(), part.begin(), part.end());
    return {};
  }
  Result<void> flush() {
    CLOCHE_TRY(write(std::span<const std::byte>(gathered_)));
    gathered_.clear();
    return {};
  }

  HostFiles& files_;
  const int to_;
  std::vector<std::byte> gathered_;
  wasm::RunningSum sum_;
};

}  // namespace

wasm::FileIdentity write_layer_file(const std::filesystem::path& file,
                                    const wasm::MemoryImage& image,
                                    const std::vector<wasm::PageRun>& runs, ImageHeader header,
                                    const BootImages::Known& base, HostFiles& files) {
  header.base = ImageBase{base.key, base.image->sums.outside(*base.image->memory, runs)};
  if (header.base->sum.empty()) throw HostError("cannot map a memory image", Errno::nomem);
  // See MemoryImage::Layer.
  std::vector<wasm::PageRun> in_order = runs;
  std::ranges::stable_sort(in_order, std::ranges::greater{}, &wasm::PageRun::length);

  const std::string description =
      LayerDescription{image.memory_bytes(), in_order.size(), image.globals()}.text();
  std::string table(whole_units(in_order.size() * sizeof(wasm::PageRun)), '\0');
  if (!in_order.empty())
    std::memcpy(table.data(), in_order.data(), in_order.size() * sizeof(wasm::PageRun));
  header.content_bytes = description.size() + table.size() + wasm::bytes_of(runs);

  const HostPlace place = place_of_image(file);
  struct stat status{};
  const auto write = [&]() -> Result<void> {
    CLOCHE_ASSIGN(NewFile made, NewFile::create(files, place.path(), image_file_mode));
    const int to = made.fd();
    // The header has the sum of what follows it, so that comes first, and all of it once.
    if (lseek(to, image_header_bytes, SEEK_SET) < 0) return errno_from_host(errno);
    LayerWriter writer(files, to);
    CLOCHE_TRY(writer.write(description));
    CLOCHE_TRY(writer.write(table));
    CLOCHE_TRY(writer.write(image, in_order));
    header.content_hash = writer.sum();
    const std::string head = image_header_text(header);
    if (lseek(to, 0, SEEK_SET) < 0) return errno_from_host(errno);
    CLOCHE_TRY(files.write_all(to, std::as_bytes(std::span(head))));
    CLOCHE_TRY(made.publish());
    // After the last change of its inode.
    if (fstat(to, &status) != 0) return errno_from_host(errno);
    return {};
  };
  if (const Result<void> written = write(); !written) {
    throw HostError(fmt::format("cannot write the image {}: {}", file.string(),
                                errno_info(written.error()).message),
                    written.error());
  }
  return wasm::FileIdentity(status);
}

std::shared_ptr<const wasm::MemoryImage> load_layer_file(const std::filesystem::path& file,
                                                         const OpenedImage& opened,
                                                         const ImageBuild& build,
                                                         const wasm::Module& module,
                                                         const FindBase& find_base) {
  const ImageHeader& header = opened.header;
  if (header.build != build)
    throw HostError(
        fmt::format("the image {} is of another build of Cloche: make it anew", file.string()));
  if (header.content_bytes > max_image_bytes) throw damaged_layer(file, "it has no such size");
  const LayerBuffer content(header.content_bytes);
  for (std::uint64_t done = 0; done < content.bytes;) {
    const auto count = host_files().read_at(opened.fd.get(), image_header_bytes + done,
                                            content.all().subspan(done));
    if (!count) throw HostError("cannot read the image " + file.string(), count.error());
    if (*count == 0) throw damaged_layer(file, "it has another length than it says");
    done += *count;
  }
  if (wasm::sum_of(content.all()) != header.content_hash)
    throw damaged_layer(file, "its checksum is wrong");

  const std::string_view text(reinterpret_cast<const char*>(content.at), content.bytes);
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto description = parse_description(line);
  const std::uint64_t table_at = whole_units(line.size() + 1);
  if (!description || table_at > content.bytes ||
      whole_units(description->run_count * sizeof(wasm::PageRun)) > content.bytes - table_at)
    throw damaged_layer(file, "its content cannot be read");
  wasm::MemoryImage::Layer layer{
      description->memory_bytes, std::vector<wasm::PageRun>(description->run_count), content.file,
      table_at + whole_units(description->run_count * sizeof(wasm::PageRun)), description->globals};
  if (!layer.runs.empty())
    std::memcpy(layer.runs.data(), content.at + table_at,
                layer.runs.size() * sizeof(wasm::PageRun));

  const std::shared_ptr<BootImage> base = find_base(header.base->key);
  std::vector<wasm::PageRun> sorted = layer.runs;
  std::ranges::sort(sorted, {}, &wasm::PageRun::start);
  if (!base || base->memory->module_digest() != module.info().digest)
    throw HostError(
        fmt::format("the image {} lies over a Python with packages that this machine "
                    "has not prepared: make a sandbox with {} first",
                    file.string(), fmt::join(header.packages, ", ")));
  std::uint64_t bytes = 0;
  for (const wasm::PageRun& run : layer.runs)
    if (__builtin_add_overflow(bytes, run.length, &bytes))
      throw damaged_layer(file, "it has more pages than there are");
  if (bytes != content.bytes - layer.offset)
    throw damaged_layer(file, "it has other pages than it says");
  auto image = wasm::MemoryImage::over(*base->memory, std::move(layer));
  if (!image) throw damaged_layer(file, "it holds no memory of this Python");
  if (base->sums.outside(*base->memory, sorted) != header.base->sum)
    throw HostError(fmt::format("the image {} lies over another machine's Python: save it whole",
                                file.string()));
  return *std::move(image);
}

}  // namespace cloche::python
