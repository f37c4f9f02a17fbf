// SPDX-License-Identifier: Apache-2.0
#include "native/pull/blob_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <span>

#include "base/hex.h"
#include "base/host_error.h"
#include "base/write_fully.h"

namespace cloche::pull {
namespace {

std::string digits_of(const std::string& digest) { return digest.substr(digest.find(':') + 1); }

[[noreturn]] void fail(const char* step) { throw HostError::from_errno(step, errno); }

// Whether the file's bytes have that digest.
bool is_right(const UniqueFd& file, const std::string& digest) {
  Sha256 sum;
  std::array<std::byte, 65536> piece;
  ssize_t got = 0;
  while ((got = ::read(file.get(), piece.data(), piece.size())) > 0)
    sum.add(std::span(piece).first(static_cast<std::size_t>(got)));
  return got == 0 && "sha256:" + to_hex(sum.end()) == digest;
}

}  // namespace

std::string sha256_digest(std::string_view text) { return "sha256:" + to_hex(sha256(text)); }

BlobFile::BlobFile(int folder, images::Descriptor blob)
    : folder_(folder),
      blob_(std::move(blob)),
      part_(fmt::format(".part-{}-{}", ::getpid(), digits_of(blob_.digest))),
      file_(::openat(folder, part_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                     0644)) {
  if (!file_) fail("a file for a blob");
}

BlobFile::~BlobFile() {
  if (!part_.empty()) (void)::unlinkat(folder_, part_.c_str(), 0);
}

void BlobFile::add(std::string_view piece) {
  if (piece.size() > blob_.size - bytes_)
    throw request_error(
        fmt::format("the registry sends more for {} than its {} bytes", blob_.digest, blob_.size));
  if (!write_fully(file_.get(), piece)) fail("writing a blob");
  digest_->add(piece);
  bytes_ += piece.size();
}

void BlobFile::restart() {
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0)
    fail("writing a blob");
  bytes_ = 0;
  digest_ = std::make_unique<Sha256>();
}

void BlobFile::finish() {
  if (bytes_ != blob_.size || "sha256:" + to_hex(digest_->end()) != blob_.digest)
    throw request_error(fmt::format(
        "the registry sends another blob than {}: it was damaged, or is a forgery", blob_.digest));
  // What a crash of the machine leaves is found out by has().
  if (::renameat(folder_, part_.c_str(), folder_, digits_of(blob_.digest).c_str()) != 0)
    fail("naming a blob");
  part_.clear();
}

BlobFolder::BlobFolder(int folder) {
  for (const char* path : {"blobs", "blobs/sha256"}) {
    if (::mkdirat(folder, path, 0755) != 0 && errno != EEXIST) fail("the folder of blobs");
  }
  blobs_ =
      UniqueFd(::openat(folder, "blobs/sha256", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!blobs_) fail("the folder of blobs");
}

bool BlobFolder::has(const images::Descriptor& blob) const {
  const std::string name = digits_of(blob.digest);
  const UniqueFd file(
      ::openat(blobs_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return false;
  struct stat of{};
  if (::fstat(file.get(), &of) == 0 && S_ISREG(of.st_mode) &&
      static_cast<std::uint64_t>(of.st_size) == blob.size && is_right(file, blob.digest))
    return true;
  (void)::unlinkat(blobs_.get(), name.c_str(), 0);
  return false;
}

std::unique_ptr<BlobFile> BlobFolder::start(const images::Descriptor& blob) const {
  return std::unique_ptr<BlobFile>(new BlobFile(blobs_.get(), blob));
}

std::uint64_t BlobFolder::free_bytes() const {
  struct statvfs of{};
  if (::fstatvfs(blobs_.get(), &of) != 0) fail("the folder of blobs");
  return static_cast<std::uint64_t>(of.f_bavail) * of.f_frsize;
}

}  // namespace cloche::pull
