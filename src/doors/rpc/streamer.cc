// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/streamer.h"

#include "base/base64.h"

namespace cloche::rpc {

double milliseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count() / 1000) / 1000;
}

bool wants_base64(const Params& params) {
  const std::string encoding = params.optional_text("encoding").value_or("utf-8");
  if (encoding != "utf-8" && encoding != "base64")
    throw RpcError{code::invalid_params, "'encoding' must be \"utf-8\" or \"base64\""};
  return encoding == "base64";
}

std::uint64_t output_limit(const Params& params) {
  constexpr std::uint64_t usual = 64ULL << 20;
  return params.optional_bytes("outputLimitBytes", {.least = 0, .most = payload_limit_bytes})
      .value_or(usual);
}

Streamer::Streamer(Call& call, Encoding encoding)
    : sink_(call.connection.sink()),
      sandbox_(call.queue->name()),
      request_(call.id),
      encoding_(encoding) {}

void Streamer::put(Stream stream, std::string_view data) {
  send(stream, encoding_ == Encoding::base64 ? std::string(data) : cutter(stream).take(data));
}

void Streamer::finish() {
  for (const Stream stream : {Stream::out, Stream::err}) send(stream, cutter(stream).rest());
}

void Streamer::send(Stream stream, const std::string& data) {
  if (data.empty()) return;
  sink_.send(
      Sink::Kind::notice,
      server_message("output", {{"sandboxId", sandbox_},
                                {"requestId", request_},
                                {"stream", stream == Stream::out ? "stdout" : "stderr"},
                                {"data", encoding_ == Encoding::base64 ? to_base64(data) : data}}));
}

}  // namespace cloche::rpc
