// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/frozen_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/write_fully.h"
#include "native/thaw/image.h"
#include "sandbox/native/sealed_file.h"

namespace cloche::sandbox {
namespace {

// As much is written at once, at places that are multiples of it: pages of the file that are as
// large need not be emptied before.
constexpr std::size_t piece_bytes = 256 << 10;

}  // namespace

Result<void> FrozenImage::begin() {
  std::array<std::uint64_t, 2> told;  // the mark, and how long it is
  static_assert(sizeof told == head_bytes);
  std::memcpy(told.data(), piece_.data(), sizeof told);
  if (told[0] != freeze::image_magic || told[1] < sizeof(freeze::Head)) return Errno::inval;
  if (told[1] > most_bytes_) return Errno::toobig;
  if (!file_) file_.reset(::memfd_create(name_, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(told[1])) != 0)
    return errno_from_host(errno);
  size_ = told[1];
  piece_.resize(piece_bytes);
  return {};
}

bool FrozenImage::take_from(int pipe) {
  if (problem_) return drop(pipe);
  if (is_whole()) {
    if (!drop(pipe)) return false;
    problem_ = Errno::io;
    return true;
  }
  const std::uint64_t most = size_ == 0 ? head_bytes - held_ : size_ - taken_;
  const ssize_t got =
      ::read(pipe, piece_.data() + held_, std::min<std::uint64_t>(most, piece_.size() - held_));
  if (got <= 0) return got < 0 && errno == EINTR;
  held_ += static_cast<std::size_t>(got);
  taken_ += static_cast<std::uint64_t>(got);
  Result<void> done;
  if (size_ == 0) {
    if (taken_ == head_bytes) done = begin();
  } else if (held_ == piece_.size() || is_whole()) {
    done = write_piece();
  }
  if (!done) problem_ = done.error();
  return true;
}

Result<void> FrozenImage::write_piece() {
  if (!write_fully(file_.get(), std::string_view(piece_.data(), held_)))
    return errno_from_host(errno);
  held_ = 0;
  return {};
}

bool FrozenImage::drop(int pipe) {
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  do {
    got = ::read(pipe, bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  return got > 0;
}

Result<UniqueFd> FrozenImage::finish() {
  if (problem_) return *problem_;
  if (!is_whole()) return Errno::io;
  if (result_) {
    file_.reset();
    return std::move(result_);
  }
  CLOCHE_TRY(seal(file_));
  return std::move(file_);
}

}  // namespace cloche::sandbox
