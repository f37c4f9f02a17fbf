// SPDX-License-Identifier: Apache-2.0
#include "native/pull/credentials.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/base64.h"
#include "base/host_error.h"
#include "base/json.h"
#include "base/json_lookup.h"

namespace cloche::pull {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_file_bytes = 1 << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As programs write the key of a registry, which has been a URL once.
std::vector<std::string> keys_of(const std::string& registry) {
  std::vector<std::string> keys{registry, "https://" + registry, "https://" + registry + "/"};
  if (registry == "docker.io") keys.emplace_back("https://index.docker.io/v1/");
  return keys;
}

Credentials read_entry(const Json& entry, const std::string& registry) {
  Credentials found{text_in(entry, "username"), text_in(entry, "password")};
  const std::string both = text_in(entry, "auth");
  if (both.empty()) return found;
  const auto plain = from_base64(both);
  const std::size_t colon = plain ? plain->find(':') : std::string::npos;
  if (colon == std::string::npos)
    throw request_error(
        fmt::format("the file of credentials has no user and password for {}", registry));
  return {plain->substr(0, colon), plain->substr(colon + 1)};
}

}  // namespace

Credentials read_credentials(std::string_view text, const std::string& registry) {
  const auto read = read_json<Json>(text, {});
  const Json* whole = std::get_if<Json>(&read);
  if (whole == nullptr || !whole->is_object())
    throw request_error("the file of credentials is no JSON object");
  const auto all = whole->find("auths");
  if (all == whole->end() || !all->is_object()) return {};
  for (const std::string& key : keys_of(registry)) {
    const auto entry = all->find(key);
    if (entry == all->end() || !entry->is_object()) continue;
    if (Credentials found = read_entry(*entry, registry); !found.empty()) return found;
  }
  return {};
}

fs::path default_auth_file() {
  if (std::string given = variable("REGISTRY_AUTH_FILE"); !given.empty()) return given;
  std::error_code error;
  if (const std::string folder = variable("DOCKER_CONFIG"); !folder.empty()) {
    fs::path file = fs::path(folder) / "config.json";
    return fs::exists(file, error) ? file : fs::path();
  }
  const std::string home = variable("HOME");
  fs::path file = fs::path(home) / ".docker" / "config.json";
  return !home.empty() && fs::exists(file, error) ? file : fs::path();
}

Credentials credentials_for(const std::string& registry, const fs::path& auth_file) {
  if (Credentials given{variable("CLOCHE_REGISTRY_USER"), variable("CLOCHE_REGISTRY_PASSWORD")};
      !given.empty())
    return given;
  if (auth_file.empty()) return {};
  std::error_code error;
  if (fs::file_size(auth_file, error) > most_file_bytes || error)
    throw request_error(fmt::format("the file of credentials {} cannot be read, or is too long",
                                    auth_file.string()));
  std::ifstream file(auth_file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw HostError::from_errno(auth_file.string(), errno);
  return read_credentials(text, registry);
}

}  // namespace cloche::pull
