// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/public_key.h"

#include <libssh/libssh.h>

#include <memory>
#include <sstream>

namespace cloche::ssh {
namespace {

struct FreeKey {
  void operator()(ssh_key key) const { ::ssh_key_free(key); }
};
using KeyPtr = std::unique_ptr<ssh_key_struct, FreeKey>;

constexpr std::size_t key_line_max_bytes = 16 << 10;

KeyPtr parse(const std::string& line) {
  if (line.size() > key_line_max_bytes) return nullptr;
  std::istringstream words(line);
  std::string type;
  std::string base64;
  if (!(words >> type >> base64)) return nullptr;
  const ssh_keytypes_e kind = ::ssh_key_type_from_name(type.c_str());
  const bool known = kind == SSH_KEYTYPE_ED25519 || kind == SSH_KEYTYPE_RSA ||
                     kind == SSH_KEYTYPE_ECDSA_P256 || kind == SSH_KEYTYPE_ECDSA_P384 ||
                     kind == SSH_KEYTYPE_ECDSA_P521;
  if (!known) return nullptr;
  ssh_key key = nullptr;
  if (::ssh_pki_import_pubkey_base64(base64.c_str(), kind, &key) != SSH_OK) return nullptr;
  return KeyPtr(key);
}

}  // namespace

bool is_public_key(const std::string& line) { return parse(line) != nullptr; }

bool are_same_keys(const std::string& one, const std::string& other) {
  const KeyPtr key = parse(one);
  const KeyPtr other_key = parse(other);
  return key && other_key && ::ssh_key_cmp(key.get(), other_key.get(), SSH_KEY_CMP_PUBLIC) == 0;
}

}  // namespace cloche::ssh
