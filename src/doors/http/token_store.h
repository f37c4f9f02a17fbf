// SPDX-License-Identifier: Apache-2.0
// TokenStore: who may use the server. It holds hashes, never tokens. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"

namespace cloche::http {

class TokenStore {
 public:
  // The tokens themselves, and a file with one token a line: NAME SHA256-IN-HEX; '#' begins a
  // comment. Throws HostError with one sentence for a file that cannot be read, or a line that says
  // nothing.
  TokenStore(const std::vector<std::string>& tokens, std::string file);
  // Of one owner: every request is that one's, for it has been let in elsewhere; owner_of() still
  // wants a token of that owner's, of those that are in the file now. It holds no others.
  struct SoleOwner {
    std::string name;
    std::string file;
  };
  explicit TokenStore(const SoleOwner& owner);
  TokenStore(const TokenStore&) = delete;
  TokenStore& operator=(const TokenStore&) = delete;

  // Reads the file again: from here on its tokens count, and those that it has no more do not. With
  // a file that is not good it throws HostError as the constructor does, and nothing changes. What
  // a token has opened already stays open.
  void reload();

  // With none, everybody is the same owner and needs no token.
  bool empty() const noexcept { return !sole_owner_ && size() == 0; }
  std::size_t size() const noexcept { return entries_.load()->size(); }

  // The owner that a token stands for; nothing for an unknown token. The time it takes
  // does not depend on the token.
  std::optional<std::string> owner_of(std::string_view token) const;
  // The same for the digest of a token, and nothing where there are no tokens.
  std::optional<std::string> owner_of_digest(const Sha256Digest& digest) const;
  // The same for "Bearer TOKEN".
  std::optional<std::string> owner_of_header(std::string_view value) const;

 private:
  struct Entry {
    Sha256Digest digest;
    std::string owner;
  };
  using Entries = std::vector<Entry>;
  static void read_file(const std::string& file, Entries& entries);

  const std::optional<std::string> sole_owner_;
  const std::string file_;
  Entries given_;
  std::atomic<std::shared_ptr<const Entries>> entries_;
};

}  // namespace cloche::http
