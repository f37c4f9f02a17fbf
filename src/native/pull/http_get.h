// SPDX-License-Identifier: Apache-2.0
// HttpGet: one question and its answer by libcurl, which follows nothing by itself, keeps nothing
// but connections, and speaks to nothing but HTTP. For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_error.h"

namespace cloche::pull {

// The connection was not made, or ended, or next to nothing came for a minute (Pace). A type of its
// own, because who catches it may try again.
class Interrupted : public HostError {
 public:
  using HostError::HostError;
};

struct HttpQuestion {
  std::string url;
  std::string accept;         // empty: anything
  std::string authorization;  // the header's value; empty: none
  std::uint64_t from = 0;     // the first byte that is wanted
};

struct HttpAnswer {
  long status = 0;
  std::string location;
  std::string content_range;
  std::vector<std::string> challenges;  // WWW-Authenticate, a header each
  std::string text;                     // of the body where the status is not 200 or 206: its start
};

// Takes a piece of the body of an answer with status 200 or 206; what it throws ends the question
// and comes out of ask().
using BodySink = std::function<void(const HttpAnswer& answer, std::string_view piece)>;

class HttpGet {
 public:
  HttpGet();
  ~HttpGet();
  HttpGet(const HttpGet&) = delete;
  HttpGet& operator=(const HttpGet&) = delete;

  // Throws Interrupted, and Error for what no second try changes (a certificate, a name).
  HttpAnswer ask(const HttpQuestion& question, const BodySink& sink);

 private:
  void* curl_;
};

}  // namespace cloche::pull
