// SPDX-License-Identifier: Apache-2.0
// Sink: where messages to a client go, each whole, from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace cloche::rpc {

class Sink {
 public:
  virtual ~Sink() = default;

  // What the client asked for, and what it is told besides.
  enum class Kind : std::uint8_t { answer, notice };

  // A message is one object of JSON, without an end of line. May wait while the client reads.
  virtual void send(Kind kind, std::string message) noexcept = 0;
  // One last answer: what is sent afterwards is dropped.
  virtual void send_last(std::string message) noexcept = 0;
};

}  // namespace cloche::rpc
