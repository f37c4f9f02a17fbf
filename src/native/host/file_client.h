// SPDX-License-Identifier: Apache-2.0
// FileClient: the files of a box, through its file server. That is a process inside, which a guest
// can stop or end: a call may fail with EIO then, and the next one has a new server. Handles are
// gone with their server.
//
// Thread-safe; calls wait for each other. Paths are absolute, as the box sees them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "native/host/patience.h"
#include "native/warden/wire.h"

namespace cloche::native {

struct FileEntry {
  std::string name;
  std::string target;      // of a symbolic link
  std::uint32_t mode = 0;  // with the type, as stat has it
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t created_ns = 0;
  std::int64_t accessed_ns = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint64_t inode = 0;
};

class FileClient {
 public:
  // `connect` starts a server, and gives the channel to it. `limit`: for it to take a request, and
  // for it to answer; more than 0. For content of files, and lists, a server has that long and a
  // thirtieth of it more for each piece (warden::most_piece) that has come, and is given up beyond:
  // a guest that stops it, and lets it go on, again and again, makes nobody wait for longer.
  explicit FileClient(std::function<Result<UniqueFd>()> connect,
                      std::chrono::milliseconds limit = patience)
      : connect_(std::move(connect)), step_limit_(limit) {}

  // Of one server: another one knows it no more.
  struct Handle {
    std::uint64_t server = 0;
    std::uint32_t number = 0;
  };
  struct OpenedFile {
    Handle handle;
    bool is_new = false;  // it was not there
  };
  struct Times {
    std::int64_t accessed_ns = 0;
    std::int64_t modified_ns = 0;
  };

  // `flags` of warden::file_open.
  Result<OpenedFile> open(std::string_view path, std::uint32_t flags, std::uint32_t mode);
  void close(Handle file);
  Result<std::string> read(Handle file, std::uint64_t offset, std::size_t size);
  Result<void> write(Handle file, std::uint64_t offset, std::string_view bytes);
  Result<void> append(Handle file, std::string_view bytes);
  Result<void> truncate(Handle file, std::uint64_t size);
  // As stat; and what the file has before `end` can be written over from then on, holes included.
  // Where the file system cannot promise room that is only its stat.
  Result<FileEntry> fill_holes(Handle file, std::uint64_t end);
  Result<void> change_mode(Handle file, std::uint32_t mode);
  Result<void> set_times(Handle file, const Times& times);
  Result<FileEntry> stat(Handle file);

  Result<FileEntry> stat(std::string_view path);
  Result<FileEntry> link_stat(std::string_view path);
  Result<std::vector<FileEntry>> list(std::string_view path, std::size_t most);
  Result<void> make_directory(std::string_view path, std::uint32_t mode);
  Result<void> make_folders(std::string_view path);
  Result<void> remove(std::string_view path);
  Result<void> remove_all(std::string_view path);
  enum class Target : std::uint8_t { replaced, kept };  // kept: EEXIST where anything is there
  Result<void> rename(std::string_view from, std::string_view to, Target target);
  Result<void> change_mode(std::string_view path, std::uint32_t mode);
  Result<void> change_owner(std::string_view path, std::uint32_t user, std::uint32_t group);
  Result<void> set_times(std::string_view path, const Times& times);
  // Of a symbolic link itself.
  Result<void> set_link_times(std::string_view path, const Times& times);
  Result<void> symlink(std::string_view target, std::string_view path);
  Result<void> link(std::string_view existing, std::string_view path);
  Result<std::string> resolve(std::string_view path);
  // Extended attributes; these follow links.
  Result<std::vector<std::string>> attribute_names(std::string_view path);
  Result<std::string> attribute(std::string_view path, std::string_view name);
  Result<void> set_attribute(std::string_view path, std::string_view name, std::string_view value);
  Result<void> remove_attribute(std::string_view path, std::string_view name);

  // Held while a file is written whole: what is many calls is one for all who hold it.
  Mutex& whole_files() noexcept EXCLUDES(whole_files_) { return whole_files_; }

 private:
  struct Reply {
    std::uint64_t server = 0;  // whose it is
    warden::FileAnswer answer;
    std::string bytes;
  };
  static double whole_part(const Reply& reply);
  // With the lock.
  Result<void> send(const warden::FileRequest& request, std::string_view payload) REQUIRES(mutex_);
  // Without an open file, so that another server can be asked.
  Result<void> send_anew(const warden::FileRequest& request, std::string_view payload)
      REQUIRES(mutex_);
  Result<void> send_of(Handle file, warden::FileRequest request, std::string_view payload)
      REQUIRES(mutex_);
  Result<Reply> receive(std::chrono::milliseconds limit) REQUIRES(mutex_);
  Result<Reply> receive() REQUIRES(mutex_) { return receive(step_limit_); }
  // Part of what is more than an answer. `part` is how much of a piece has come with a good one.
  Result<Reply> receive_part(const std::function<double(const Reply& reply)>& part)
      REQUIRES(mutex_);

  Result<Reply> call(const warden::FileRequest& request, std::string_view payload);
  Result<Reply> call(Handle file, const warden::FileRequest& request,
                     std::string_view payload = {});
  Result<Reply> call_for_part(Handle file, const warden::FileRequest& request,
                              std::string_view payload,
                              const std::function<double(const Reply& reply)>& part);
  Result<void> at(warden::FileRequest request, std::string_view path, std::string_view other = {});
  Result<FileEntry> entry(warden::FileOp op, std::string_view path);

  std::function<Result<UniqueFd>()> connect_;
  const std::chrono::milliseconds step_limit_;
  Mutex whole_files_;  // comes before mutex_
  Mutex mutex_;
  UniqueFd channel_ GUARDED_BY(mutex_);
  std::uint64_t server_ GUARDED_BY(mutex_) = 0;
  std::chrono::nanoseconds left_ GUARDED_BY(mutex_){0};  // for parts that this server sends
};

}  // namespace cloche::native
