// SPDX-License-Identifier: Apache-2.0
#include "net/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/error.h"
#include "base/random.h"
#include "net/request_head.h"
#include "net/rule.h"

namespace cloche::net {
namespace {

constexpr std::size_t max_head_bytes = std::size_t{256} * 1024;
// A value may be long, and a head full of its placeholder.
constexpr std::size_t max_written_bytes = 2 * max_head_bytes;
constexpr std::size_t placeholder_bytes = 24;  // of chance

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool looks_like_http(std::string_view start) {
  constexpr std::array<std::string_view, 9> methods{
      "GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "TRACE "};
  return std::ranges::any_of(methods, [&](std::string_view method) {
    const std::size_t count = std::min(method.size(), start.size());
    return method.substr(0, count) == start.substr(0, count);
  });
}

// Empty where the text would have more than `most` bytes.
std::optional<std::string> replaced(std::string_view text, std::string_view from,
                                    std::string_view to, std::size_t most) {
  std::string out;
  for (;;) {
    const std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    out += to;
    if (out.size() > most) return std::nullopt;
    text.remove_prefix(at + from.size());
  }
  return out.size() > most ? std::nullopt : std::optional(std::move(out));
}

}  // namespace

SecretStore::SecretStore(const std::map<std::string, Secret>& secrets) {
  for (const auto& [name, secret] : secrets) {
    if (secret.hosts.empty())
      throw request_error(fmt::format("the secret {} names no host that may get it", name));
    if (secret.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      throw request_error(fmt::format("the secret {} has a line break", name));
    entries_.push_back({name, "cloche-secret-" + random_hex(placeholder_bytes), secret.value, {}});
    for (const std::string& host : secret.hosts) {
      // A value goes where TLS, or at least the rule that let it out, has checked a name.
      if (!is_name_pattern(host))
        throw request_error(
            fmt::format("the secret {} names '{}', which is no host name: an address, a range and "
                        "a port cannot get one",
                        name, host));
      std::string pattern;
      std::ranges::transform(host, std::back_inserter(pattern), lower);
      if (pattern.ends_with('.')) pattern.pop_back();
      entries_.back().hosts.push_back(std::move(pattern));
    }
  }
  for (const Entry& entry : entries_) {
    for (const std::string& text : {entry.placeholder, entry.value}) {
      if (!text.empty()) needles_.push_back({text, "[" + entry.name + "]"});
    }
  }
  std::ranges::stable_sort(needles_, std::ranges::greater(),
                           [](const Needle& needle) { return needle.text.size(); });
}

bool SecretStore::Entry::is_for(std::string_view host) const {
  return std::ranges::any_of(
      hosts, [&](const std::string& pattern) { return glob_matches(pattern, host); });
}

bool SecretStore::is_for(std::string_view host) const {
  return std::ranges::any_of(entries_, [&](const Entry& secret) { return secret.is_for(host); });
}

std::string SecretStore::scrub(std::string text) const {
  StreamScrubber scrubber({std::shared_ptr<void>(), this});  // which does not own it
  std::string clean = scrubber.take(text);
  return clean += scrubber.finish();
}

std::string StreamScrubber::take(std::string_view bytes) {
  held_ += bytes;
  return pass_on(held_from());
}

std::string StreamScrubber::finish() {
  std::string clean = pass_on(std::string::npos);
  return clean += std::exchange(held_, {});
}

// From where on the text may be the beginning of a value.
std::size_t StreamScrubber::held_from() const {
  const std::string_view text = held_;
  std::size_t longest = 0;
  for (const SecretStore::Needle& needle : secrets_->needles_) {
    for (std::size_t n = std::min(needle.text.size() - 1, text.size()); n > longest; --n) {
      if (n >= least_held_ && text.ends_with(std::string_view(needle.text).substr(0, n)))
        longest = n;
    }
  }
  return text.size() - longest;
}

// The text without values up to `end`, and those values that begin before it; the rest is held.
std::string StreamScrubber::pass_on(std::size_t end) {
  // Where each is next: a text may be full of one, and one that is not there is looked for once.
  const std::vector<SecretStore::Needle>& needles = secrets_->needles_;
  std::vector<std::size_t> next;
  next.reserve(needles.size());
  for (const SecretStore::Needle& needle : needles) next.push_back(held_.find(needle.text));
  std::string clean;
  std::size_t done = 0;
  for (;;) {
    std::size_t at = std::min(end, held_.size());
    const SecretStore::Needle* first = nullptr;
    for (std::size_t i = 0; i < needles.size(); ++i) {
      if (next[i] < done) next[i] = held_.find(needles[i].text, done);
      if (next[i] >= at) continue;
      at = next[i];
      first = &needles[i];
    }
    if (at > done) clean.append(held_, done, at - done);
    done = std::max(done, at);
    if (first == nullptr) break;
    clean += first->label;
    done = at + first->text.size();
  }
  held_.erase(0, done);
  return clean;
}

RequestRewriter::RequestRewriter(const SecretStore& secrets, std::string host,
                                 std::function<void(const std::string&, bool)> used)
    : secrets_(secrets), host_(std::move(host)), used_(std::move(used)) {
  if (secrets_.empty()) state_ = State::raw;
}

std::string RequestRewriter::take(std::string_view bytes) {
  if (state_ == State::raw && waiting_.empty()) return std::string(bytes);
  waiting_ += bytes;
  std::string out;
  std::string_view rest = waiting_;
  while (!rest.empty() && step(rest, out)) {
  }
  waiting_.erase(0, waiting_.size() - rest.size());
  return out;
}

std::string RequestRewriter::finish() {
  state_ = State::raw;
  return std::exchange(waiting_, {});
}

bool RequestRewriter::step(std::string_view& rest, std::string& out) {
  const auto pass = [&](std::size_t count) {
    out.append(rest, 0, count);
    rest.remove_prefix(count);
  };
  // Up to and with `end`, whole lines; npos: not there yet. What was searched is not searched
  // again.
  const auto find_end = [&](std::string_view end) {
    const std::size_t from = searched_ - std::min(searched_, end.size() - 1);
    const std::size_t at = rest.find(end, from);
    searched_ = at == std::string_view::npos ? rest.size() : 0;
    if (at == std::string_view::npos && rest.size() > max_head_bytes) state_ = State::raw;
    return at;
  };
  switch (state_) {
    case State::raw: pass(rest.size()); return true;
    case State::head: {
      if (!looks_like_http(rest)) {
        state_ = State::raw;
        return true;
      }
      const std::size_t end = find_end("\r\n\r\n");
      if (end == std::string_view::npos) return state_ == State::raw;
      read_head(rest.substr(0, end + 4), out);
      rest.remove_prefix(end + 4);
      return true;
    }
    case State::body:
    case State::chunk: {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest.size()));
      pass(count);
      left_ -= count;
      if (left_ == 0) state_ = state_ == State::body ? State::head : State::chunk_end;
      return true;
    }
    case State::chunk_size:
    case State::chunk_end:
    case State::trailer: {
      const std::size_t end = find_end("\r\n");
      if (end == std::string_view::npos) return state_ == State::raw;
      read_chunk_line(rest.substr(0, end));
      pass(end + 2);
      return true;
    }
  }
  return false;
}

// What is not exactly as it should be may end elsewhere for the server: no value follows.
void RequestRewriter::read_chunk_line(std::string_view line) {
  if (state_ == State::chunk_end) {
    state_ = line.empty() ? State::chunk_size : State::raw;
  } else if (state_ == State::trailer) {
    if (line.find_first_of("\r\n") != line.npos) state_ = State::raw;
    if (line.empty()) state_ = State::head;
  } else if (const auto size = read_chunk_size(line)) {
    left_ = *size;
    state_ = left_ == 0 ? State::trailer : State::chunk;
  } else {
    state_ = State::raw;
  }
}

void RequestRewriter::read_head(std::string_view text, std::string& out) {
  const std::optional<RequestHead> head = read_request_head(text);
  state_ = State::raw;
  if (head) {
    left_ = head->length;
    switch (head->ending) {
      case Ending::none: state_ = State::head; break;
      case Ending::length: state_ = State::body; break;
      case Ending::chunked: state_ = State::chunk_size; break;
      case Ending::never: break;
    }
  }
  // A value goes to the host that the connection was made to, so a request that names another one,
  // or may be read so, is not for it.
  const bool is_for_host = head && head->is_origin_form && !head->is_answered_with_itself &&
                           !host_.empty() && canonical_name(std::string(head->host)) == host_;
  std::string written(text);
  // Basic credentials hold the placeholder in their encoding.
  constexpr std::string_view basic = "Basic ";
  if (head && head->authorization.starts_with(basic)) {
    const std::string encoded(head->authorization.substr(basic.size()));
    std::string decoded = from_base64(encoded).value_or(std::string());
    if (!decoded.empty() && put_values(decoded, is_for_host)) {
      if (auto whole = replaced(written, encoded, to_base64(decoded), max_written_bytes))
        written = *std::move(whole);
    }
  }
  put_values(written, is_for_host);
  out += written;
}

// True when there is a value in the text now.
bool RequestRewriter::put_values(std::string& text, bool is_for_host) const {
  bool changed = false;
  for (const SecretStore::Entry& secret : secrets_.entries()) {
    if (text.find(secret.placeholder) == std::string::npos) continue;
    std::optional<std::string> whole;
    if (is_for_host && secret.is_for(host_))
      whole = replaced(text, secret.placeholder, secret.value, max_written_bytes);
    used_(secret.name, whole.has_value());
    if (!whole) continue;
    text = *std::move(whole);
    changed = true;
  }
  return changed;
}

}  // namespace cloche::net
