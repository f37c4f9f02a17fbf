// SPDX-License-Identifier: Apache-2.0
#include "packages/wheel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/folder_names.h"
#include "base/hex.h"
#include "base/random.h"

namespace cloche::packages {
namespace {

constexpr const char* kept_extension = ".wheel";
constexpr const char* partial_extension = ".part";
constexpr std::uint64_t small_file_bytes = 64 << 10;
constexpr std::uint64_t least_files = 16;
constexpr std::chrono::hours forgotten{1};  // a partial file of this age has no writer any more

}  // namespace

struct WheelCache::Deposit::State {
  WheelCache& cache;
  const Sha256Digest sha256;
  const std::filesystem::path target;
  const std::filesystem::path partial;
  UniqueFd fd;
  const std::uint64_t size;
  std::uint64_t written = 0;
  Sha256 digest;

  ~State() {
    if (fd) (void)cache.files_.unlink(partial.string());
    cache.being_written_ -= size;
  }
};

WheelCache::Deposit::Deposit(std::unique_ptr<State> state) : state_(std::move(state)) {}
WheelCache::Deposit::~Deposit() = default;

bool WheelCache::Deposit::write(std::span<const std::byte> bytes) {
  if (!state_) return false;
  if (bytes.size() > state_->size - state_->written ||
      !state_->cache.files_.write_all(state_->fd.get(), bytes)) {
    state_.reset();
    return false;
  }
  state_->digest.add(bytes);
  state_->written += bytes.size();
  return state_->written < state_->size || finish();
}

bool WheelCache::Deposit::finish() {
  const std::unique_ptr<State> state = std::move(state_);
  if (state->digest.end() != state->sha256) return false;
  if (!state->cache.files_.rename(state->partial.string(), state->target.string())) return false;
  state->fd = UniqueFd();
  state->cache.prune();
  return true;
}

WheelCache::WheelCache(std::filesystem::path folder, std::uint64_t limit_bytes, HostFiles& files)
    : folder_(std::move(folder)),
      limit_bytes_(limit_bytes),
      most_files_(std::max(limit_bytes / small_file_bytes, least_files)),
      files_(files) {}

std::filesystem::path WheelCache::path_of(const WheelName& name) const {
  Sha256 digest;
  const std::uint64_t length = name.origin.size();
  digest.add(std::as_bytes(std::span(&length, 1)));
  digest.add(std::as_bytes(std::span(name.origin)));
  digest.add(std::as_bytes(std::span(name.address)));
  const std::string place = to_hex(digest.end());
  return folder_ / (to_hex(name.sha256) + "-" + place.substr(0, 32) + kept_extension);
}

std::optional<WheelCache::Found> WheelCache::find(const WheelName& name) const {
  Result<UniqueFd> opened =
      files_.open(path_of(name).string(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (!opened) return std::nullopt;
  Found found{*std::move(opened), 0};
  struct stat status{};
  if (fstat(found.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  found.size = static_cast<std::uint64_t>(status.st_size);
  (void)futimens(found.fd.get(), nullptr);  // it was used now
  return found;
}

std::unique_ptr<WheelCache::Deposit> WheelCache::begin(const WheelName& name, std::uint64_t size) {
  if (size == 0 || size > share_bytes()) return nullptr;
  if (being_written_.fetch_add(size) + size > limit_bytes_) {
    being_written_ -= size;
    return nullptr;
  }
  std::filesystem::path target = path_of(name);
  std::filesystem::path partial =
      folder_ / (target.stem().string() + "-" + random_hex(8) + partial_extension);
  auto state = std::unique_ptr<Deposit::State>(new Deposit::State{
      *this, name.sha256, std::move(target), std::move(partial), UniqueFd(), size, 0, {}});
  Result<UniqueFd> opened =
      files_.open(state->partial.string(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!opened) return nullptr;
  state->fd = *std::move(opened);
  return std::unique_ptr<Deposit>(new Deposit(std::move(state)));
}

void WheelCache::prune() const noexcept try {
  struct Kept {
    std::filesystem::path path;
    std::uint64_t bytes;
    std::filesystem::file_time_type used;
  };
  std::vector<Kept> files;
  std::uint64_t total = 0;
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto names = folder_names(folder_);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::filesystem::path path = folder_ / name;
    std::error_code gone;  // another process prunes too
    const auto used = std::filesystem::last_write_time(path, gone);
    const std::uint64_t bytes = gone ? 0 : std::filesystem::file_size(path, gone);
    if (gone) continue;
    if (path.extension() == partial_extension && now - used > forgotten) {
      std::filesystem::remove(path, gone);
    } else if (path.extension() == kept_extension) {
      files.push_back({path, bytes, used});
      total += bytes;
    }
  }
  std::ranges::sort(files, {}, &Kept::used);
  std::uint64_t count = files.size();
  for (const Kept& file : files) {
    if (total <= limit_bytes_ && count <= most_files_) break;
    std::error_code gone;
    std::filesystem::remove(file.path, gone);
    total -= file.bytes;
    --count;
  }
} catch (const std::exception&) {
  // What is left over goes the next time.
}

}  // namespace cloche::packages
