// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/frozen_image.h"

#include <fcntl.h>
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

constexpr std::size_t head_bytes = 2 * sizeof(std::uint64_t);  // the mark, and how long it is

std::uint64_t number_at(const std::string& text, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, text.data() + at, sizeof number);
  return number;
}

}  // namespace

Result<void> FrozenImage::begin() {
  if (number_at(head_, 0) != freeze::image_magic) return Errno::inval;
  size_ = number_at(head_, sizeof(std::uint64_t));
  if (size_ < sizeof(freeze::Head)) return Errno::inval;
  if (size_ > most_bytes_) return Errno::toobig;
  file_.reset(::memfd_create(name_, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    return errno_from_host(errno);
  if (!write_fully(file_.get(), head_)) return errno_from_host(errno);
  taken_ = head_.size();
  return {};
}

bool FrozenImage::take_from(int pipe) {
  if (problem_) return drop(pipe);
  if (!file_) return take_head(pipe);
  if (taken_ < size_) return take_content(pipe);
  if (!drop(pipe)) return false;
  problem_ = Errno::io;
  return true;
}

bool FrozenImage::take_head(int pipe) {
  std::array<char, head_bytes> bytes;
  const ssize_t got = ::read(pipe, bytes.data(), head_bytes - head_.size());
  if (got <= 0) return got < 0 && errno == EINTR;
  head_.append(bytes.data(), static_cast<std::size_t>(got));
  if (head_.size() < head_bytes) return true;
  if (const Result<void> begun = begin(); !begun) problem_ = begun.error();
  return true;
}

bool FrozenImage::take_content(int pipe) {
  const std::size_t most = std::min<std::uint64_t>(size_ - taken_, 1 << 20);
  const ssize_t got = ::splice(pipe, nullptr, file_.get(), nullptr, most, SPLICE_F_NONBLOCK);
  if (got > 0) taken_ += static_cast<std::uint64_t>(got);
  if (got >= 0) return got > 0;
  if (errno == EAGAIN) return false;
  if (errno != EINTR) problem_ = errno_from_host(errno);
  return true;
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
  if (!file_ || taken_ != size_) return Errno::io;
  CLOCHE_TRY(seal(file_));
  return std::move(file_);
}

}  // namespace cloche::sandbox
