#include "net/secrets.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "base/random.h"
#include "net/rule.h"

namespace cloche::net {
namespace {

constexpr std::size_t max_head_bytes = 256 * 1024;
constexpr std::size_t placeholder_bytes = 24;  // of chance

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The value of a header field in a head; empty: there is none.
std::string_view field(std::string_view head, std::string_view lower_name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;) {
    at += 2;
    const std::size_t end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end == std::string_view::npos ? end : end - at);
    if (line.size() > lower_name.size() && line[lower_name.size()] == ':' &&
        std::ranges::equal(line.substr(0, lower_name.size()), lower_name,
                           [](char a, char b) { return lower(a) == b; })) {
      std::string_view value = line.substr(lower_name.size() + 1);
      while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
        value.remove_prefix(1);
      while (!value.empty() && (value.back() == ' ' || value.back() == '\t'))
        value.remove_suffix(1);
      return value;
    }
    at = end;
  }
  return {};
}

bool looks_like_http(std::string_view start) {
  constexpr std::array<std::string_view, 9> methods{
      "GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "TRACE "};
  return std::ranges::any_of(methods, [&](std::string_view method) {
    const std::size_t count = std::min(method.size(), start.size());
    return method.substr(0, count) == start.substr(0, count);
  });
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string encode64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::string decode64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > 65536) return {};
  std::string out(text.size(), '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) return {};
  const auto padding = static_cast<std::size_t>(std::ranges::count(text, '='));
  out.resize(static_cast<std::size_t>(length) - std::min<std::size_t>(padding, 2));
  return out;
}

}  // namespace

SecretStore::SecretStore(const std::map<std::string, Secret>& secrets) {
  for (const auto& [name, secret] : secrets) {
    if (secret.hosts.empty())
      throw std::invalid_argument(fmt::format("the secret {} names no host that may get it", name));
    if (secret.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      throw std::invalid_argument(fmt::format("the secret {} has a line break", name));
    entries_.push_back({name, "cloche-secret-" + random_hex(placeholder_bytes), secret.value, {}});
    for (const std::string& host : secret.hosts) {
      // A value goes where TLS, or at least the rule that let it out, has checked a name.
      if (!is_name_pattern(host))
        throw std::invalid_argument(
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
  std::string clean;
  std::size_t done = 0;
  for (;;) {
    std::size_t at = std::min(end, held_.size());
    const SecretStore::Needle* first = nullptr;
    for (const SecretStore::Needle& needle : secrets_->needles_) {
      const std::size_t found = held_.find(needle.text, done);
      if (found >= at) continue;
      at = found;
      first = &needle;
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
  while (!waiting_.empty() && step(out)) {
  }
  return out;
}

std::string RequestRewriter::finish() {
  state_ = State::raw;
  return std::exchange(waiting_, {});
}

bool RequestRewriter::step(std::string& out) {
  const auto pass = [&](std::size_t count) {
    out.append(waiting_, 0, count);
    waiting_.erase(0, count);
  };
  switch (state_) {
    case State::raw: pass(waiting_.size()); return true;
    case State::head: {
      if (!looks_like_http(waiting_)) {
        state_ = State::raw;
        return true;
      }
      const std::size_t end = waiting_.find("\r\n\r\n");
      if (end == std::string::npos) {
        if (waiting_.size() > max_head_bytes) state_ = State::raw;
        return state_ == State::raw;
      }
      std::string head = waiting_.substr(0, end + 4);
      waiting_.erase(0, end + 4);
      read_head(out, std::move(head));
      return true;
    }
    case State::body:
    case State::chunk: {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, waiting_.size()));
      pass(count);
      left_ -= count;
      if (left_ == 0) state_ = state_ == State::body ? State::head : State::chunk_end;
      return true;
    }
    case State::chunk_size:
    case State::chunk_end:
    case State::trailer: {
      const std::size_t end = waiting_.find("\r\n");
      if (end == std::string::npos) {
        if (waiting_.size() > max_head_bytes) state_ = State::raw;
        return state_ == State::raw;
      }
      if (state_ == State::chunk_end) {
        state_ = State::chunk_size;
      } else if (state_ == State::trailer) {
        if (end == 0) state_ = State::head;
      } else {
        const auto [stop, error] =
            std::from_chars(waiting_.data(), waiting_.data() + end, left_, 16);
        state_ = error != std::errc() ? State::raw : left_ == 0 ? State::trailer : State::chunk;
        (void)stop;
      }
      pass(end + 2);
      return true;
    }
  }
  return false;
}

void RequestRewriter::read_head(std::string& out, std::string head) {
  const std::string_view method = std::string_view(head).substr(0, head.find(' '));
  std::string coding(field(head, "transfer-encoding"));
  std::ranges::transform(coding, coding.begin(), lower);
  const std::string_view length = field(head, "content-length");
  if (method == "CONNECT" || !field(head, "upgrade").empty()) {
    state_ = State::raw;
  } else if (coding.ends_with("chunked")) {
    state_ = State::chunk_size;
  } else if (!length.empty()) {
    const auto [stop, error] = std::from_chars(length.data(), length.data() + length.size(), left_);
    const bool good = error == std::errc() && stop == length.data() + length.size();
    state_ = !good ? State::raw : left_ == 0 ? State::head : State::body;
  }
  out += rewrite(std::move(head));
}

std::string RequestRewriter::rewrite(std::string head) {
  // A value goes to the host that the connection was made to, so a request that says another one is
  // not for it.
  std::string asked(field(head, "host"));
  if (const std::size_t colon = asked.rfind(':');
      colon != std::string::npos && asked.find(']') == std::string::npos)
    asked.resize(colon);
  const bool is_for_host = !host_.empty() && canonical_name(asked) == host_;
  const auto put_in = [&](std::string& text) {
    bool changed = false;
    for (const SecretStore::Entry& secret : secrets_.entries()) {
      if (text.find(secret.placeholder) == std::string::npos) continue;
      const bool allowed =
          is_for_host && std::ranges::any_of(secret.hosts, [&](const std::string& host) {
            return glob_matches(host, host_);
          });
      used_(secret.name, allowed);
      if (!allowed) continue;
      replace_all(text, secret.placeholder, secret.value);
      changed = true;
    }
    return changed;
  };
  // Basic credentials hold the placeholder in their encoding.
  constexpr std::string_view basic = "Basic ";
  const std::string_view credentials = field(head, "authorization");
  if (credentials.starts_with(basic)) {
    const std::string encoded(credentials.substr(basic.size()));
    std::string decoded = decode64(encoded);
    if (!decoded.empty() && put_in(decoded)) replace_all(head, encoded, encode64(decoded));
  }
  put_in(head);
  return head;
}

}  // namespace cloche::net
