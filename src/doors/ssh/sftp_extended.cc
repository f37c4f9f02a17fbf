// SPDX-License-Identifier: Apache-2.0
// What SftpServer does beyond version 3: extensions of OpenSSH's, and of
// draft-ietf-secsh-filexfer-extensions-00.
#include <algorithm>

#include "base/units.h"
#include "doors/ssh/packet.h"
#include "doors/ssh/sftp_server.h"
#include "doors/ssh/sftp_wire.h"

namespace cloche::ssh {

using namespace sftp;

namespace {

// Of a copy, before the other channels of the connection have their turn.
constexpr std::size_t copy_piece_bytes = 512 << 10;

// By its number, and, since folders of the machine have numbers of their own, by its size and when
// it was made.
bool are_same_file(OpenFile& one, OpenFile& other) {
  const Result<FileInfo> a = one.stat();
  const Result<FileInfo> b = other.stat();
  return a && b && a->inode == b->inode && a->size_bytes == b->size_bytes &&
         a->created_ns == b->created_ns;
}

}  // namespace

void SftpServer::extended(std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view name = in.string();
  if (!in.good()) return;
  if (name == "limits@openssh.com") {
    return send(out, PacketWriter()
                         .byte(t_extended_reply)
                         .u32(id)
                         .u64(packet_max_bytes)
                         .u64(read_max_bytes)
                         .u64(packet_max_bytes - 1024)
                         .u64(handles_max));
  }
  if (name == "copy-data") return begin_copy(id, in, out);
  if (extended_at_path(name, id, in, out) || extended_at_handle(name, id, in, out)) return;
  send_status(out, id, s_unsupported, "Operation unsupported");
}

// False: there is none of that name.
bool SftpServer::extended_at_path(std::string_view name, std::uint32_t id, PacketReader& in,
                                  std::string& out) {
  if (name == "posix-rename@openssh.com") {
    rename(id, in, out, IfThere::replace);
  } else if (name == "lsetstat@openssh.com") {
    set_link_stat(id, in, out);
  } else if (name == "hardlink@openssh.com") {
    const std::string_view existing = in.string();
    const std::string_view path = in.string();
    if (in.good()) send_done(out, id, files_.make_link(existing, path));
  } else if (name == "statvfs@openssh.com") {
    const Result<FileInfo> there = files_.stat(in.string());
    if (!in.good()) return true;
    there ? space(id, out) : send_error(out, id, there.error());
  } else if (name == "expand-path@openssh.com") {
    const std::string_view path = in.string();
    if (in.good()) expand(id, path, out);
  } else if (name == "home-directory") {
    const std::string_view user = in.string();
    if (in.good()) expand(id, "~" + std::string(user), out);
  } else {
    return false;
  }
  return true;
}

// False: there is none of that name.
bool SftpServer::extended_at_handle(std::string_view name, std::uint32_t id, PacketReader& in,
                                    std::string& out) {
  const bool is_sync = name == "fsync@openssh.com";
  if (!is_sync && name != "fstatvfs@openssh.com") return false;
  const Handle* handle = find(in.string());
  if (!in.good()) return true;
  if (!handle) {
    send_status(out, id, s_failure, "No such handle");
  } else if (is_sync) {
    send_status(out, id, s_ok, "Success");
  } else {
    space(id, out);
  }
  return true;
}

// As a request for it, but of a symbolic link itself, which has no size and no permissions.
void SftpServer::set_link_stat(std::uint32_t id, PacketReader& in, std::string& out) {
  const std::string_view path = in.string();
  const Attributes wanted = read_attributes(in);
  if (!in.good()) return;
  const Result<FileInfo> there = files_.link_stat(path);
  if (!there) return send_error(out, id, there.error());
  if (wanted.size) return send_status(out, id, s_bad_message, "Bad message");
  const bool is_link = there->kind == FileKind::symlink;
  Result<void> done;
  if (wanted.permissions)
    done = is_link ? Result<void>(Errno::notsup) : files_.change_mode(path, *wanted.permissions);
  if (done && wanted.owner && *wanted.owner != std::pair(there->user, there->group)) {
    done = is_link ? Result<void>(Errno::perm)
                   : files_.change_owner(path, wanted.owner->first, wanted.owner->second);
  }
  if (done && wanted.times) {
    done = files_.set_link_times(path, wanted.times->first * ns_per_s,
                                 wanted.times->second * ns_per_s);
  }
  send_done(out, id, done);
}

// "~" and "~NAME" are what they are to a shell there, which in an image is not where relative paths
// start. There is one user; who others are is for the sandbox to know.
void SftpServer::expand(std::uint32_t id, std::string_view path, std::string& out) {
  std::string whole(path);
  if (path.starts_with('~')) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view user = path.substr(1, end - 1);
    if (!user.empty() && user != sandbox_.environment("USER"))
      return send_status(out, id, s_failure, "No such user");
    whole = sandbox_.environment("HOME").value_or(home()).append(path.substr(end));
  }
  const Result<std::string> leads_to = files_.resolve(whole);
  send_name(id, leads_to ? *leads_to : normal_path(whole), out);
}

void SftpServer::begin_copy(std::uint32_t id, PacketReader& in, std::string& out) {
  Copy copy;
  copy.id = id;
  copy.from = in.string();
  copy.from_offset = in.u64();
  copy.left_bytes = in.u64();
  copy.to = in.string();
  copy.to_offset = in.u64();
  if (!in.good()) return;
  copy.to_end = copy.left_bytes == 0;
  const std::uint64_t apart = copy.from_offset < copy.to_offset ? copy.to_offset - copy.from_offset
                                                                : copy.from_offset - copy.to_offset;
  const Handle* from = find(copy.from);
  const Handle* to = find(copy.to);
  if (!from || !from->file || !to || !to->file || from == to)
    return send_status(out, id, s_failure, "No such handles");
  // What is written would be read again, without an end.
  const bool overlaps = copy.to_end || to->appends || apart < copy.left_bytes;
  if (overlaps && are_same_file(*from->file, *to->file))
    return send_status(out, id, s_failure, "The places overlap");
  copy_ = std::move(copy);
  go_on_copying(out);
}

// One piece more; with the last of them, or an error, the answer.
void SftpServer::go_on_copying(std::string& out) {
  const std::optional<Result<void>> done = copy_piece();
  if (!done) return;
  const std::uint32_t id = copy_->id;
  const bool ends_early = *done && !copy_->to_end && copy_->left_bytes > 0;
  copy_.reset();
  std::string answer;
  ends_early ? send_status(answer, id, s_eof, "End of file") : send_done(answer, id, *done);
  save(id, answer);
  out += answer;
}

// Nothing: there is more to copy. No handle goes meanwhile, since no other request is answered.
std::optional<Result<void>> SftpServer::copy_piece() {
  Copy& copy = *copy_;
  const std::size_t size =
      copy.to_end
          ? copy_piece_bytes
          : static_cast<std::size_t>(std::min<std::uint64_t>(copy.left_bytes, copy_piece_bytes));
  const Handle& to = *find(copy.to);
  const Result<std::string> piece = find(copy.from)->file->read(copy.from_offset, size);
  if (!piece) return Result<void>(piece.error());
  if (piece->empty()) return Result<void>();
  const Result<void> written =
      to.appends ? to.file->append(*piece) : to.file->write(copy.to_offset, *piece);
  if (!written) return written;
  copy.from_offset += piece->size();
  copy.to_offset += piece->size();
  if (copy.to_end) return std::nullopt;
  copy.left_bytes -= piece->size();
  return copy.left_bytes == 0 ? std::optional<Result<void>>(Result<void>()) : std::nullopt;
}

// What the session may write, and how much of it is left: struct statvfs in 64-bit numbers.
void SftpServer::space(std::uint32_t id, std::string& out) {
  constexpr std::uint64_t block_bytes = 4096;
  constexpr std::uint64_t name_max_bytes = 255;
  const SandboxOptions& limits = sandbox_.options();
  const SandboxUsage used = sandbox_.usage();
  const auto left = [](std::uint64_t limit, std::uint64_t taken) {
    return limit - std::min(limit, taken);
  };
  const std::uint64_t free_blocks = left(limits.file_limit_bytes, used.file_bytes) / block_bytes;
  const std::uint64_t free_inodes = left(limits.file_limit_inodes, used.file_inodes);
  send(out, PacketWriter()
                .byte(t_extended_reply)
                .u32(id)
                .u64(block_bytes)
                .u64(block_bytes)
                .u64(limits.file_limit_bytes / block_bytes)
                .u64(free_blocks)
                .u64(free_blocks)
                .u64(limits.file_limit_inodes)
                .u64(free_inodes)
                .u64(free_inodes)
                .u64(1)  // the filesystem's id
                .u64(0)  // of the flags neither read-only nor no-setuid
                .u64(name_max_bytes));
}

}  // namespace cloche::ssh
