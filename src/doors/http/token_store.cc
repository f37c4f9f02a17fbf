#include "doors/http/token_store.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "base/hex.h"
#include "base/host_error.h"
#include "doors/http/message.h"

namespace cloche::http {
namespace {

constexpr std::size_t token_max_bytes = 4096;

}  // namespace

TokenStore::TokenStore(const std::vector<std::string>& tokens, const std::string& file) {
  for (const std::string& token : tokens) {
    const Digest digest = digest_of(token);
    entries_.push_back({digest, "token " + to_hex(std::span(digest).first(6))});
  }
  if (!file.empty()) read_file(file);
}

TokenStore::Digest TokenStore::digest_of(std::string_view text) {
  Digest digest;
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

void TokenStore::read_file(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw HostError("cannot read the tokens in " + file);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    std::string hex;
    std::string more;
    if (!(words >> name)) continue;
    Digest digest{};
    bool good =
        static_cast<bool>(words >> hex) && !(words >> more) && hex.size() == digest.size() * 2;
    for (std::size_t i = 0; good && i < digest.size(); ++i) {
      const char* from = hex.data() + i * 2;
      good = std::from_chars(from, from + 2, digest[i], 16).ptr == from + 2;
    }
    if (!good) {
      throw HostError(
          fmt::format("{}:{}: a line is a NAME and the SHA-256 of a token in hex", file, number));
    }
    entries_.push_back({digest, name});
  }
  if (entries_.empty()) throw HostError(file + " has no token: a line is NAME SHA256-IN-HEX");
}

std::optional<std::string> TokenStore::owner_of(std::string_view token) const {
  if (entries_.empty()) return std::string();
  if (token.empty() || token.size() > token_max_bytes) return std::nullopt;
  const Digest digest = digest_of(token);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (::CRYPTO_memcmp(digest.data(), entry.digest.data(), digest.size()) == 0) found = &entry;
  }
  return found ? std::optional(found->owner) : std::nullopt;
}

std::optional<std::string> TokenStore::owner_of_header(std::string_view value) const {
  if (entries_.empty()) return std::string();
  static constexpr std::string_view scheme = "Bearer ";
  if (value.size() <= scheme.size() || !same_text(value.substr(0, scheme.size()), scheme))
    return std::nullopt;
  value.remove_prefix(scheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return owner_of(value);
}

}  // namespace cloche::http
