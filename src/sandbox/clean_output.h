// SPDX-License-Identifier: Apache-2.0
// CleanOutput: one stream of what a command writes, as its owner may see it: without secrets.
//
// A secret may be divided between two pieces, so what could be the beginning of one waits for what
// follows. Copies are the same stream. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/secrets.h"

namespace cloche::sandbox {

class CleanOutput {
 public:
  using Reader = std::function<void(std::string_view text)>;  // never called with nothing
  enum class Text : std::uint8_t { whole, cut_off };

  CleanOutput() = default;
  // Null: there are no secrets.
  explicit CleanOutput(std::shared_ptr<net::StreamScrubber> scrubber)
      : scrubber_(std::move(scrubber)) {}

  void pass(std::string_view text, const Reader& reader) const;
  // The end of the stream: what waited.
  void end(const Reader& reader) const;

  // The same for a stream that was kept. Of one that was cut off, an end that could be the
  // beginning of a secret is left out.
  std::string clean(std::string kept, Text text) const;

 private:
  std::shared_ptr<net::StreamScrubber> scrubber_;
};

}  // namespace cloche::sandbox
