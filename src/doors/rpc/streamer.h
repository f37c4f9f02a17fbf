// SPDX-License-Identifier: Apache-2.0
// What `run` and `python.execute` have in common: how output is asked for, and how it is streamed.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "doors/rpc/methods.h"
#include "doors/rpc/text.h"

namespace cloche::rpc {

// In microsecond steps.
double milliseconds(std::chrono::nanoseconds duration);

// The parameter `encoding`: whether output is sent as base64. Throws RpcError.
bool wants_base64(const Params& params);

// The parameter `outputLimitBytes`.
std::uint64_t output_limit(const Params& params);

// Output as it is written: a notification for each piece, no character split between two. Lives as
// long as the call; `put` is for one thread a stream.
class Streamer {
 public:
  enum class Encoding : std::uint8_t { utf8, base64 };

  Streamer(Call& call, Encoding encoding);
  void put(Stream stream, std::string_view data);
  // What is left of unfinished characters.
  void finish();

 private:
  Utf8Cutter& cutter(Stream stream) { return stream == Stream::out ? out_ : err_; }
  void send(Stream stream, const std::string& data);

  Sink& sink_;
  const std::string& sandbox_;
  const Reply& request_;
  const Encoding encoding_;
  Utf8Cutter out_;
  Utf8Cutter err_;
};

}  // namespace cloche::rpc
