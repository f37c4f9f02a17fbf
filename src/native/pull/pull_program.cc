// SPDX-License-Identifier: Apache-2.0
#include "native/pull/pull_program.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/host_error.h"
#include "base/process_jail.h"
#include "native/images/manifest.h"
#include "native/images/reference.h"
#include "native/pull/blob_folder.h"
#include "native/pull/credentials.h"
#include "native/pull/registry_client.h"

namespace cloche::pull {
namespace {

namespace fs = std::filesystem;

constexpr int target_folder = 3;
constexpr int most_indexes = 4;  // one in another

struct Task {
  images::Reference reference;
  Transport transport = Transport::secure;
  std::uint64_t most_bytes = 0;
  fs::path auth_file;
};

void tell(const std::string& line) {
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "{}\n", line);
}

void enter_jail(const Task& task) {
  JailRules rules;
  rules.readable = system_files();
  rules.connects = true;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/fd/" + std::to_string(target_folder), error);
  if (error) throw HostError("there is no folder for blobs");
  rules.writable.push_back(folder);
  if (!task.auth_file.empty()) rules.readable.push_back(task.auth_file);
  if (const char* trusted = std::getenv("SSL_CERT_FILE")) rules.readable.emplace_back(trusted);
  (void)cloche::enter_jail(rules);
}

struct Found {
  std::string digest;  // of the manifest
  std::string text;
  images::Manifest manifest;
};

Found find_image(RegistryClient& registry, const images::Reference& reference) {
  std::string version = reference.version();
  for (int depth = 0; depth <= most_indexes; ++depth) {
    Found found;
    found.text = registry.manifest(version);
    found.digest = sha256_digest(found.text);
    found.manifest = images::parse_manifest(found.text);
    if (!found.manifest.chosen) return found;
    version = found.manifest.chosen->digest;
  }
  throw request_error("the image's indexes lead too deep");
}

std::string pull(const Task& task) {
  RegistryClient registry(task.reference, credentials_for(task.reference.registry, task.auth_file),
                          task.transport);
  const BlobFolder folder(target_folder);
  const Found found = find_image(registry, task.reference);
  if (found.manifest.bytes() > task.most_bytes)
    throw request_error(fmt::format("the image has {} bytes, and {} are the most",
                                    found.manifest.bytes(), task.most_bytes));
  std::vector<images::Descriptor> blobs{found.manifest.config};
  blobs.insert(blobs.end(), found.manifest.layers.begin(), found.manifest.layers.end());
  std::erase_if(blobs, [&](const images::Descriptor& blob) { return folder.has(blob); });
  std::uint64_t missing = 0;
  for (const images::Descriptor& blob : blobs) missing += blob.size;
  if (missing > folder.free_bytes())
    throw HostError(fmt::format("the image needs {} bytes, and the disk of the images has {}",
                                missing, folder.free_bytes()),
                    Errno::nospc);
  for (const images::Descriptor& blob : blobs) {
    if (folder.has(blob)) continue;  // a layer may be there twice
    tell(fmt::format("{:.19} {:.1f} MB", blob.digest, static_cast<double>(blob.size) / 1e6));
    const auto file = folder.start(blob);
    registry.fetch(blob, *file);
  }
  const images::Descriptor manifest{
      .media_type = "", .digest = found.digest, .size = found.text.size()};
  if (!folder.has(manifest)) {
    const auto file = folder.start(manifest);
    file->add(found.text);
    file->finish();
  }
  return found.digest;
}

}  // namespace

int pull_main(int argc, char** argv) {
  const std::string_view how(argc == 5 ? argv[2] : "");
  const std::string_view bytes(argc == 5 ? argv[3] : "");
  Task task;
  const auto [at, error] =
      std::from_chars(bytes.data(), bytes.data() + bytes.size(), task.most_bytes);
  if ((how != "secure" && how != "plain") || error != std::errc() ||
      at != bytes.data() + bytes.size()) {
    std::puts("cloche-pull is a part of cloche: it is not called by hand");
    return 1;
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  try {
    task.reference = images::Reference::parse(argv[1]);
    task.transport = how == "plain" ? Transport::plain : Transport::secure;
    task.auth_file = *argv[4] != '\0' ? fs::path(argv[4]) : default_auth_file();
    enter_jail(task);
    std::puts(pull(task).c_str());
  } catch (const std::exception& problem) {
    std::puts(problem.what());
    return 1;
  }
  return 0;
}

}  // namespace cloche::pull
