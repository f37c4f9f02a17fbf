// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/message.h"

#include <gtest/gtest.h>

namespace cloche::mcp {
namespace {

Message message_of(std::string_view text) {
  auto read = read_message(text);
  EXPECT_TRUE(std::holds_alternative<Message>(read)) << text;
  return std::holds_alternative<Message>(read) ? std::get<Message>(std::move(read)) : Message();
}

int error_of(std::string_view text) {
  const auto read = read_message(text);
  const auto* bad = std::get_if<BadMessage>(&read);
  return bad == nullptr ? 0 : bad->error.code;
}

int era_error_of(std::string_view text) {
  try {
    (void)asker_of(message_of(text));
    return 0;
  } catch (const ProtocolError& error) {
    return error.code;
  }
}

TEST(McpMessage, TellsTheThreeKindsApart) {
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").kind, Message::Kind::request);
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","method":"x"})").kind, Message::Kind::notification);
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","id":"a","result":{}})").kind, Message::Kind::answer);
  EXPECT_TRUE(message_of(R"({"jsonrpc":"2.0","id":"a","error":{}})").result.is_null());
}

TEST(McpMessage, RefusesWhatIsNone) {
  EXPECT_EQ(error_of("{"), code::parse_error);
  EXPECT_EQ(error_of(""), code::parse_error);
  EXPECT_EQ(error_of("[]"), code::invalid_request);
  EXPECT_EQ(error_of(R"({"jsonrpc":"2.0","id":true,"method":"x"})"), code::invalid_request);
  EXPECT_EQ(error_of(R"({"jsonrpc":"2.0","id":1})"), code::invalid_request);
  EXPECT_EQ(error_of(R"({"jsonrpc":"2.0","id":1,"result":1,"error":1})"), code::invalid_request);
  EXPECT_EQ(error_of(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"x"})"), code::invalid_request);
  EXPECT_EQ(error_of(R"({"jsonrpc":"2.0","id":1,"method":"x","params":7})"), code::invalid_params);
}

TEST(McpMessage, JudgesTheEraByTheRequestItself) {
  const std::string begin = R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{)";
  const std::string version = R"("io.modelcontextprotocol/protocolVersion":)";
  const std::string capabilities = R"("io.modelcontextprotocol/clientCapabilities":)";
  const auto with = [&](const std::string& about) { return begin + about + "}}}"; };
  EXPECT_EQ(asker_of(message_of(with(""))).era, Era::legacy);
  EXPECT_EQ(asker_of(message_of(with(version + R"("2026-07-28",)" + capabilities + "{}"))).era,
            Era::modern);
  EXPECT_EQ(era_error_of(with(version + R"("2026-07-28")")), code::invalid_params);
  EXPECT_EQ(era_error_of(with(version + R"("2026-07-28",)" + capabilities + "1")),
            code::invalid_params);
  EXPECT_EQ(era_error_of(with(version + "1," + capabilities + "{}")), code::invalid_params);
  EXPECT_EQ(era_error_of(with(version + R"("2025-11-25",)" + capabilities + "{}")),
            code::unsupported_version);
  EXPECT_EQ(era_error_of(R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})"),
            code::invalid_params);
}

}  // namespace
}  // namespace cloche::mcp
