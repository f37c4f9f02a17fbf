// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/sftp_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>

#include "base/error.h"
#include "base/units.h"

namespace cloche::ssh::sftp {
namespace {

std::uint32_t type_bits(FileKind kind) {
  switch (kind) {
    case FileKind::directory: return 0040000;
    case FileKind::symlink: return 0120000;
    case FileKind::file: return 0100000;
    case FileKind::other: return 0010000;
  }
  return 0;
}

std::uint32_t seconds_of(std::int64_t ns) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns / ns_per_s, 0, UINT32_MAX));
}

constexpr std::uint32_t usual_user = 1000;  // and its group

std::string name_of(std::uint32_t id, std::string_view user) {
  if (id == 0) return "root";
  return id == usual_user && !user.empty() ? std::string(user) : std::to_string(id);
}

// What has a status of its own is said in OpenSSH's words, which some clients compare.
std::string_view sentence_of(std::uint32_t code, Errno error) {
  switch (code) {
    case s_no_such_file: return "No such file";
    case s_permission_denied: return "Permission denied";
    case s_unsupported: return "Operation unsupported";
    default: return errno_info(error).message;
  }
}

}  // namespace

Attributes read_attributes(PacketReader& in) {
  Attributes attributes;
  const std::uint32_t flags = in.u32();
  if (flags & a_size) attributes.size = in.u64();
  if (flags & a_owner) {
    const std::uint32_t user = in.u32();
    attributes.owner = {user, in.u32()};
  }
  if (flags & a_permissions) attributes.permissions = in.u32() & 07777;
  if (flags & a_times) {
    const std::uint32_t accessed = in.u32();
    attributes.times = {accessed, in.u32()};
  }
  if (flags & a_extended) {
    for (std::uint32_t count = in.u32(); count > 0 && in.good(); --count) {
      in.string();
      in.string();
    }
  }
  return attributes;
}

void write_attributes(PacketWriter& to, const FileInfo& info) {
  to.u32(a_size | a_owner | a_permissions | a_times)
      .u64(info.size_bytes)
      .u32(info.user)
      .u32(info.group)
      .u32(type_bits(info.kind) | info.mode)
      .u32(seconds_of(info.accessed_ns))
      .u32(seconds_of(info.modified_ns));
}

std::string long_name(const FileInfo& info, std::string_view user) {
  std::string mode = "?rwxrwxrwx";
  mode[0] = info.kind == FileKind::directory ? 'd' : info.kind == FileKind::symlink ? 'l' : '-';
  for (std::size_t i = 0; i < 9; ++i) {
    if ((info.mode >> (8 - i) & 1) == 0) mode[i + 1] = '-';
  }
  const std::time_t seconds = info.modified_ns / ns_per_s;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  const bool recent = std::abs(std::time(nullptr) - seconds) < 180L * 24 * 3600;
  (void)std::strftime(date.data(), date.size(), recent ? "%b %e %H:%M" : "%b %e  %Y", &parts);
  return fmt::format("{} {:>4} {:<8} {:<8} {:>8} {} {}", mode, 1, name_of(info.user, user),
                     name_of(info.group, user), info.size_bytes, date.data(), info.name);
}

void send(std::string& out, const PacketWriter& packet) {
  PacketWriter length;
  length.u32(static_cast<std::uint32_t>(packet.bytes().size()));
  out += length.bytes();
  out += packet.bytes();
}

void send_status(std::string& out, std::uint32_t id, std::uint32_t code, std::string_view text) {
  send(out, PacketWriter().byte(t_status).u32(id).u32(code).string(text).string("en"));
}

void send_error(std::string& out, std::uint32_t id, Errno error) {
  const std::uint32_t code = door_codes(ErrorKind::sandbox, error).sftp;
  send_status(out, id, code == s_ok ? std::uint32_t{s_failure} : code, sentence_of(code, error));
}

void send_done(std::string& out, std::uint32_t id, const Result<void>& done) {
  if (!done) return send_error(out, id, done.error());
  send_status(out, id, s_ok, "Success");
}

void send_info(std::string& out, std::uint32_t id, const Result<FileInfo>& info) {
  if (!info) return send_error(out, id, info.error());
  PacketWriter answer;
  answer.byte(t_attrs).u32(id);
  write_attributes(answer, *info);
  send(out, answer);
}

}  // namespace cloche::ssh::sftp
