// SPDX-License-Identifier: Apache-2.0
#include "vfs/shared_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/check.h"
#include "base/host_error.h"
#include "base/unique_fd.h"

namespace cloche::vfs {

SharedBytes SharedBytes::from_string(std::string content) {
  const auto owner = std::make_shared<const std::string>(std::move(content));
  return {std::as_bytes(std::span(*owner)), owner};
}

SharedBytes SharedBytes::map_file(const std::string& host_path) {
  const UniqueFd fd(::open(host_path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st{};
  if (!fd || ::fstat(fd.get(), &st) != 0)
    throw HostError::from_errno("opening " + host_path, errno);
  if (!S_ISREG(st.st_mode)) throw HostError(host_path + " is not a regular file");
  const auto size = static_cast<std::size_t>(st.st_size);
  if (size == 0) return {};
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED) throw HostError::from_errno("mapping " + host_path, errno);
  std::shared_ptr<const void> owner(memory, [size](void* at) { ::munmap(at, size); });
  return {{static_cast<const std::byte*>(memory), size}, std::move(owner)};
}

SharedBytes SharedBytes::part(std::size_t offset, std::size_t size) const {
  CLOCHE_CHECK(offset <= data_.size() && size <= data_.size() - offset);
  return {data_.subspan(offset, size), owner_};
}

}  // namespace cloche::vfs
