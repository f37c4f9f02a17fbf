// SPDX-License-Identifier: Apache-2.0
// Small questions to peers by HTTP/1.1, several at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "cluster/address.h"
#include "cluster/peer_wire.h"
#include "doors/http/message.h"

namespace cloche::cluster {

struct Question {
  Address address;
  std::string text;  // the whole request, with `Connection: close`
};

// What is there of each by the deadline; nothing where a peer cannot be reached, says something
// else, or more than `answer_max_bytes`. Waits.
std::vector<std::optional<http::Response>> ask_all(const PeerWire& wire,
                                                   std::span<const Question> questions,
                                                   std::chrono::steady_clock::time_point deadline,
                                                   std::uint64_t answer_max_bytes);

// The same over connections that are there already, each of which is asked `text`.
std::vector<std::optional<http::Response>> ask_connected(
    std::vector<UniqueFd> connections, std::string_view text,
    std::chrono::steady_clock::time_point deadline, std::uint64_t answer_max_bytes);

// An answer as it came, up to the end of the connection. Nothing: it is none, or not whole.
std::optional<http::Response> parse_answer(std::string text);

// What the server that sends it on says of itself.
void leave_out_server_fields(http::Response& answer);

// Reads the head of an answer, after which nothing that matters comes unasked; nothing where there
// is none by the deadline. Waits.
std::optional<http::Response> read_head(int fd, std::chrono::steady_clock::time_point deadline);

// Sends all of it; false: the peer has gone, or the deadline is over.
bool send_all(int fd, std::string_view text, std::chrono::steady_clock::time_point deadline);
// Waits for a connection that begin_connect has begun.
bool finish_connect(int fd, std::chrono::steady_clock::time_point deadline);

}  // namespace cloche::cluster
