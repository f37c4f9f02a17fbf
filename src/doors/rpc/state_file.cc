// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.h"
#include "base/write_fully.h"
#include "doors/rpc/protocol.h"

namespace cloche::rpc {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw sandbox_error(errno_from_host(errno), path + " of the host");
}

}  // namespace

void write_state_file(const std::string& path, std::string_view state) {
  const std::string part = fmt::format("{}.part{}", path, ::getpid());
  const UniqueFd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) fail(path);
  if (write_fully(file.get(), state) && ::rename(part.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  ::unlink(part.c_str());
  errno = error;
  fail(path);
}

std::string read_state_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0) fail(path);
  if (!S_ISREG(status.st_mode)) throw sandbox_error(Errno::inval, path + " is no file");
  std::string state(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < state.size()) {
    const ssize_t n = ::read(file.get(), state.data() + got, state.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  state.resize(got);
  return state;
}

bool is_image_file(const std::string& path) {
  static constexpr std::string_view first_word = "cloche-image ";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) fail(path);
  std::array<char, first_word.size()> start{};
  const ssize_t got = ::pread(file.get(), start.data(), start.size(), 0);
  return got == static_cast<ssize_t>(start.size()) &&
         std::string_view(start.data(), start.size()) == first_word;
}

}  // namespace cloche::rpc
