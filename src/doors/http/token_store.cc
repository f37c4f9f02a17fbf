// SPDX-License-Identifier: Apache-2.0
#include "doors/http/token_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>

#include "base/constant_time.h"
#include "base/hex.h"
#include "base/host_error.h"
#include "doors/http/message.h"

namespace cloche::http {
namespace {

constexpr std::size_t token_max_bytes = 4096;

std::string_view text_of(std::span<const unsigned char> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TokenStore::TokenStore(const std::vector<std::string>& tokens, std::string file)
    : file_(std::move(file)) {
  for (const std::string& token : tokens) {
    const Sha256Digest digest = sha256(token);
    given_.push_back({digest, "token " + to_hex(std::span(digest).first(6))});
  }
  reload();
}

TokenStore::TokenStore(const SoleOwner& owner) : sole_owner_(owner.name) {
  Entries all;
  read_file(owner.file, all);
  std::ranges::copy_if(all, std::back_inserter(given_),
                       [&](const Entry& entry) { return entry.owner == owner.name; });
  reload();
}

void TokenStore::reload() {
  auto entries = std::make_shared<Entries>(given_);
  if (!file_.empty()) read_file(file_, *entries);
  entries_.store(std::move(entries));
}

void TokenStore::read_file(const std::string& file, Entries& entries) {
  errno = 0;
  std::ifstream stream(file);
  if (!stream) throw HostError::from_errno("cannot read the tokens in " + file, errno);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    std::string hex;
    std::string more;
    if (!(words >> name)) continue;
    Sha256Digest digest{};
    if (!(words >> hex) || words >> more || !from_hex(hex, digest)) {
      throw HostError(
          fmt::format("{}:{}: a line is a NAME and the SHA-256 of a token in hex", file, number));
    }
    if (digest == sha256("")) {
      throw HostError(fmt::format(
          "{}:{}: the token of {} is empty, as of a variable that is not set: make another line",
          file, number, name));
    }
    entries.push_back({digest, name});
  }
  if (stream.bad()) throw HostError::from_errno("cannot read the tokens in " + file, errno);
  if (entries.empty()) throw HostError(file + " has no token: a line is NAME SHA256-IN-HEX");
}

std::optional<std::string> TokenStore::owner_of(std::string_view token) const {
  if (empty()) return std::string();
  if (token.empty() || token.size() > token_max_bytes) return std::nullopt;
  return owner_of_digest(sha256(token));
}

std::optional<std::string> TokenStore::owner_of_digest(const Sha256Digest& digest) const {
  const std::shared_ptr<const Entries> entries = entries_.load();
  const Entry* found = nullptr;
  for (const Entry& entry : *entries) {
    if (is_same_digest(text_of(digest), text_of(entry.digest))) found = &entry;
  }
  return found ? std::optional(found->owner) : std::nullopt;
}

std::optional<std::string> TokenStore::owner_of_header(std::string_view value) const {
  if (sole_owner_) return sole_owner_;
  if (empty()) return std::string();
  static constexpr std::string_view scheme = "Bearer ";
  if (value.size() <= scheme.size() || !same_text(value.substr(0, scheme.size()), scheme))
    return std::nullopt;
  value.remove_prefix(scheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return owner_of(value);
}

}  // namespace cloche::http
