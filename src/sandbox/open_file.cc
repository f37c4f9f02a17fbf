// SPDX-License-Identifier: Apache-2.0
#include "cloche/open_file.h"

#include "sandbox/file_info.h"
#include "sandbox/sandbox_state.h"
#include "vfs/checked_operations.h"

namespace cloche {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

vfs::Timestamp timestamp_of(std::int64_t ns) {
  std::int64_t seconds = ns / ns_per_s;
  std::int64_t rest = ns % ns_per_s;
  if (rest < 0) {
    rest += ns_per_s;
    --seconds;
  }
  return {seconds, static_cast<std::uint32_t>(rest)};
}

}  // namespace

struct OpenFile::State {
  sandbox::SandboxState& sandbox;
  vfs::Credentials user;
  std::unique_ptr<vfs::NodeIo> io;  // touched, and let go of, under the kernel lock

  std::mutex& mutex() const { return sandbox.kernel().mutex(); }
};

OpenFile::OpenFile(std::unique_ptr<State> state) : state_(std::move(state)) {}

OpenFile::~OpenFile() {
  const std::lock_guard lock(state_->mutex());
  state_->io.reset();
}

Result<std::string> OpenFile::read(std::uint64_t offset, std::size_t size_bytes) {
  const std::lock_guard lock(state_->mutex());
  CLOCHE_ASSIGN(const vfs::Stat stat, state_->io->stat());
  const std::uint64_t left = stat.size - std::min(stat.size, offset);
  std::string content(static_cast<std::size_t>(std::min<std::uint64_t>(left, size_bytes)), '\0');
  std::size_t got = 0;
  while (got < content.size()) {
    CLOCHE_ASSIGN(
        const std::size_t count,
        state_->io->read(offset + got, std::as_writable_bytes(std::span(content)).subspan(got)));
    if (count == 0) break;
    got += count;
  }
  content.resize(got);
  return content;
}

Result<void> OpenFile::write(std::uint64_t offset, std::string_view data) {
  const std::lock_guard lock(state_->mutex());
  while (!data.empty()) {
    CLOCHE_ASSIGN(const std::size_t count,
                  state_->io->write(offset, std::as_bytes(std::span(data))));
    offset += count;
    data.remove_prefix(count);
  }
  return {};
}

Result<void> OpenFile::append(std::string_view data) {
  const std::lock_guard lock(state_->mutex());
  while (!data.empty()) {
    CLOCHE_ASSIGN(const vfs::NodeIo::Appended done,
                  state_->io->append(std::as_bytes(std::span(data))));
    data.remove_prefix(done.count);
  }
  return {};
}

Result<void> OpenFile::truncate(std::uint64_t size_bytes) {
  const std::lock_guard lock(state_->mutex());
  return state_->io->truncate(size_bytes);
}

Result<void> OpenFile::change_mode(std::uint32_t mode) {
  const std::lock_guard lock(state_->mutex());
  return vfs::chmod(state_->io->node(), mode, state_->user);
}

Result<void> OpenFile::set_times(std::int64_t accessed_ns, std::int64_t modified_ns) {
  using Kind = vfs::TimeChange::Kind;
  const std::lock_guard lock(state_->mutex());
  return vfs::set_times(state_->io->node(), {Kind::at, timestamp_of(accessed_ns)},
                        {Kind::at, timestamp_of(modified_ns)}, {}, state_->user);
}

Result<FileInfo> OpenFile::stat() {
  const std::lock_guard lock(state_->mutex());
  CLOCHE_ASSIGN(const vfs::Stat stat, state_->io->stat());
  return sandbox::info_of({.name = {}, .stat = stat, .target = {}});
}

Result<std::unique_ptr<OpenFile>> Files::open(std::string_view path, OpenMode mode,
                                              std::uint32_t permissions) {
  vfs::Access access = vfs::Access::none;
  if (has(mode, OpenMode::read)) access = access | vfs::Access::read;
  if (has(mode, OpenMode::write | OpenMode::truncate)) access = access | vfs::Access::write;
  return state_.with_files([&](vfs::PathOperations& ops) -> Result<std::unique_ptr<OpenFile>> {
    const bool creates = has(mode, OpenMode::create);
    const auto new_mode = creates ? std::optional(permissions) : std::nullopt;
    const auto existing =
        creates && has(mode, OpenMode::exclusive) ? vfs::Existing::error : vfs::Existing::fine;
    CLOCHE_ASSIGN(std::unique_ptr<vfs::NodeIo> io, ops.open_file(path, access, new_mode, existing));
    if (has(mode, OpenMode::truncate)) CLOCHE_TRY(io->truncate(0));
    return std::unique_ptr<OpenFile>(new OpenFile(
        std::make_unique<OpenFile::State>(OpenFile::State{state_, ops.user(), std::move(io)})));
  });
}

Result<void> Files::set_times(std::string_view path, std::int64_t accessed_ns,
                              std::int64_t modified_ns) {
  return state_.with_files([&](vfs::PathOperations& ops) {
    return ops.set_times(path, timestamp_of(accessed_ns), timestamp_of(modified_ns));
  });
}

}  // namespace cloche
