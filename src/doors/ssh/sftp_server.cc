// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/sftp_server.h"

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "doors/ssh/packet.h"
#include "doors/ssh/sftp_wire.h"

namespace cloche::ssh {

using namespace sftp;

namespace {

// A small request asks for much: others wait while that much has not been sent.
constexpr std::size_t out_max_bytes = 1 << 20;
constexpr std::size_t entries_per_answer = 100;

OpenMode mode_of(std::uint32_t flags) {
  const bool writes = (flags & (f_write | f_append)) != 0;
  OpenMode mode = OpenMode::none;
  if ((flags & f_read) != 0) mode |= OpenMode::read;
  if (writes) mode |= OpenMode::write;
  if ((flags & f_create) != 0) mode |= OpenMode::create;
  if ((flags & f_exclusive) != 0) mode |= OpenMode::exclusive;
  if (writes && (flags & f_truncate) != 0) mode |= OpenMode::truncate;
  return mode;
}

// Where nothing has changed a save costs nothing.
bool says_that_something_is_done(std::uint8_t type) {
  return type == t_close || type == t_setstat || type == t_fsetstat || type == t_remove ||
         type == t_mkdir || type == t_rmdir || type == t_rename || type == t_symlink ||
         type == t_extended;
}

// Nobody can give an open file away; to say whose it is already changes nothing.
Result<void> keep_owner(const Result<FileInfo>& info,
                        std::pair<std::uint32_t, std::uint32_t> owner) {
  if (!info) return info.error();
  return owner == std::pair(info->user, info->group) ? Result<void>() : Errno::perm;
}

}  // namespace

SftpServer::SftpServer(Sandbox& sandbox, FoldersOfOwner folders, SymlinkOrder symlinks,
                       std::function<Result<void>()> save)
    : sandbox_(sandbox),
      files_(sandbox.files()),
      folders_(std::move(folders)),
      symlinks_(symlinks),
      save_(std::move(save)) {}
SftpServer::~SftpServer() = default;

void SftpServer::feed(std::string_view bytes, std::string& out) {
  if (failed_) return;
  pending_ += bytes;
  if (copy_) go_on_copying(out);
  std::size_t at = 0;
  stalled_ = copy_.has_value();
  while (!stalled_ && pending_.size() - at >= 4) {
    const std::uint32_t size = PacketReader(std::string_view(pending_).substr(at)).u32();
    if (size == 0 || size > packet_max_bytes) {
      failed_ = true;
      break;
    }
    if (pending_.size() - at - 4 < size) break;
    if (out.size() > out_max_bytes) {
      stalled_ = true;
      break;
    }
    answer(std::string_view(pending_).substr(at + 4, size), out);
    at += 4 + size;
    stalled_ = copy_.has_value();
  }
  pending_.erase(0, at);
}

void SftpServer::answer(std::string_view packet, std::string& out) {
  PacketReader in(packet);
  const std::uint8_t type = in.byte();
  if (!started_) {
    if (type != t_init) {
      failed_ = true;
      return;
    }
    started_ = true;
    return send(out, PacketWriter()
                         .byte(t_version)
                         .u32(3)
                         .string("posix-rename@openssh.com")
                         .string("1")
                         .string("fsync@openssh.com")
                         .string("1")
                         .string("limits@openssh.com")
                         .string("1")
                         .string("statvfs@openssh.com")
                         .string("2")
                         .string("fstatvfs@openssh.com")
                         .string("2")
                         .string("hardlink@openssh.com")
                         .string("1")
                         .string("lsetstat@openssh.com")
                         .string("1")
                         .string("expand-path@openssh.com")
                         .string("1")
                         .string("copy-data")
                         .string("1")
                         .string("home-directory")
                         .string("1"));
  }
  const std::uint32_t id = in.u32();
  std::string own;
  serve(type, id, in, own);
  if (in.good() && says_that_something_is_done(type) && !copy_) save(id, own);
  // An answer to half a request would be an answer to another one.
  if (!in.good()) {
    own.clear();
    send_status(own, id, s_bad_message, "Bad message");
  }
  out += own;
}

void SftpServer::save(std::uint32_t id, std::string& answer) {
  if (!save_) return;
  const Result<void> saved = save_();
  if (saved) return;
  answer.clear();
  send_status(answer, id, s_failure,
              "Not saved: " + std::string(errno_info(saved.error()).message));
}

void SftpServer::serve(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out) {
  switch (type) {
    case t_open: return open(id, in, out);
    case t_close: return close(id, in, out);
    case t_read: return read(id, in, out);
    case t_write: return write(id, in, out);
    case t_stat:
    case t_lstat:
    case t_fstat: return stat(type, id, in, out);
    case t_setstat:
    case t_fsetstat: return set_stat(type, id, in, out);
    case t_opendir: return open_folder(id, in, out);
    case t_readdir: return read_folder(id, in, out);
    case t_remove:
    case t_rmdir: return remove(type, id, in, out);
    case t_mkdir: {
      const std::string path(in.string());
      const Attributes attributes = read_attributes(in);
      if (!in.good()) return;
      Result<void> done = files_.make_directory(path);
      if (done && attributes.permissions)
        done = files_.change_mode(path, *attributes.permissions & ~new_mask);
      return send_done(out, id, done);
    }
    case t_realpath: return real_path(id, in, out);
    case t_rename: return rename(id, in, out, IfThere::refuse);
    case t_readlink: return read_link(id, in, out);
    case t_symlink: {
      std::string_view target = in.string();
      std::string_view path = in.string();
      if (!in.good()) return;
      if (symlinks_ == SymlinkOrder::link_first) std::swap(target, path);
      return send_done(out, id, files_.make_symlink(target, path));
    }
    case t_extended: return extended(id, in, out);
    default: send_status(out, id, s_unsupported, "Operation unsupported");
  }
}

SftpServer::Handle* SftpServer::find(std::string_view name) {
  const auto it = handles_.find(name);
  return it == handles_.end() ? nullptr : &it->second;
}

std::string SftpServer::add(Handle handle) {
  const std::string name = std::to_string(++last_handle_);
  handles_.emplace(name, std::move(handle));
  return name;
}

void SftpServer::open(std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view path = in.string();
  const std::uint32_t flags = in.u32();
  const Attributes attributes = read_attributes(in);
  if (!in.good()) return;
  if (handles_.size() >= handles_max) return send_status(out, id, s_failure, "Too many open files");
  Result<std::unique_ptr<OpenFile>> file =
      files_.open(path, mode_of(flags), attributes.permissions.value_or(0644) & ~new_mask);
  if (!file) return send_error(out, id, file.error());
  Handle handle;
  handle.file = *std::move(file);
  handle.appends = (flags & f_append) != 0;
  send(out, PacketWriter().byte(t_handle).u32(id).string(add(std::move(handle))));
}

void SftpServer::close(std::uint32_t id, PacketReader& in, std::string& out) {
  const auto it = handles_.find(in.string());
  if (!in.good()) return;
  if (it == handles_.end()) return send_status(out, id, s_failure, "No such handle");
  handles_.erase(it);
  send_status(out, id, s_ok, "Success");
}

void SftpServer::read(std::uint32_t id, PacketReader& in, std::string& out) {
  const Handle* handle = find(in.string());
  const std::uint64_t offset = in.u64();
  const std::uint32_t size = in.u32();
  if (!in.good()) return;
  if (!handle || !handle->file) return send_status(out, id, s_failure, "No such handle");
  const Result<std::string> data =
      handle->file->read(offset, std::min<std::size_t>(size, read_max_bytes));
  if (!data) return send_error(out, id, data.error());
  if (data->empty() && size > 0) return send_status(out, id, s_eof, "End of file");
  send(out, PacketWriter().byte(t_data).u32(id).string(*data));
}

void SftpServer::write(std::uint32_t id, PacketReader& in, std::string& out) {
  const Handle* handle = find(in.string());
  const std::uint64_t offset = in.u64();
  const std::string_view data = in.string();
  if (!in.good()) return;
  if (!handle || !handle->file) return send_status(out, id, s_failure, "No such handle");
  send_done(out, id,
            handle->appends ? handle->file->append(data) : handle->file->write(offset, data));
}

void SftpServer::stat(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view name = in.string();
  if (!in.good()) return;
  if (type == t_stat) return send_info(out, id, files_.stat(name));
  if (type == t_lstat) return send_info(out, id, files_.link_stat(name));
  const Handle* handle = find(name);
  if (!handle || !handle->file) return send_status(out, id, s_failure, "No such handle");
  send_info(out, id, handle->file->stat());
}

void SftpServer::set_stat(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view name = in.string();
  const Attributes wanted = read_attributes(in);
  if (!in.good()) return;
  std::unique_ptr<OpenFile> opened;
  OpenFile* file = nullptr;
  if (type == t_fsetstat) {
    const Handle* handle = find(name);
    if (!handle || !handle->file) return send_status(out, id, s_failure, "No such handle");
    file = handle->file.get();
  } else if (wanted.size) {
    Result<std::unique_ptr<OpenFile>> result = files_.open(name, OpenMode::write);
    if (!result) return send_error(out, id, result.error());
    opened = *std::move(result);
  }
  Result<void> done;
  if (wanted.size) done = (file ? file : opened.get())->truncate(*wanted.size);
  if (done && wanted.owner)
    done = file ? keep_owner(file->stat(), *wanted.owner)
                : files_.change_owner(name, wanted.owner->first, wanted.owner->second);
  if (done && wanted.permissions) {
    done = file ? file->change_mode(*wanted.permissions)
                : files_.change_mode(name, *wanted.permissions);
  }
  if (done && wanted.times) {
    const std::int64_t accessed = wanted.times->first * ns_per_s;
    const std::int64_t modified = wanted.times->second * ns_per_s;
    done = file ? file->set_times(accessed, modified) : files_.set_times(name, accessed, modified);
  }
  if (done && !file && !wanted.size && !wanted.owner && !wanted.permissions && !wanted.times) {
    const Result<FileInfo> there = files_.stat(name);
    if (!there) done = there.error();
  }
  send_done(out, id, done);
}

void SftpServer::open_folder(std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view path = in.string();
  if (!in.good()) return;
  if (handles_.size() >= handles_max) return send_status(out, id, s_failure, "Too many open files");
  Result<std::vector<FileInfo>> entries = files_.list(path);
  if (!entries) return send_error(out, id, entries.error());
  // An empty folder takes memory, too: "." and "..".
  std::optional<OpenFolders::Share> share = folders_.take(&sandbox_, entries->size() + 2);
  if (!share) return send_status(out, id, s_failure, "Too many open folders");
  Handle handle;
  handle.share = *std::move(share);
  for (const char* name : {".", ".."}) {
    const Result<FileInfo> info = files_.stat(std::string(path) + "/" + name);
    if (!info) continue;
    handle.entries.push_back(*info);
    handle.entries.back().name = name;
  }
  handle.entries.insert(handle.entries.end(), std::make_move_iterator(entries->begin()),
                        std::make_move_iterator(entries->end()));
  send(out, PacketWriter().byte(t_handle).u32(id).string(add(std::move(handle))));
}

void SftpServer::read_folder(std::uint32_t id, PacketReader& in, std::string& out) {
  Handle* handle = find(in.string());
  if (!in.good()) return;
  if (!handle || handle->file) return send_status(out, id, s_failure, "No such handle");
  const std::size_t count = std::min(entries_per_answer, handle->entries.size() - handle->next);
  if (count == 0) {
    handle->entries = {};
    handle->next = 0;
    handle->share = {};
    return send_status(out, id, s_eof, "End of folder");
  }
  // In an image of the linux engine it may be called anything.
  const SandboxOptions& sandbox = sandbox_.options();
  const std::string_view user =
      sandbox.engine == EngineKind::wasm ? std::string_view(sandbox.user) : std::string_view();
  PacketWriter answer;
  answer.byte(t_name).u32(id).u32(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const FileInfo& info = handle->entries[handle->next++];
    answer.string(info.name).string(long_name(info, user));
    write_attributes(answer, info);
  }
  send(out, answer);
}

std::string SftpServer::home() const {
  const Result<std::string> home = files_.resolve(".");
  return home ? *home : sandbox_.options().home;
}

// Without "." and "..", as text: clients ask for this of paths that do not exist, too.
std::string SftpServer::normal_path(std::string_view path) const {
  const std::string whole =
      path.starts_with('/') ? std::string(path) : home() + "/" + std::string(path);
  std::vector<std::string_view> parts;
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string normal;
  for (const std::string_view part : parts) normal.append("/").append(part);
  return normal.empty() ? "/" : normal;
}

void SftpServer::send_name(std::uint32_t id, std::string_view name, std::string& out) {
  send(out, PacketWriter().byte(t_name).u32(id).u32(1).string(name).string(name).u32(0));
}

void SftpServer::real_path(std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view path = in.string();
  if (!in.good()) return;
  const Result<std::string> leads_to = files_.resolve(path);
  send_name(id, leads_to ? *leads_to : normal_path(path), out);
}

void SftpServer::read_link(std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view path = in.string();
  if (!in.good()) return;
  const Result<FileInfo> info = files_.link_stat(path);
  if (!info) return send_error(out, id, info.error());
  if (info->kind != FileKind::symlink) return send_error(out, id, Errno::inval);
  send_name(id, info->target, out);
}

void SftpServer::rename(std::uint32_t id, PacketReader& in, std::string& out, IfThere there) {
  const std::string_view from = in.string();
  const std::string_view to = in.string();
  if (!in.good()) return;
  send_done(out, id, files_.rename(from, to, there));
}

void SftpServer::remove(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view path = in.string();
  if (!in.good()) return;
  const Result<FileInfo> info = files_.link_stat(path);
  if (!info) return send_error(out, id, info.error());
  const bool is_folder = info->kind == FileKind::directory;
  if (type == t_remove && is_folder) return send_error(out, id, Errno::isdir);
  if (type == t_rmdir && !is_folder) return send_error(out, id, Errno::notdir);
  send_done(out, id, files_.remove(path));
}

}  // namespace cloche::ssh
