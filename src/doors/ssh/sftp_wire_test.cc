// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/sftp_wire.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace cloche::ssh::sftp {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

FileInfo some_file() {
  FileInfo info;
  info.name = "notes.txt";
  info.kind = FileKind::file;
  info.size_bytes = std::uint64_t{5} << 32;
  info.mode = 0640;
  info.modified_ns = 1'000'000'000 * ns_per_s;
  info.accessed_ns = 1'100'000'000 * ns_per_s;
  info.user = 1000;
  info.group = 1001;
  return info;
}

// The one packet in `out`: its length is that of what follows.
std::string_view packet_in(const std::string& out) {
  PacketReader in(out);
  EXPECT_EQ(in.u32(), out.size() - 4);
  return std::string_view(out).substr(4);
}

struct Status {
  std::uint32_t id = 0;
  std::uint32_t code = 0;
  std::string text;
};

Status status_in(const std::string& out) {
  PacketReader in(packet_in(out));
  EXPECT_EQ(in.byte(), t_status);
  Status status;
  status.id = in.u32();
  status.code = in.u32();
  status.text = in.string();
  EXPECT_EQ(in.string(), "en");
  EXPECT_TRUE(in.good());
  return status;
}

TEST(SftpWire, AttributesAreThoseThatTheFlagsName) {
  PacketWriter all;
  all.u32(a_size | a_owner | a_permissions | a_times | a_extended);
  all.u64(77).u32(12).u32(34).u32(0100751).u32(111).u32(222);
  all.u32(2).string("name").string("value").string("other").string("");
  all.byte(9);  // of what follows
  PacketReader in(all.bytes());
  const Attributes attributes = read_attributes(in);
  EXPECT_EQ(attributes.size, 77u);
  EXPECT_EQ(attributes.owner, std::make_pair(std::uint32_t{12}, std::uint32_t{34}));
  EXPECT_EQ(attributes.permissions, 0751u) << "the kind of a file is nobody's to set";
  EXPECT_EQ(attributes.times, std::make_pair(std::uint32_t{111}, std::uint32_t{222}));
  EXPECT_EQ(in.byte(), 9);
  EXPECT_TRUE(in.good());

  PacketWriter none;
  none.u32(0);
  PacketReader empty(none.bytes());
  const Attributes nothing = read_attributes(empty);
  EXPECT_FALSE(nothing.size || nothing.owner || nothing.permissions || nothing.times);
  EXPECT_TRUE(empty.good());
}

TEST(SftpWire, AttributesThatEndTooSoonAreNone) {
  PacketWriter all;
  all.u32(a_size | a_permissions | a_times).u64(77).u32(0751).u32(111).u32(222);
  for (std::size_t size = 0; size < all.bytes().size(); ++size) {
    PacketReader in(std::string_view(all.bytes()).substr(0, size));
    (void)read_attributes(in);
    EXPECT_FALSE(in.good()) << size;
  }
}

// Four thousand million extensions are said, and none is there: no loop goes on for them.
TEST(SftpWire, ACountOfExtensionsIsNotBelieved) {
  PacketWriter wild;
  wild.u32(a_extended).u32(UINT32_MAX).string("name");
  PacketReader in(wild.bytes());
  (void)read_attributes(in);
  EXPECT_FALSE(in.good());
}

TEST(SftpWire, AFileIsToldWithItsKindModeSizeAndTime) {
  const std::pair<FileKind, std::uint32_t> kinds[] = {{FileKind::file, 0100640},
                                                      {FileKind::directory, 0040640},
                                                      {FileKind::symlink, 0120640},
                                                      {FileKind::other, 0010640}};
  for (const auto& [kind, mode] : kinds) {
    FileInfo info = some_file();
    info.kind = kind;
    PacketWriter out;
    write_attributes(out, info);
    PacketReader in(out.bytes());
    EXPECT_EQ(in.u32(), std::uint32_t{a_size | a_owner | a_permissions | a_times});
    EXPECT_EQ(in.u64(), std::uint64_t{5} << 32);
    EXPECT_EQ(in.u32(), 1000u);
    EXPECT_EQ(in.u32(), 1001u);
    EXPECT_EQ(in.u32(), mode);
    EXPECT_EQ(in.u32(), 1'100'000'000u);
    EXPECT_EQ(in.u32(), 1'000'000'000u);
    EXPECT_TRUE(in.good());
  }
}

// Version 3 has seconds since 1970 in 32 bits.
TEST(SftpWire, ATimeThatTheWireCannotSayIsTheNearestOne) {
  const auto told = [](std::int64_t ns) {
    FileInfo info = some_file();
    info.modified_ns = ns;
    PacketWriter out;
    write_attributes(out, info);
    PacketReader in(out.bytes());
    in.u32(), in.u64(), in.u32(), in.u32(), in.u32(), in.u32();
    return in.u32();
  };
  EXPECT_EQ(told(-5 * ns_per_s), 0u);
  EXPECT_EQ(told((std::int64_t{UINT32_MAX} + 1) * ns_per_s), UINT32_MAX);
}

TEST(SftpWire, ALineForPeopleIsThatOfLs) {
  EXPECT_EQ(long_name(some_file(), "sandbox"),
            "-rw-r-----    1 sandbox  1001     21474836480 Sep  9  2001 notes.txt");
  FileInfo folder = some_file();
  folder.kind = FileKind::directory;
  folder.mode = 0711;
  folder.size_bytes = 0;
  folder.name = "sub";
  folder.group = 0;
  EXPECT_EQ(long_name(folder, ""), "drwx--x--x    1 1000     root            0 Sep  9  2001 sub");
  folder.kind = FileKind::symlink;
  EXPECT_TRUE(long_name(folder, "ann").starts_with("lrwx--x--x "));
}

TEST(SftpWire, ALineOfARecentFileHasTheHour) {
  FileInfo info = some_file();
  const std::time_t yesterday = std::time(nullptr) - std::time_t{24} * 3600;
  info.modified_ns = yesterday * ns_per_s;
  std::tm parts{};
  ASSERT_NE(::gmtime_r(&yesterday, &parts), nullptr);
  char hour[16];
  ASSERT_GT(std::strftime(hour, sizeof hour, " %H:%M ", &parts), 0u);
  EXPECT_NE(long_name(info, "ann").find(hour), std::string::npos) << long_name(info, "ann");
}

TEST(SftpWire, PacketsOfOneAnswerFollowEachOther) {
  std::string out = "before";
  send(out, PacketWriter().byte(1));
  send(out, PacketWriter().byte(2).byte(3));
  EXPECT_EQ(out, std::string("before\0\0\0\1\1\0\0\0\2\2\3", 17));
}

TEST(SftpWire, AnErrorHasTheNearestStatusAndItsSentence) {
  const std::tuple<Errno, std::uint32_t, std::string_view> answers[] = {
      {Errno::noent, 2, "No such file"},
      {Errno::acces, 3, "Permission denied"},
      {Errno::perm, 3, "Permission denied"},
      {Errno::nosys, 8, "Operation unsupported"},
      {Errno::nospc, 4, errno_info(Errno::nospc).message},
      {Errno::notempty, 4, errno_info(Errno::notempty).message}};
  for (const auto& [error, code, text] : answers) {
    std::string out;
    send_error(out, 42, error);
    const Status status = status_in(out);
    EXPECT_EQ(status.id, 42u);
    EXPECT_EQ(status.code, code);
    EXPECT_EQ(status.text, text);
  }
}

TEST(SftpWire, WhatIsDoneIsSaid) {
  std::string done;
  send_done(done, 7, {});
  EXPECT_EQ(status_in(done).code, std::uint32_t{s_ok});
  EXPECT_EQ(status_in(done).id, 7u);
  std::string refused;
  send_done(refused, 8, Errno::noent);
  EXPECT_EQ(status_in(refused).code, 2u);
}

TEST(SftpWire, AnAnswerOfAttributesIsThemOrTheError) {
  std::string out;
  send_info(out, 9, some_file());
  PacketReader in(packet_in(out));
  EXPECT_EQ(in.byte(), t_attrs);
  EXPECT_EQ(in.u32(), 9u);
  const Attributes attributes = read_attributes(in);
  EXPECT_EQ(attributes.size, std::uint64_t{5} << 32);
  EXPECT_EQ(attributes.permissions, 0640u);
  EXPECT_TRUE(in.good());

  std::string refused;
  send_info(refused, 10, Errno::acces);
  EXPECT_EQ(status_in(refused).id, 10u);
  EXPECT_EQ(status_in(refused).code, 3u);
}

}  // namespace
}  // namespace cloche::ssh::sftp
