// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/connect_wire.h"

#include <gtest/gtest.h>

#include "doors/e2b/agent.h"
#include "doors/e2b/gzip.h"
#include "doors/e2b/signed_address.h"

namespace cloche::e2b {
namespace {

using std::string_literals::operator""s;

TEST(ConnectWire, FramesHaveTheirLengthBeforeThem) {
  EXPECT_EQ(frame_of("{}"), "\0\0\0\0\x02{}"s);
  EXPECT_EQ(end_frame(), "\x02\0\0\0\x02{}"s);
  const std::string error = end_frame({"unavailable", "The sandbox was not found"});
  EXPECT_EQ(error.substr(5),
            R"({"error":{"code":"unavailable","message":"The sandbox was not found"}})");
}

TEST(ConnectWire, FramesAreReadAsTheyAreWritten) {
  const std::string body = frame_of("one") + frame_of("") + frame_of(std::string(300, 'x'));
  const auto read = read_frames(body);
  ASSERT_EQ(read.index(), 0U);
  const auto& messages = std::get<0>(read);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0], "one");
  EXPECT_EQ(messages[1], "");
  EXPECT_EQ(messages[2].size(), 300U);
  for (std::size_t size = 1; size < 8; ++size)
    EXPECT_EQ(read_frames(body.substr(0, size)).index(), 1U) << size;
  EXPECT_EQ(read_frames("\x01\0\0\0\0"s).index(), 1U);
  EXPECT_EQ(read_frames("\0\xff\xff\xff\xff"s).index(), 1U);
}

TEST(ConnectWire, MembersComeInEitherSpellingAndKind) {
  const Json message = Json::parse(R"({"watcher_id":"w","exitCode":"7","n":8,"x":1.5,"b":"aGk="})");
  EXPECT_EQ(std::get<0>(text_at(message, "watcherId")), "w");
  EXPECT_EQ(std::get<0>(number_at(message, "exitCode")), 7);
  EXPECT_EQ(std::get<0>(number_at(message, "n")), 8);
  EXPECT_EQ(std::get<0>(number_at(message, "absent")), 0);
  EXPECT_EQ(number_at(message, "x").index(), 1U);
  EXPECT_EQ(number_at(message, "b").index(), 1U);
  EXPECT_EQ(std::get<0>(bytes_at(message, "b")), "hi");
  EXPECT_EQ(bytes_at(message, "n").index(), 1U);
}

TEST(ConnectWire, StatusesOfErrors) {
  EXPECT_EQ(error_answer({"not_found", ""}).status, 404);
  EXPECT_EQ(error_answer({"unauthenticated", ""}).status, 401);
  EXPECT_EQ(error_answer({"internal", ""}).status, 500);
  EXPECT_EQ(error_answer({"deadline_exceeded", "x"}).body,
            R"({"code":"deadline_exceeded","message":"x"})");
}

TEST(AgentPaths, AreBelowTheHomeOfWhoAsks) {
  const Actor user{Account::user, "user", "/home/user"};
  for (const auto& [given, wanted] : std::map<std::string, std::string>{{"", "/home/user"},
                                                                        {"~", "/home/user"},
                                                                        {"~/a", "/home/user/a"},
                                                                        {"a/../b/", "/home/user/b"},
                                                                        {"/", "/"},
                                                                        {"//x", "/x"},
                                                                        {"/../..", "/"},
                                                                        {"../../../etc", "/etc"}})
    EXPECT_EQ(std::get<0>(path_of(user, given)), wanted) << given;
  EXPECT_EQ(path_of(user, "~eve").index(), 1U);
  EXPECT_EQ(path_of(user, "a\0b"s).index(), 1U);
}

// Computed with Python's hashlib and base64.
TEST(Signatures, AreOfPathUseNameTokenAndTime) {
  http::Request request;
  request.method = "GET";
  request.query = "path=a/b&username=user";
  EXPECT_EQ(SignedAddress(request).signature_with("token"),
            "v1_EjIWVSA05NqmJ+JzpAIhWfTRRcA5SQdHWDXDwnG45NA");
  request.method = "POST";
  request.query = "signature_expiration=1700000000&path=a/b";
  const SignedAddress address(request);
  EXPECT_EQ(address.signature_with("another"), SignedAddress(request).signature_with("another"));
  EXPECT_EQ(address.signature_with("token"), "v1_Nl9LV+os6bDykUrXvwdYiZstJEQ793kUGzmS+xCeuek");
}

TEST(Gzip, WhatIsBrokenIsRefused) {
  const std::string packed =
      "\x1f\x8b\x08\x08\0\0\0\0\0\x03"
      "name\0"
      "\xcbH\xcd\xc9\xc9W\xc8 \x92\0"s;
  const auto fault_of = [](std::string_view text) {
    const auto unpacked = unpack_gzip(text, 100, [](std::uint64_t) { return true; });
    return unpacked ? std::nullopt : std::optional(unpacked.error());
  };
  EXPECT_EQ(fault_of(""), GzipFault::malformed);
  EXPECT_EQ(fault_of(packed), GzipFault::malformed);
  EXPECT_EQ(fault_of("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0x"s), GzipFault::malformed);
  EXPECT_EQ(fault_of("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0"s), std::nullopt);
}

// As Python's gzip packs them.
TEST(Gzip, ShortTextsAndSeveralMembers) {
  const auto text_of = [](std::string_view packed) {
    return *unpack_gzip(packed, 1000, [](std::uint64_t) { return true; });
  };
  const std::string text =
      "\x1f\x8b\x08\0\0\0\0\0\0\xff\x0b\x2f\xca\x2c\x29\x49\xcd\x53\x28\xcf\x2c\xc9\x50\x48\xaf\xca"
      "\x2c"
      "\xd0\x51\x28\x4a\x4d\x4c\x01\xf3\xf3\x4b\x4b\xf4\0\x73\xb4\x2b\x28\x20\0\0\0"s;
  EXPECT_EQ(text_of(text), "Written with gzip, read without.");
  EXPECT_EQ(text_of(text + text),
            "Written with gzip, read without.Written with gzip, read without.");
}

TEST(Gzip, HasNoMoreThanItMay) {
  // 300 times the letter a.
  const std::string packed =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x4c\x1c\x05\xc4\x02\x00\x09\x19\x97\x89\x2c\x01\x00\x00"s;
  std::uint64_t asked = 0;
  const auto has_room = [&asked](std::uint64_t bytes) { return (asked = bytes) <= 299; };
  const auto unpacked = unpack_gzip(packed, 300, [](std::uint64_t) { return true; });
  ASSERT_TRUE(unpacked);
  EXPECT_EQ(*unpacked, std::string(300, 'a'));
  EXPECT_EQ(unpack_gzip(packed, 299, has_room).error(), GzipFault::too_large);
  EXPECT_EQ(unpack_gzip(packed, 300, has_room).error(), GzipFault::no_room);
  EXPECT_EQ(asked, 300U);
}

}  // namespace
}  // namespace cloche::e2b
