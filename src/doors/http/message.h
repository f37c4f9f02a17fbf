// SPDX-License-Identifier: Apache-2.0
// Requests and answers of HTTP as values.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cloche::http {

class ReceivedBody;

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;
  std::string target;  // as it was sent, in origin form
  std::string path;    // its part before '?', as it was sent
  std::string query;   // what comes after '?'
  Fields fields;
  std::string body;
  std::string peer;  // address:port of the client
  bool secure = false;
  // What the body takes of the server's memory, and what is unpacked from it must take too; null
  // where nothing is counted.
  std::shared_ptr<ReceivedBody> received = nullptr;

  // The value of the first field of that name, in any case; empty when there is none.
  std::string_view field(std::string_view name) const;
};

class BodySource;

struct Response {
  int status = 200;
  Fields fields;  // besides Date, Server, Content-Length and Connection
  std::string body;
  std::shared_ptr<BodySource> source = nullptr;  // instead of `body`, where there is one
};

Response text_response(int status, std::string text);
Response json_response(int status, std::string json);
// A 405 that says which methods the address takes, as RFC 9110, 15.5.6 wants of each.
Response with_allow(Response refusal, std::string_view methods);

// "%41b+c" is "Ab+c"; a broken escape stays as it is. `plus` says what '+' means.
enum class Plus { itself, space };
std::string percent_decode(std::string_view text, Plus plus = Plus::itself);

// The pairs of "a=1&b=%20", decoded, in order.
std::vector<std::pair<std::string, std::string>> query_pairs(std::string_view query);

// A quoted-string of a field, such as a file's name; bytes that a field cannot have are '_'.
std::string quoted(std::string_view text);

bool same_text(std::string_view a, std::string_view b);  // but for the case of ASCII letters
std::string lowered(std::string_view text);              // its ASCII letters

}  // namespace cloche::http
