// SPDX-License-Identifier: Apache-2.0
// Secrets: values that stand in the guest as placeholders, and how they get into what leaves it.
//
// SecretStore: the placeholders of one sandbox; immutable, thread-safe. StreamScrubber: its scrub
// for a stream that comes in pieces. RequestRewriter: what one connection sends, as HTTP/1.1
// requests: placeholders in their heads become values when the connection's host is one that the
// secret is for. What is no HTTP passes as it is; so does everything from a request on that two
// servers could read in two ways (request_head.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/network.h"

namespace cloche::net {

class SecretStore {
 public:
  struct Entry {
    std::string name;
    std::string placeholder;
    std::string value;
    std::vector<std::string> hosts;

    bool is_for(std::string_view host) const;  // canonical
  };

  // Placeholders are drawn at random, and keep the length class of an ordinary token. Throws
  // Error with one sentence: no host, a host that is no name or glob of names (an
  // address among them), a value with a line break.
  explicit SecretStore(const std::map<std::string, Secret>& secrets);

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  bool empty() const noexcept { return entries_.empty(); }
  // Whether one of them may go to this host; canonical.
  bool is_for(std::string_view host) const;
  // The text with "[NAME]" in place of values and placeholders; for what leaves the sandbox.
  std::string scrub(std::string text) const;

 private:
  friend class StreamScrubber;
  struct Needle {
    std::string text;   // a value or a placeholder
    std::string label;  // "[NAME]"
  };

  std::vector<Entry> entries_;
  std::vector<Needle> needles_;  // longest first
};

class StreamScrubber {
 public:
  // What could be the beginning of a value is held back, where that is at least so long. A terminal
  // shows what is typed, a byte at a time, at once.
  enum class Holding : std::size_t { all = 1, longer = 4 };

  explicit StreamScrubber(std::shared_ptr<const SecretStore> secrets,
                          Holding holding = Holding::all)
      : secrets_(std::move(secrets)), least_held_(static_cast<std::size_t>(holding)) {}

  // What of the stream may be passed on after these bytes.
  std::string take(std::string_view bytes);
  // The end of the stream: the rest.
  std::string finish();

 private:
  std::size_t held_from() const;
  std::string pass_on(std::size_t end);

  const std::shared_ptr<const SecretStore> secrets_;
  const std::size_t least_held_;
  std::string held_;
};

class RequestRewriter {
 public:
  // `host`: canonical, the name that the connection was made to, and TLS has checked where there is
  // TLS; empty: there is none. `used` is told the name of each secret that was put in, or, with
  // false, kept back.
  RequestRewriter(const SecretStore& secrets, std::string host,
                  std::function<void(const std::string& name, bool allowed)> used);

  // What must be sent for these bytes, in order; may be held back until a head is whole.
  std::string take(std::string_view bytes);
  // The end of what the guest sends: the rest.
  std::string finish();

 private:
  enum class State : std::uint8_t { head, body, chunk_size, chunk, chunk_end, trailer, raw };

  // A step: takes what it can off `rest`; false when more bytes are needed.
  bool step(std::string_view& rest, std::string& out);
  void read_head(std::string_view text, std::string& out);
  void read_chunk_line(std::string_view line);
  bool put_values(std::string& text, bool is_for_host) const;

  const SecretStore& secrets_;
  const std::string host_;
  const std::function<void(const std::string&, bool)> used_;
  State state_ = State::head;
  std::string waiting_;
  std::size_t searched_ = 0;  // of what waits, for the end of a head or line
  std::uint64_t left_ = 0;    // of the body or chunk
};

}  // namespace cloche::net
