// SPDX-License-Identifier: Apache-2.0
#include "python/image_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>

#include "base/hex.h"
#include "base/host_error.h"
#include "base/new_file.h"
#include "base/sha256.h"
#include "base/unique_fd.h"
#include "python/image_cache.h"
#include "python/json_text.h"
#include "wasm/trusted_file.h"

namespace cloche::python {
namespace {

constexpr std::uint64_t header_bytes = image_header_bytes;
constexpr std::string_view magic = "cloche-image ";
constexpr std::string_view format = "1";
constexpr std::string_view layer_format = "2";
constexpr std::uint64_t copies_bytes_max = std::uint64_t{1} << 30;  // in the cache
constexpr std::string_view copy_prefix = "own-";

HostError damaged(const std::filesystem::path& file, std::string_view how) {
  return HostError(fmt::format("the image {} is damaged ({}): make it anew with cloche image build",
                               file.string(), how));
}

struct stat stat_of(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) throw HostError::from_errno("cannot look at an image", errno);
  return status;
}

// Read and not mapped: while it is written a file may have a name, by which others can cut it short.
Result<std::string> hash_of_file(HostFiles& files, int fd, std::uint64_t offset,
                                 std::uint64_t bytes) {
  Sha256 digest;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (bytes > 0) {
    const std::size_t most = std::min<std::uint64_t>(buffer.size(), bytes);
    CLOCHE_ASSIGN(const std::size_t count,
                  files.read_at(fd, offset, std::span(buffer).first(most)));
    if (count == 0) return Errno::io;
    digest.add(std::span<const std::byte>(buffer).first(count));
    offset += count;
    bytes -= count;
  }
  return to_hex(digest.end());
}

Result<void> copy_range(HostFiles& files, int from, std::uint64_t from_at, int to,
                        std::uint64_t to_at, std::uint64_t bytes) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (bytes > 0) {
    const std::size_t most = std::min<std::uint64_t>(buffer.size(), bytes);
    CLOCHE_ASSIGN(const std::size_t count,
                  files.read_at(from, from_at, std::span(buffer).first(most)));
    if (count == 0) return Errno::io;  // the file has been cut
    if (lseek(to, static_cast<off_t>(to_at), SEEK_SET) < 0) return errno_from_host(errno);
    CLOCHE_TRY(files.write_all(to, std::span(buffer).first(count)));
    from_at += count;
    to_at += count;
    bytes -= count;
  }
  return {};
}

// With its holes.
Result<void> copy_content(HostFiles& files, int from, std::uint64_t from_at, int to,
                          std::uint64_t to_at, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes;) {
    const off_t data = lseek(from, static_cast<off_t>(from_at + at), SEEK_DATA);
    if (data < 0) {
      if (errno == ENXIO) break;  // the rest is a hole
      return errno_from_host(errno);
    }
    const off_t hole = lseek(from, data, SEEK_HOLE);
    if (hole < 0) return errno_from_host(errno);
    const std::uint64_t begin = static_cast<std::uint64_t>(data) - from_at;
    const std::uint64_t end = std::min(static_cast<std::uint64_t>(hole) - from_at, bytes);
    if (begin >= end) break;
    CLOCHE_TRY(copy_range(files, from, from_at + begin, to, to_at + begin, end - begin));
    at = end;
  }
  if (ftruncate(to, static_cast<off_t>(to_at + bytes)) != 0) return errno_from_host(errno);
  return {};
}

std::string member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ImageHeader parse_header(const std::filesystem::path& file, std::string_view text) {
  if (!text.starts_with(magic)) {
    throw HostError(fmt::format("{} is no image: cloche image build makes one", file.string()));
  }
  text.remove_prefix(magic.size());
  const std::string_view version = text.substr(0, text.find('\n'));
  const bool is_layer = version == layer_format;
  if (version != format && !is_layer) {
    constexpr std::size_t shown = 8;
    throw HostError(
        fmt::format("the image {} has format {}, this build reads formats {} and {}: make it "
                    "anew with cloche image build",
                    file.string(), version.substr(0, shown), format, layer_format));
  }
  text.remove_prefix(std::min(version.size() + 1, text.size()));
  const std::optional<Json> json = read_json(text.substr(0, text.find('\n')));
  if (!json || !json->is_object()) throw damaged(file, "its header cannot be read");
  ImageHeader header{{member(*json, "program"), member(*json, "library")},
                     {},
                     0,
                     member(*json, "content_hash"),
                     std::nullopt,
                     member(*json, "folder")};
  if (is_layer) header.base = ImageBase{member(*json, "base_key"), member(*json, "base_sum")};
  if (const auto bytes = json->find("content_bytes");
      bytes != json->end() && bytes->is_number_unsigned())
    header.content_bytes = bytes->get<std::uint64_t>();
  if (const auto packages = json->find("packages"); packages != json->end() && packages->is_array())
    for (const Json& name : *packages)
      if (name.is_string()) header.packages.push_back(name.get<std::string>());
  // Part of the name of its copy.
  const std::size_t digits = is_layer ? 32 : 64;
  if (header.content_hash.size() != digits ||
      header.content_hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw damaged(file, "its header has no checksum");
  return header;
}

ImageHeader read_header(int fd, const std::filesystem::path& file) {
  std::string text(header_bytes, '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  if (got < 0) throw HostError::from_errno("cannot read the image " + file.string(), errno);
  text.resize(static_cast<std::size_t>(got));
  ImageHeader header = parse_header(file, text);
  if (static_cast<std::uint64_t>(stat_of(fd).st_size) != header_bytes + header.content_bytes)
    throw damaged(file, "it has another length than it says");
  return header;
}

// The file as it was when its content was last checked.
std::string state_of(int fd) {
  const wasm::FileIdentity id(stat_of(fd));
  return fmt::format("{} {} {} {} {}", id.device, id.inode, id.size, id.modified_ns, id.changed_ns);
}

}  // namespace

UniqueFd open_image(const std::filesystem::path& file) {
  auto fd = guest_folders().open_to_read(file.string(), O_NONBLOCK);
  if (!fd && fd.error() == Errno::noent)
    throw HostError(
        fmt::format("there is no file {}: `cloche image build` makes one; an image that "
                    "`cloche image list` names is for the linux engine",
                    file.string()),
        Errno::noent);
  if (!fd)
    throw HostError("cannot read the image " + std::string(fd.error().sentence()),
                    fd.error().code());
  struct stat status{};
  if (fstat(fd->get(), &status) != 0)
    throw HostError::from_errno("cannot read the image " + file.string(), errno);
  if (!S_ISREG(status.st_mode)) throw HostError(file.string() + " is no file, so it is no image");
  return *std::move(fd);
}

OpenedImage read_opened_image(UniqueFd fd, const std::filesystem::path& file) {
  ImageHeader header = read_header(fd.get(), file);
  return {std::move(fd), std::move(header)};
}

OpenedImage open_image_file(const std::filesystem::path& file) {
  return read_opened_image(open_image(file), file);
}

std::string image_header_text(const ImageHeader& header) {
  Json json{{"program", header.build.program},
            {"library", header.build.library},
            {"packages", header.packages},
            {"content_bytes", header.content_bytes},
            {"content_hash", header.content_hash}};
  if (!header.folder.empty()) json["folder"] = header.folder;
  if (header.base) {
    json["base_key"] = header.base->key;
    json["base_sum"] = header.base->sum;
  }
  std::string text =
      fmt::format("{}{}\n{}\n", magic, header.base ? layer_format : format, write_json(json));
  if (text.size() > header_bytes) throw HostError("the image has too many packages for its header");
  text.resize(header_bytes, '\0');
  return text;
}

HostPlace place_of_image(const std::filesystem::path& file) {
  auto place = guest_folders().find(file.string(), GuestFolders::LastLink::kept);
  if (!place)
    throw HostError("cannot write the image " + std::string(place.error().sentence()),
                    place.error().code());
  return *std::move(place);
}

void write_image_file(const std::filesystem::path& file, const wasm::MemoryImage& image,
                      ImageHeader header, HostFiles& files) {
  const HostPlace place = place_of_image(file);
  const auto write = [&]() -> Result<void> {
    CLOCHE_ASSIGN(NewFile made, NewFile::create(files, place.path(), image_file_mode));
    // The header has the sum of what follows it, so that comes first.
    CLOCHE_TRY(image.write(files, made.fd(), header_bytes));
    const auto bytes = static_cast<std::uint64_t>(stat_of(made.fd()).st_size);
    if (bytes < header_bytes) return Errno::io;
    header.content_bytes = bytes - header_bytes;
    CLOCHE_ASSIGN(header.content_hash,
                  hash_of_file(files, made.fd(), header_bytes, header.content_bytes));
    const std::string text = image_header_text(header);
    if (lseek(made.fd(), 0, SEEK_SET) < 0) return errno_from_host(errno);
    CLOCHE_TRY(files.write_all(made.fd(), std::as_bytes(std::span(text))));
    return made.publish();
  };
  if (const Result<void> written = write(); !written) {
    throw HostError(fmt::format("cannot write the image {}: {}", file.string(),
                                errno_info(written.error()).message),
                    written.error());
  }
}

ImageHeader read_image_header(const std::filesystem::path& file) {
  return open_image_file(file).header;
}

std::shared_ptr<const wasm::MemoryImage> load_image_file(
    const std::filesystem::path& file, const OpenedImage& opened, const ImageBuild& build,
    const wasm::Module& module, const std::filesystem::path& cache_folder) {
  const auto& [fd, header] = opened;
  if (header.build != build) {
    throw HostError(fmt::format(
        "the image {} is of another build of Cloche: make it anew with cloche image build",
        file.string()));
  }
  if (header.content_bytes > max_image_bytes) throw damaged(file, "it has no such size");
  std::filesystem::path folder = cache_folder;
  std::string scratch;
  if (folder.empty()) {
    scratch = (std::filesystem::temp_directory_path() / "cloche-image-XXXXXX").string();
    if (mkdtemp(scratch.data()) == nullptr)
      throw HostError::from_errno("cannot make a folder for a copy of the image", errno);
    folder = scratch;
  } else {
    std::error_code ignored;  // the copy says it
    std::filesystem::create_directories(folder, ignored);
  }
  const auto clean = [](const std::string* path) {
    std::error_code ignored;
    if (!path->empty()) std::filesystem::remove_all(*path, ignored);
  };
  const std::unique_ptr<const std::string, decltype(clean)> cleaner(&scratch, clean);

  constexpr std::size_t digits = 32;
  const std::filesystem::path copy =
      folder / fmt::format("{}{:.{}}.image", copy_prefix, header.content_hash, digits);
  const std::filesystem::path seen = copy.string() + ".seen";
  const std::string state = state_of(fd.get());
  if (wasm::read_small_file(seen, state.size()) == state) {
    if (auto image = wasm::MemoryImage::load(copy, module)) {
      mark_used(copy);
      return *std::move(image);
    }
  }
  // The copy is what is checked: nobody else changes that.
  bool is_whole = true;
  try {
    wasm::save_trusted(
        copy, module.info().digest, header.content_bytes,
        [&](HostFiles& files, int to) -> Result<void> {
          CLOCHE_TRY(copy_content(files, fd.get(), header_bytes, to, 0, header.content_bytes));
          CLOCHE_ASSIGN(const std::string hash, hash_of_file(files, to, 0, header.content_bytes));
          is_whole = hash == header.content_hash;
          return is_whole ? Result<void>() : Errno::io;
        });
  } catch (const HostError&) {
    if (!is_whole) throw damaged(file, "its checksum is wrong");
    throw;
  }
  auto image = wasm::MemoryImage::load(copy, module);
  if (!image) throw damaged(file, "it holds no memory of this Python");
  if (scratch.empty()) {
    (void)wasm::replace_file(seen, std::as_bytes(std::span(state)));
    prune_images(folder, copy_prefix, copies_bytes_max, copy);
  }
  return *std::move(image);
}

}  // namespace cloche::python
