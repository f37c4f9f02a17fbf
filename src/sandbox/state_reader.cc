// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <variant>

#include "base/error.h"
#include "base/json.h"
#include "base/result.h"
#include "base/sha256.h"
#include "base/write_fully.h"
#include "cloche/archive.h"
#include "cloche/checkpoint.h"
#include "sandbox/backend.h"
#include "sandbox/native/sealed_file.h"
#include "sandbox/sandbox_state.h"
#include "sandbox/saved_state_format.h"
#include "sandbox/shell_text.h"
#include "vfs/saved_tree.h"

namespace cloche {
namespace {

constexpr std::size_t line_max_bytes = 16 << 20;
constexpr vfs::Quota no_quota{};

// What a part says before its tree.
struct Header {
  std::map<std::string, std::string> environment;
  struct Package {
    std::string name;
    std::string version;  // empty: not known
  };
  std::vector<Package> packages;
  std::optional<sandbox::ShellText> shell;
};

std::optional<Header> read_header(std::string_view line) {
  const auto read = read_json<Json>(line, {});
  if (std::holds_alternative<JsonProblem>(read)) return std::nullopt;
  const Json& json = std::get<Json>(read);
  try {
    Header header{json.at("environment"), {}, {}};
    for (const Json& package : json.at("packages"))
      header.packages.push_back(
          package.is_string() ? Header::Package{package, {}}
                              : Header::Package{package.at("name"), package.value("version", "")});
    // One that cannot be read is none: files are worth more.
    if (const auto shell = json.find("shell"); shell != json.end())
      header.shell = sandbox::shell_text_of(*shell);
    return header;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

// A source that gives all but the last bytes, which are the SHA-256 of those before.
class CheckedSource {
 public:
  explicit CheckedSource(const ByteSource& source) : source_(source) {}

  // With its end; EINVAL for one that is too long.
  Result<std::string> line() {
    std::string text;
    for (;;) {
      CLOCHE_TRY(fill(1));
      if (ready() == 0 || text.size() >= line_max_bytes) return Errno::inval;
      const std::string_view have(pending_.data() + at_, ready());
      const std::size_t end = have.find('\n');
      const std::size_t count = end == have.npos ? have.size() : end + 1;
      text += take(count);
      if (end != have.npos) return text;
    }
  }

  Result<std::size_t> read(std::span<std::byte> to) {
    CLOCHE_TRY(fill(1));
    const std::size_t count = std::min(ready(), to.size());
    const std::string_view bytes = take(count);
    std::memcpy(to.data(), bytes.data(), count);
    return count;
  }

  // Whether the end is as it should be; nothing may be left but that.
  bool check() {
    if (!fill(1) || ready() != 0 || pending_.size() - at_ != Sha256::size) return false;
    return std::memcmp(pending_.data() + at_, digest_.end().data(), Sha256::size) == 0;
  }

 private:
  std::size_t ready() const {
    const std::size_t have = pending_.size() - at_;
    return have > Sha256::size ? have - Sha256::size : 0;
  }
  std::string_view take(std::size_t count) {
    const std::string_view bytes(pending_.data() + at_, count);
    digest_.add(bytes);
    at_ += count;
    return bytes;
  }
  Result<void> fill(std::size_t wanted) {
    static constexpr std::size_t piece_bytes = 256 << 10;
    while (ready() < wanted && !ended_) {
      pending_.erase(0, at_);
      at_ = 0;
      const std::size_t old = pending_.size();
      pending_.resize(old + piece_bytes);
      const auto count =
          source_(std::as_writable_bytes(std::span(pending_).subspan(old, piece_bytes)));
      pending_.resize(old + (count ? *count : 0));
      if (!count) return count.error();
      ended_ = *count == 0;
    }
    return {};
  }

  const ByteSource& source_;
  std::string pending_;
  std::size_t at_ = 0;
  bool ended_ = false;
  Sha256 digest_;
};

// At the end of a file in memory, which has none for what is zero: a file of nothing but that costs
// whoever has it nothing. False with errno.
bool append_sparsely(const UniqueFd& file, std::span<const std::byte> bytes) {
  const auto is_zero = [](std::byte one) { return one == std::byte{0}; };
  if (!std::ranges::all_of(bytes, is_zero)) return write_fully(file.get(), bytes);
  const off_t end = ::lseek(file.get(), static_cast<off_t>(bytes.size()), SEEK_CUR);
  return end >= 0 && ::ftruncate(file.get(), end) == 0;
}

Error unreadable(Errno code) {
  switch (code) {
    case Errno::inval:
      return request_error("this is no state of a sandbox, or it is damaged", code);
    case Errno::notsup:
      return request_error(
          "this is no state of this sandbox's engine: say engine and image as they were", code);
    case Errno::nospc: return request_error("the sandbox may not have that many files", code);
    default: return {ErrorKind::host, code, std::string(errno_info(code).message)};
  }
}

}  // namespace

struct StateReader::Impl {
  SandboxOptions options;
  Quota quota;
  vfs::TreeReader tree;
  std::optional<Header> header;
  std::optional<std::string> old_tar;      // of a state of the release before
  std::unique_ptr<sandbox::SavedBox> box;  // of a sandbox of the linux engine
  std::vector<std::string> missing;
  std::vector<std::string> changed;

  Result<void> read_part(const ByteSource& source);
  Result<void> read_tar(CheckedSource& in);
  Result<void> read_tree(CheckedSource& in);
  Result<void> read_box(CheckedSource& in);
  void choose_packages(packages::PackageRegistry* registry);
};

StateReader::StateReader(const SandboxOptions& options, Quota quota)
    : impl_(new Impl{
          options,
          quota,
          vfs::TreeReader(quota == Quota::as_saved
                              ? no_quota
                              : vfs::Quota{options.file_limit_bytes, options.file_limit_inodes}),
          {},
          {},
          {},
          {},
          {}}) {}
StateReader::~StateReader() = default;
const std::vector<std::string>& StateReader::missing_packages() const { return impl_->missing; }
const std::vector<std::string>& StateReader::changed_packages() const { return impl_->changed; }

Result<void, Error> StateReader::read(const ByteSource& source) {
  if (const Result<void> read = impl_->read_part(source); !read) return unreadable(read.error());
  return {};
}

Result<void> StateReader::Impl::read_part(const ByteSource& source) {
  CheckedSource in(source);
  CLOCHE_ASSIGN(const std::string kind, in.line());
  const bool is_first = !header;
  const bool is_old = kind == sandbox::old_state_line;
  const bool is_box = kind == sandbox::box_line;
  if (is_box != (options.engine == EngineKind::native_linux)) return Errno::notsup;
  if (is_box) return read_box(in);
  if (is_first ? kind != sandbox::state_line && !is_old : kind != sandbox::changes_line)
    return Errno::inval;
  CLOCHE_ASSIGN(const std::string line, in.line());
  header = read_header(line);
  if (!header) return Errno::inval;
  if (!is_old) {
    CLOCHE_TRY(read_tree(in));
  } else {
    CLOCHE_TRY(read_tar(in));
  }
  if (!in.check()) return Errno::inval;
  return {};
}

// The sandbox's own tar unpacks it: here it is bytes, and no more than of files that there may be.
Result<void> StateReader::Impl::read_tar(CheckedSource& in) {
  constexpr std::uint64_t most = 8ULL << 30, of_one = 2048, at_its_end = 64 << 10;
  std::uint64_t limit = most;
  if (quota != Quota::as_saved && options.file_limit_bytes != 0) {
    const std::uint64_t heads = std::min(options.file_limit_inodes, most / of_one) * of_one;
    limit = std::min(most, std::min(options.file_limit_bytes, most) + heads + at_its_end);
  }
  std::string tar;
  std::array<std::byte, 65536> piece;
  for (;;) {
    CLOCHE_ASSIGN(const std::size_t count, in.read(piece));
    if (count == 0) break;
    if (count > limit - tar.size()) return Errno::nospc;
    tar.append(reinterpret_cast<const char*>(piece.data()), count);
  }
  old_tar = std::move(tar);
  return {};
}

// The engine reads it, in the box: here it is bytes.
Result<void> StateReader::Impl::read_box(CheckedSource& in) {
  CLOCHE_ASSIGN(const std::string line, in.line());
  auto found = std::make_unique<sandbox::SavedBox>();
  const auto read = read_json<Json>(line, {});
  if (std::holds_alternative<JsonProblem>(read)) return Errno::inval;
  std::uint64_t stated = 0;  // 0: of a release before, which said nothing
  try {
    const Json& json = std::get<Json>(read);
    header = Header{json.at("environment"), {}, {}};
    found->image = json.at("image");
    found->digest = json.at("digest");
    stated = json.value("bytes", stated);
  } catch (const Json::exception&) {
    return Errno::inval;
  }
  found->files.reset(::memfd_create("cloche state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!found->files) return errno_from_host(errno);
  // What is written of files that a sandbox may have: their content, and a little for each.
  constexpr std::uint64_t most = 64ULL << 30, beside = 1ULL << 30;
  const std::uint64_t limit = quota == Quota::as_saved || options.file_limit_bytes == 0
                                  ? most
                                  : std::min(most, 2 * options.file_limit_bytes + beside);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (;;) {
    CLOCHE_ASSIGN(const std::size_t count, in.read(piece));
    if (count == 0) break;
    found->file_bytes += count;
    if (found->file_bytes > limit) return Errno::nospc;
    if (stated != 0 && found->file_bytes > stated) return Errno::inval;
    const auto bytes = std::span<const std::byte>(piece).first(count);
    if (!append_sparsely(found->files, bytes)) return errno_from_host(errno);
  }
  if ((stated != 0 && found->file_bytes != stated) || !in.check()) return Errno::inval;
  CLOCHE_TRY(sandbox::seal(found->files));
  box = std::move(found);
  return {};
}

Result<void> StateReader::Impl::read_tree(CheckedSource& in) {
  if (old_tar) return Errno::inval;
  return tree.read([&in](std::span<std::byte> to) { return in.read(to); });
}

void StateReader::Impl::choose_packages(packages::PackageRegistry* registry) {
  for (const auto& [name, version] : header->packages) {
    const packages::BundledPackage* known = registry ? registry->find(name) : nullptr;
    (known ? options.packages : missing).push_back(name);
    if (known && !version.empty() && known->version != version)
      changed.push_back(fmt::format("{} {}={}", name, version, known->version));
  }
}

Result<std::unique_ptr<Sandbox>, Error> StateReader::make(Engine& engine) {
  if (!impl_->header) return request_error("this is no state of a sandbox");
  impl_->options.environment = impl_->header->environment;
  // Placeholders of the saved sandbox mean nothing here.
  for (const auto& [name, secret] : impl_->options.network.secrets)
    impl_->options.environment.erase(name);
  impl_->options.packages.clear();
  impl_->missing.clear();
  impl_->changed.clear();
  impl_->choose_packages(engine.state_->python().registry());
  std::unique_ptr<Sandbox> made;
  try {
    made = engine.create(impl_->options);
  } catch (const Error& problem) {
    return problem;
  }
  if (impl_->box) {
    CLOCHE_TRY(made->backend_->load(*impl_->box));
    return made;
  }
  if (impl_->old_tar) {
    CLOCHE_TRY(unpack(*made, "/", *std::move(impl_->old_tar)));
    return made;
  }
  const Result<void> put = made->backend_->wasm().with_root([&](vfs::MemFs& files) {
    const vfs::Quota quota = files.quota();
    if (impl_->quota == Quota::as_saved) files.set_quota(no_quota);
    Result<void> result = impl_->tree.put_into(files);
    files.set_quota(quota);
    return result;
  });
  if (put) {
    if (impl_->header->shell)
      made->backend_->wasm().shell().go_on_from(*std::move(impl_->header->shell));
    return made;
  }
  return Error(ErrorKind::sandbox, put.error(),
               fmt::format("the files cannot be put back: {}", errno_info(put.error()).message));
}

}  // namespace cloche
