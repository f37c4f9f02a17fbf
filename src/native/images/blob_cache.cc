// SPDX-License-Identifier: Apache-2.0
#include "native/images/blob_cache.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstddef>

#include "base/host_error.h"
#include "native/images/helper_program.h"

namespace cloche::images {
namespace {

namespace fs = std::filesystem;

UniqueFd open_folder(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

}  // namespace

BlobCache::BlobCache(const fs::path& folder) {
  fs::create_directories(folder);
  folder_ = open_folder(folder);
  if (!folder_) throw HostError::from_errno(folder.string(), errno);
  while (::flock(folder_.get(), LOCK_SH) != 0) {
    if (errno != EINTR) throw HostError::from_errno(folder.string(), errno);
  }
}

std::string BlobCache::pull(const fs::path& program, const Reference& reference,
                            std::uint64_t most_bytes, const PullOptions& options) const {
  if (program.empty())
    throw HostError("registries cannot be asked: cloche-pull is not beside cloche");
  const HelperResult result =
      call_helper({.program = program,
                   .arguments = {reference.text(),
                                 options.plain_http == PlainHttp::anywhere ? "plain" : "secure",
                                 std::to_string(most_bytes), options.auth_file.string()},
                   .folder = folder_.get(),
                   .surroundings = HelperCall::Surroundings::ours});
  if (!result.is_done)
    throw request_error(result.said.empty() ? std::string("cloche-pull was ended") : result.said);
  if (!is_sha256_digest(result.said)) throw HostError("cloche-pull does not belong to this cloche");
  return result.said;
}

ImageSource BlobCache::open(const std::string& digest) const {
  return read_image_blobs(folder_.get(), digest);
}

void BlobCache::clear(const fs::path& folder, const std::set<std::string>& manifests) {
  const UniqueFd opened = open_folder(folder);
  if (!opened || ::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::set<std::string> used;
  for (const std::string& manifest : manifests) {
    for (const std::string& digest : blobs_of(opened.get(), manifest))
      used.insert(digest.substr(digest.find(':') + 1));
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "blobs" / "sha256", error)) {
    std::error_code ignored;
    if (!used.contains(entry.path().filename().string())) fs::remove(entry.path(), ignored);
  }
}

}  // namespace cloche::images
