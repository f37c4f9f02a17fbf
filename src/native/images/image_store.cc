// SPDX-License-Identifier: Apache-2.0
#include "native/images/image_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/guest_folders.h"
#include "base/hex.h"
#include "base/host_error.h"
#include "base/sha256.h"
#include "base/write_fully.h"
#include "native/images/blob_cache.h"
#include "native/images/oci_layout.h"
#include "native/images/tree_removal.h"
#include "native/images/unpacker.h"
#include "native/warden/identity.h"
#include "native/warden/tree_copy.h"

namespace cloche::images {
namespace {

namespace fs = std::filesystem;

constexpr const char* files_folder = "rootfs";
constexpr const char* config_file = "image.json";
constexpr const char* digest_file = "digest";
constexpr std::size_t most_name = 200;
constexpr std::size_t most_config_bytes = 8 << 20;

UniqueFd open_folder(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::string text_of(const fs::path& path) {
  std::error_code error;
  if (fs::file_size(path, error) > most_config_bytes || error) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw HostError::from_errno("cannot open " + path.string(), errno);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw HostError("cannot write " + path.string());
}

constexpr std::string_view part_name = ".part-", gone_name = ".gone-";

// What processes have left that were killed while they made or removed an image: nobody holds it.
void remove_leftovers(const fs::path& store) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(store, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(part_name) && !name.starts_with(gone_name)) continue;
    const UniqueFd folder = open_folder(entry.path());
    if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(entry.path());
  }
}

// A place that is gone again unless it is kept, and held as long as this process makes it.
class Part {
 public:
  explicit Part(const fs::path& store) {
    fs::create_directories(store);
    remove_leftovers(store);
    struct stat of{};
    do {  // another process may have taken it for a leftover before it was held
      std::string name = (store / part_name).string() + "XXXXXX";
      if (::mkdtemp(name.data()) == nullptr)
        throw HostError::from_errno("a new folder in " + store.string(), errno);
      folder_ = name;
      UniqueFd opened = open_folder(folder_);
      if (!opened && errno != ENOENT) throw HostError::from_errno(name, errno);
      held_ = std::move(opened);
      if (held_) (void)::flock(held_.get(), LOCK_EX);
    } while (!held_ || ::fstat(held_.get(), &of) != 0 || of.st_nlink == 0);
  }
  ~Part() {
    if (!folder_.empty()) remove_tree(folder_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const fs::path& folder() const { return folder_; }

  // A folder in it that belongs to who reads and writes it in jails and boxes.
  UniqueFd make(const char* name) const {
    const fs::path path = folder_ / name;
    UniqueFd made;
    if (::mkdir(path.c_str(), 0755) == 0 && ::chmod(path.c_str(), 0755) == 0 &&
        (::geteuid() != 0 || ::chown(path.c_str(), warden::box_user, warden::box_user) == 0))
      made = open_folder(path);
    if (!made) throw HostError::from_errno(path.string(), errno);
    return made;
  }

  void become(const fs::path& place) {
    fs::permissions(folder_, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                                 fs::perms::others_read | fs::perms::others_exec);
    // At once, so that an image of that name is there all the time; the old one is the part now.
    if (::renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0)
      return;
    // There was none, or this file system does not exchange; and a folder is not renamed over one
    // that has something in it.
    const fs::path old = folder_.string() + "-old";
    std::error_code error;
    fs::rename(place, old, error);
    fs::rename(folder_, place);
    folder_.clear();
    if (!error) remove_tree(old);
  }

 private:
  fs::path folder_;
  UniqueFd held_;
};

enum class Given { everything, folders };

// Everything below is the box user's, where root has made it, and nothing is set-id: in a box that
// does nothing, and another user of the machine could run it here.
void give_away(const fs::path& folder, Given what = Given::everything) {
  const bool is_root = ::geteuid() == 0;
  const auto give = [is_root](const fs::path& path) {
    struct stat of{};
    if (::lstat(path.c_str(), &of) != 0) throw HostError::from_errno(path.string(), errno);
    const bool is_given = !is_root ||
                          (of.st_uid == warden::box_user && of.st_gid == warden::box_user) ||
                          ::lchown(path.c_str(), warden::box_user, warden::box_user) == 0;
    const bool is_set_id = S_ISREG(of.st_mode) && (of.st_mode & 06000) != 0;
    if (!is_given || (is_set_id && ::chmod(path.c_str(), of.st_mode & 01777) != 0))
      throw HostError::from_errno(path.string(), errno);
  };
  constexpr auto as_far_as_allowed = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(folder, as_far_as_allowed)) {
    const bool is_folder = entry.is_directory() && !entry.is_symlink();
    if (what == Given::everything || is_folder) give(entry.path());
  }
  give(folder);
}

void copy_folder(const fs::path& source, const UniqueFd& from, const UniqueFd& to,
                 const fs::path& target, const UnpackLimits& limits) {
  const auto copied =
      warden::copy_tree(from.get(), to.get(), {.bytes = limits.bytes, .files = limits.files});
  if (!copied && copied.error == EDQUOT) {
    throw request_error(
        fmt::format("{}: it has more than {} files, or they have more than {} bytes",
                    source.string(), limits.files, limits.bytes));
  }
  if (!copied) throw HostError::from_errno("copying " + source.string(), copied.error);
  give_away(target);
}

// Programs find "localhost" and their own host there. Whoever builds images has that file mounted,
// and leaves it out or empty. An image whose folders are not this user's to change stays as it is.
void name_loopback(const fs::path& root) {
  constexpr std::string_view names = "127.0.0.1 localhost\n127.0.1.1 cloche\n::1 localhost\n";
  const UniqueFd files = open_folder(root);
  const UniqueFd etc(::openat(files.get(), "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!etc) return;
  struct stat of{};
  const bool is_there = ::fstatat(etc.get(), "hosts", &of, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && (!S_ISREG(of.st_mode) || of.st_size > 0)) return;
  if (is_there && ::unlinkat(etc.get(), "hosts", 0) != 0) return;
  const UniqueFd hosts(
      ::openat(etc.get(), "hosts", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!hosts) return;
  if (!write_fully(hosts.get(), names) || ::fchmod(hosts.get(), 0644) != 0 ||
      (::geteuid() == 0 && ::fchown(hosts.get(), warden::box_user, warden::box_user) != 0))
    throw HostError::from_errno("/etc/hosts of the image", errno);
}

std::string name_of_file(const fs::path& source) {
  std::string name = fs::absolute(source).lexically_normal().filename().string();
  if (name.empty()) name = fs::absolute(source).parent_path().filename().string();
  for (const char* ending : {".gz", ".zst", ".xz", ".bz2", ".tar", ".tgz"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::strlen(ending));
  }
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

void check_image_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/:@").find(c) != std::string_view::npos;
  };
  if (name.empty() || name.size() > most_name || name.front() == '.' || name.front() == '/' ||
      !std::ranges::all_of(name, fits))
    throw request_error(
        fmt::format("'{}' is no name of an image: letters, digits and . _ - / : @ make one", name));
}

fs::path default_image_folder() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    return fs::path(value == nullptr ? "" : value);
  };
  if (const fs::path given = folder("CLOCHE_IMAGES"); !given.empty()) return given;
  if (const fs::path data = folder("XDG_DATA_HOME"); !data.empty())
    return data / "cloche" / "images";
  if (const fs::path home = folder("HOME"); !home.empty())
    return home / ".local" / "share" / "cloche" / "images";
  return {};
}

// One folder a name.
fs::path ImageStore::place_of(const std::string& name) const {
  if (options_.folder.empty())
    throw HostError("there is no place for images: set CLOCHE_IMAGES, or HOME");
  check_image_name(name);
  std::string plain = name;
  std::ranges::replace(plain, '/', '+');
  return options_.folder / plain;
}

Image ImageStore::open(const std::string& name) const {
  if (name.empty())
    throw request_error("a linux sandbox is made of an image: name one of `cloche image list`");
  const fs::path place = place_of(name);
  Image image;
  image.name = name;
  image.root = open_folder(place / files_folder);
  if (!image.root && errno != ENOENT && errno != ENOTDIR)
    throw HostError::from_errno(fmt::format("cannot open the image '{}'", name), errno);
  if (!image.root)
    throw request_error(fmt::format("there is no image '{}': `cloche image pull`, `import` and "
                                    "`make debian` make some",
                                    name),
                        Errno::noent);
  image.config = ImageConfig::parse(text_of(place / config_file));
  image.digest = text_of(place / digest_file);
  if (!image.config.architecture.empty() && image.config.architecture != own_architecture())
    throw request_error(fmt::format("the image '{}' is for {}, and this machine is {}", name,
                                    image.config.architecture, own_architecture()));
  return image;
}

namespace {

void check_machine(const ImageConfig& config) {
  if (!config.architecture.empty() && config.architecture != own_architecture())
    throw request_error(fmt::format("the image is for {}, and this machine is {}",
                                    config.architecture, own_architecture()));
}

void write_facts(const fs::path& folder, const ImageSource& image) {
  write_text(folder / config_file, image.config.text());
  write_text(folder / digest_file, image.digest);
}

}  // namespace

std::string ImageStore::import(const fs::path& source, std::string name) {
  if (options_.folder.empty()) (void)place_of(name);
  Part part(options_.folder);
  UniqueFd root = part.make(files_folder);
  UnpackLimits limits{options_.most_bytes, options_.most_files};
  const auto place = guest_folders().find(source.string(), GuestFolders::LastLink::followed);
  if (!place) throw place.error();
  Result<UniqueFd, HostError> opened = open_to_read(*place, source.string());
  if (!opened) throw opened.error();
  struct stat of{};
  if (::fstat(opened->get(), &of) != 0) throw HostError::from_errno(source.string(), errno);
  // One that guests may write to is copied first: what was found right must be what is unpacked.
  const bool is_copied = !S_ISDIR(of.st_mode) || place->is_guests;
  UniqueFd content;
  if (!is_copied) {
    content = *std::move(opened);
  } else if (S_ISDIR(of.st_mode)) {
    content = part.make("archive");
    copy_folder(source, *opened, content, part.folder() / "archive", limits);
  } else {
    content = part.make("archive");
    try {
      unpack(options_.unpacker, ArchiveKind::archive, opened->get(), content.get(), limits);
    } catch (const Error& error) {
      throw Error(error.kind(), error.code(), source.string() + ": " + error.what());
    }
  }
  limits = {options_.most_bytes,
            options_.most_files};  // the archive is gone when the image is there
  std::optional<ImageSource> found = read_image_folder(content.get());
  if (found) {
    check_machine(found->config);
    for (const UniqueFd& layer : found->layers)
      unpack(options_.unpacker, ArchiveKind::layer, layer.get(), root.get(), limits);
  } else if (!is_copied) {
    copy_folder(source, content, root, part.folder() / files_folder, limits);
  } else {
    fs::remove(part.folder() / files_folder);
    fs::rename(part.folder() / "archive", part.folder() / files_folder);
  }
  remove_tree(part.folder() / "archive");
  name_loopback(part.folder() / files_folder);
  if (!found) {
    found.emplace();
    found->config.architecture = std::string(own_architecture());
  }
  if (name.empty()) name = found->name.empty() ? name_of_file(source) : found->name;
  write_facts(part.folder(), *found);
  part.become(place_of(name));
  return name;
}

namespace {

// Of images that no registry has named: the same for the same files and configuration.
std::string digest_of_commit(const Image& base, const UniqueFd& changes,
                             const ImageConfig& config) {
  Sha256 digest;
  digest.add(base.name + '\n' + base.digest + '\n' + config.text());
  std::vector<char> piece(1 << 20);
  off_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(changes.get(), piece.data(), piece.size(), at);
    if (got < 0) throw HostError::from_errno("the changes of a box", errno);
    if (got == 0) break;
    digest.add(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    at += got;
  }
  return "sha256:" + to_hex(digest.end());
}

}  // namespace

void ImageStore::commit(const std::string& name, const Image& base, const UniqueFd& changes,
                        ImageConfig config) {
  const fs::path place = place_of(name);
  struct stat of{};
  if (::fstat(base.root.get(), &of) != 0 || of.st_nlink == 0)
    throw request_error("the image '" + base.name + "' is not there any more", Errno::noent);
  Part part(options_.folder);
  {
    const UniqueFd root = part.make(files_folder);
    if (const auto linked = warden::link_tree(base.root.get(), root.get()); !linked)
      throw HostError::from_errno("the files of the image '" + base.name + "'", linked.error);
    if (::lseek(changes.get(), 0, SEEK_SET) != 0)
      throw HostError::from_errno("the changes of a box", errno);
    // Who reads the changes must be able to; the files are the base's own, and given away already.
    give_away(part.folder() / files_folder, Given::folders);
    UnpackLimits limits{options_.most_bytes, options_.most_files};
    unpack(options_.unpacker, ArchiveKind::changes, changes.get(), root.get(), limits);
    give_away(part.folder() / files_folder);
  }
  ImageSource facts;
  facts.digest = digest_of_commit(base, changes, config);
  facts.config = std::move(config);
  write_facts(part.folder(), facts);
  part.become(place);
}

fs::path ImageStore::blobs_folder() const { return options_.folder / ".blobs"; }

void ImageStore::clear_blobs() const {
  std::set<std::string> manifests;
  for (const ImageSummary& image : list()) manifests.insert(image.digest);
  BlobCache::clear(blobs_folder(), manifests);
}

void ImageStore::expect_archives() const { expect_unpacker(options_.unpacker); }

std::string ImageStore::pull(const std::string& text, std::string name,
                             const PullOptions& options) {
  const Reference reference = Reference::parse(text);
  constexpr std::string_view scheme = "docker://";
  if (name.empty()) name = text.starts_with(scheme) ? text.substr(scheme.size()) : text;
  const fs::path place = place_of(name);
  expect_archives();
  {
    const BlobCache blobs(blobs_folder());
    const std::string digest = blobs.pull(options_.puller, reference, options_.most_bytes, options);
    if (text_of(place / digest_file) == digest) return name;
    const ImageSource image = blobs.open(digest);
    check_machine(image.config);
    Part part(options_.folder);
    const UniqueFd root = part.make(files_folder);
    UnpackLimits limits{options_.most_bytes, options_.most_files};
    for (const UniqueFd& layer : image.layers)
      unpack(options_.unpacker, ArchiveKind::layer, layer.get(), root.get(), limits);
    name_loopback(part.folder() / files_folder);
    write_facts(part.folder(), image);
    part.become(place);
  }
  clear_blobs();
  return name;
}

std::vector<ImageSummary> ImageStore::list() const {
  std::vector<ImageSummary> images;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !fs::exists(entry.path() / config_file)) continue;
    std::ranges::replace(name, '+', '/');
    const ImageConfig config = ImageConfig::parse(text_of(entry.path() / config_file));
    images.push_back({name, text_of(entry.path() / digest_file), config.architecture});
  }
  std::ranges::sort(images, {}, &ImageSummary::name);
  return images;
}

void ImageStore::remove(const std::string& name) {
  const fs::path place = place_of(name);
  std::error_code error;
  const fs::path old =
      options_.folder / fmt::format("{}{}-{}", gone_name, ::getpid(), place.filename().string());
  fs::rename(place, old, error);
  if (error) throw request_error(fmt::format("there is no image '{}'", name), Errno::noent);
  remove_tree(old);
  clear_blobs();
}

}  // namespace cloche::images
