// SPDX-License-Identifier: Apache-2.0
// What SFTP version 3 has on the wire (draft-ietf-secsh-filexfer-02): numbers, attributes, answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cloche/files.h"
#include "doors/ssh/packet.h"

namespace cloche::ssh::sftp {

enum Type : std::uint8_t {
  t_init = 1,
  t_version = 2,
  t_open = 3,
  t_close = 4,
  t_read = 5,
  t_write = 6,
  t_lstat = 7,
  t_fstat = 8,
  t_setstat = 9,
  t_fsetstat = 10,
  t_opendir = 11,
  t_readdir = 12,
  t_remove = 13,
  t_mkdir = 14,
  t_rmdir = 15,
  t_realpath = 16,
  t_stat = 17,
  t_rename = 18,
  t_readlink = 19,
  t_symlink = 20,
  t_status = 101,
  t_handle = 102,
  t_data = 103,
  t_name = 104,
  t_attrs = 105,
  t_extended = 200,
  t_extended_reply = 201,
};

enum Status : std::uint32_t {
  s_ok = 0,
  s_eof = 1,
  s_no_such_file = 2,
  s_permission_denied = 3,
  s_failure = 4,
  s_bad_message = 5,
  s_unsupported = 8,
};

enum OpenFlag : std::uint32_t {
  f_read = 1,
  f_write = 2,
  f_append = 4,
  f_create = 8,
  f_truncate = 16,
  f_exclusive = 32,
};

enum AttrFlag : std::uint32_t {
  a_size = 1,
  a_owner = 2,
  a_permissions = 4,
  a_times = 8,
  a_extended = 0x80000000,
};

struct Attributes {
  std::optional<std::uint64_t> size;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> owner;  // user, group
  std::optional<std::uint32_t> permissions;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> times;  // access, modification
};

Attributes read_attributes(PacketReader& in);
void write_attributes(PacketWriter& to, const FileInfo& info);

// A line as `ls -l` writes it, which is what version 3 has for people. `user`: what the sandbox's
// user is called, where its number is the usual one; empty: that is not known.
std::string long_name(const FileInfo& info, std::string_view user);

inline constexpr std::uint32_t packet_max_bytes = 256 << 10;
inline constexpr std::size_t read_max_bytes = 128 << 10;
inline constexpr std::size_t handles_max = 256;

// Each appends a whole packet to `out`.
void send(std::string& out, const PacketWriter& packet);
void send_status(std::string& out, std::uint32_t id, std::uint32_t code, std::string_view text);
void send_error(std::string& out, std::uint32_t id, Errno error);
void send_done(std::string& out, std::uint32_t id, const Result<void>& done);
void send_info(std::string& out, std::uint32_t id, const Result<FileInfo>& info);

}  // namespace cloche::ssh::sftp
