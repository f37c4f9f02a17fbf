// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/durable_file.h"
#include "base/guest_folders.h"
#include "base/host_error.h"
#include "base/unique_fd.h"
#include "cloche/archive.h"
#include "doors/rpc/protocol.h"

namespace cloche::rpc {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw HostError::from_errno(path + " of the host", errno);
}

UniqueFd open_to_read(const std::string& path) {
  auto file = guest_folders().open_to_read(path, O_NONBLOCK);
  if (!file) throw file.error();
  return *std::move(file);
}

}  // namespace

std::uint64_t write_state_file(const std::string& path, const Checkpoint& state) {
  const auto place = guest_folders().find(path, GuestFolders::LastLink::kept);
  if (!place) throw place.error();
  std::uint64_t size = 0;
  const auto write = [&]() -> Result<void> {
    CLOCHE_ASSIGN(DurableFile file, DurableFile::create(host_files(), place->path()));
    CLOCHE_TRY(state.write([&](std::span<const std::byte> bytes) {
      size += bytes.size();
      return file.write(bytes);
    }));
    return file.commit();
  };
  if (const Result<void> written = write(); !written)
    throw Error(written.error(), path + " of the host");
  return size;
}

std::unique_ptr<Sandbox> read_state_file(const std::string& path, Engine& engine,
                                         const SandboxOptions& options) {
  const UniqueFd file = open_to_read(path);
  struct stat status;
  if (::fstat(file.get(), &status) != 0) fail(path);
  if (!S_ISREG(status.st_mode)) throw request_error(path + " is no file");
  return must(import_state(
      engine, options,
      [&, at = std::uint64_t{0}](std::span<std::byte> to) mutable -> Result<std::size_t> {
        CLOCHE_ASSIGN(const std::size_t count, host_files().read_at(file.get(), at, to));
        at += count;
        return count;
      }));
}

bool is_image_file(const std::string& path) {
  static constexpr std::string_view first_word = "cloche-image ";
  const UniqueFd file = open_to_read(path);
  std::array<char, first_word.size()> start{};
  const ssize_t got = ::pread(file.get(), start.data(), start.size(), 0);
  return got == static_cast<ssize_t>(start.size()) &&
         std::string_view(start.data(), start.size()) == first_word;
}

}  // namespace cloche::rpc
