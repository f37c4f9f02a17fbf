// SPDX-License-Identifier: Apache-2.0
#include "session/state_store.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "base/host_error.h"
#include "base/unique_fd.h"

namespace cloche::session {
namespace {

using Json = nlohmann::json;

// SHA-256 of the rest; a line of JSON; the state.
constexpr std::string_view suffix = ".session";
constexpr int format = 1;

std::string digest_of(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

bool write_whole(const std::filesystem::path& path, std::string_view bytes) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return false;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(file.get()) == 0;
}

void sync_folder(const std::filesystem::path& folder) {
  const UniqueFd handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle) (void)::fsync(handle.get());
}

std::int64_t milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

WallTime wall_time(std::int64_t ms) { return WallTime(std::chrono::milliseconds(ms)); }

std::optional<StateStore::Stored> parse(std::string_view file) {
  if (file.size() < SHA256_DIGEST_LENGTH) return std::nullopt;
  const std::string_view rest = file.substr(SHA256_DIGEST_LENGTH);
  if (digest_of(rest) != file.substr(0, SHA256_DIGEST_LENGTH)) return std::nullopt;
  const std::size_t line = rest.find('\n');
  const Json json = Json::parse(rest.substr(0, line), nullptr, false);
  if (line == rest.npos || !json.is_object()) return std::nullopt;
  try {
    if (json.at("format") != format) return std::nullopt;
    StateStore::Stored stored;
    stored.facts = {.id = json.at("id"),
                    .owner = json.at("owner"),
                    .metadata = json.at("metadata"),
                    .image = json.at("image"),
                    .ssh_public_key = json.at("ssh_public_key"),
                    .created = wall_time(json.at("created_ms")),
                    .expires = json.at("expires_ms").is_null() ? WallTime::max()
                                                               : wall_time(json.at("expires_ms")),
                    .sequence = 0};
    stored.status = json.at("paused") ? Status::paused : Status::running;
    stored.state = rest.substr(line + 1);
    return stored;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

StateStore::StateStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (::chmod(folder_.c_str(), 0700) != 0 || ::access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    throw HostError::from_errno("cannot keep sessions in " + folder_.string(), errno);
}

std::filesystem::path StateStore::path_of(const std::string& id) const {
  return folder_ / (id + std::string(suffix));
}

bool StateStore::save(const Facts& facts, Status status, std::string_view state) {
  Json json = {{"format", format},
               {"id", facts.id},
               {"owner", facts.owner},
               {"metadata", facts.metadata},
               {"image", facts.image},
               {"ssh_public_key", facts.ssh_public_key},
               {"created_ms", milliseconds(facts.created)},
               {"expires_ms", nullptr},
               {"paused", status == Status::paused}};
  if (facts.expires != WallTime::max()) json["expires_ms"] = milliseconds(facts.expires);
  std::string rest = json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  rest += state;
  const std::filesystem::path path = path_of(facts.id);
  const std::filesystem::path part = path.string() + ".part";
  if (!write_whole(part, digest_of(rest) + rest) || ::rename(part.c_str(), path.c_str()) != 0) {
    ::unlink(part.c_str());
    return false;
  }
  sync_folder(folder_);
  return true;
}

void StateStore::remove(const std::string& id) {
  if (::unlink(path_of(id).c_str()) == 0) sync_folder(folder_);
}

void StateStore::load(const std::function<void(Stored)>& found,
                      const std::function<void(const std::string& name)>& damaged) {
  std::vector<Stored> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".part")) ::unlink(entry.path().c_str());  // of a server that was killed
    if (!name.ends_with(suffix)) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::optional<Stored> stored = parse(bytes);
    if (!stored || stored->facts.id + std::string(suffix) != name) {
      ::rename(entry.path().c_str(), (entry.path().string() + ".damaged").c_str());
      damaged(name);
      continue;
    }
    all.push_back(*std::move(stored));
  }
  std::sort(all.begin(), all.end(),
            [](const Stored& a, const Stored& b) { return a.facts.created < b.facts.created; });
  for (Stored& stored : all) found(std::move(stored));
}

}  // namespace cloche::session
