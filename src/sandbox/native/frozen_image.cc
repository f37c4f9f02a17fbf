// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/frozen_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

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

FrozenImage::~FrozenImage() {
  if (content_ != nullptr) ::munmap(content_, size_);
}

Result<void> FrozenImage::begin() {
  if (number_at(head_, 0) != freeze::image_magic) return Errno::inval;
  size_ = number_at(head_, sizeof(std::uint64_t));
  if (size_ < sizeof(freeze::Head)) return Errno::inval;
  if (size_ > most_bytes_) return Errno::toobig;
  file_.reset(::memfd_create("cloche", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    return errno_from_host(errno);
  void* const mapping = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapping == MAP_FAILED) return errno_from_host(errno);
  content_ = static_cast<std::byte*>(mapping);
  std::memcpy(content_, head_.data(), head_.size());
  taken_ = head_.size();
  return {};
}

std::size_t FrozenImage::room() const noexcept {
  return content_ == nullptr ? head_bytes - head_.size() : size_ - taken_;
}

bool FrozenImage::take_from(int pipe) {
  std::array<std::byte, 4096> aside;
  const bool is_over = problem_ || room() == 0;
  std::byte* const to = content_ != nullptr && !is_over ? content_ + taken_ : aside.data();
  const std::size_t most = is_over ? aside.size() : room();
  const ssize_t got = ::read(pipe, to, std::min<std::size_t>(most, 1 << 20));
  if (got <= 0) return got < 0 && errno == EINTR;
  if (is_over) {
    if (!problem_) problem_ = Errno::io;
  } else if (content_ != nullptr) {
    taken_ += static_cast<std::uint64_t>(got);
  } else {
    head_.append(reinterpret_cast<const char*>(aside.data()), static_cast<std::size_t>(got));
    if (head_.size() == head_bytes) {
      if (const Result<void> begun = begin(); !begun) problem_ = begun.error();
    }
  }
  return true;
}

Result<UniqueFd> FrozenImage::finish() {
  if (problem_) return *problem_;
  if (content_ == nullptr || taken_ != size_) return Errno::io;
  ::munmap(content_, size_);
  content_ = nullptr;
  CLOCHE_TRY(seal(file_));
  return std::move(file_);
}

}  // namespace cloche::sandbox
