// SPDX-License-Identifier: Apache-2.0
#include "cloche/checkpoint.h"

#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/sha256.h"
#include "sandbox/backend.h"
#include "sandbox/sandbox_state.h"
#include "sandbox/saved_state_format.h"
#include "sandbox/shell_text.h"
#include "vfs/saved_tree.h"

namespace cloche {

struct Checkpoint::Parts {
  vfs::Frozen base;
  vfs::Frozen files;
  std::string header;  // environment, packages and shell
  std::string shell_problem;
  std::unique_ptr<sandbox::SavedBox> box;  // instead of files
  Sha256Digest box_digest{};
};

namespace {

constexpr auto user_folders =
    std::to_array<std::string_view>({"workspace", "run/user", "tmp", "var/tmp"});

std::string header_of(sandbox::SandboxState& state,
                      const std::optional<sandbox::ShellText>& shell) {
  Json packages = Json::array();
  packages::PackageRegistry* registry = state.engine().python().registry();
  for (const std::string& name : state.packages()) {
    const packages::BundledPackage* package = registry ? registry->find(name) : nullptr;
    packages.push_back({{"name", name}, {"version", package ? package->version : ""}});
  }
  Json header = {{"environment", std::as_const(state).environment()},
                 {"packages", std::move(packages)}};
  if (shell) header["shell"] = sandbox::to_json(*shell);
  return write_json(header);
}

std::string header_of(const sandbox::SavedBox& box) {
  return write_json(Json{{"environment", box.environment},
                         {"image", box.image},
                         {"digest", box.digest},
                         {"bytes", box.file_bytes}});
}

Result<void> read_box(const sandbox::SavedBox& box, const ByteSink& sink) {
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < box.file_bytes;) {
    const ssize_t got =
        ::pread(box.files.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (got <= 0) return Errno::io;
    CLOCHE_TRY(sink(std::span(piece).first(static_cast<std::size_t>(got))));
    at += static_cast<std::uint64_t>(got);
  }
  return {};
}

// Throws Error.
Sha256Digest digest_of(const sandbox::SavedBox& box) {
  Sha256 digest;
  const auto add = [&](std::span<const std::byte> bytes) -> Result<void> {
    digest.add(bytes);
    return {};
  };
  if (const Result<void> read = read_box(box, add); !read)
    throw Error(read.error(), "the sandbox's files cannot be saved");
  return digest.end();
}

}  // namespace

std::shared_ptr<const Checkpoint::Parts> Checkpoint::parts_of(Sandbox& sandbox,
                                                              const WithShell* shell) {
  Parts parts;
  parts.box = sandbox.backend_->save();
  if (parts.box) {
    parts.header = header_of(*parts.box);
    parts.box_digest = digest_of(*parts.box);
    return std::make_shared<const Parts>(std::move(parts));
  }
  sandbox::SandboxState& state = sandbox.backend_->wasm();
  std::optional<sandbox::ShellText> text;
  if (shell != nullptr) {
    auto written = state.shell().text(shell->time);
    if (written)
      text = *std::move(written);
    else
      parts.shell_problem = errno_info(written.error()).message;
  }
  parts.base = state.engine().base();
  parts.files = state.freeze_files();
  parts.header = header_of(state, text);
  return std::make_shared<const Parts>(std::move(parts));
}

Checkpoint::Checkpoint(Sandbox& sandbox) : parts_(parts_of(sandbox, nullptr)) {}

Checkpoint::Checkpoint(Sandbox& sandbox, const WithShell& shell)
    : parts_(parts_of(sandbox, &shell)) {}

const std::string& Checkpoint::shell_problem() const { return parts_->shell_problem; }

std::uint64_t Checkpoint::size() const {
  if (parts_->box) return parts_->box->file_bytes + parts_->header.size();
  return vfs::size_of({parts_->base, {}, parts_->files}) + parts_->header.size();
}

std::uint64_t Checkpoint::size_since(const Checkpoint& before) const {
  if (parts_->box) {
    const bool is_same =
        parts_->box_digest == before.parts_->box_digest && parts_->header == before.parts_->header;
    return is_same ? 0 : size();
  }
  const std::uint64_t files = vfs::size_of({parts_->base, before.parts_->files, parts_->files});
  const bool same = parts_->header == before.parts_->header;
  return same ? files : files + parts_->header.size();
}

void Checkpoint::forget_files() {
  if (!parts_->box || !parts_->box->files) return;
  Parts parts;
  parts.header = parts_->header;
  parts.box = std::make_unique<sandbox::SavedBox>();
  parts.box->file_bytes = parts_->box->file_bytes;
  parts.box_digest = parts_->box_digest;
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

Result<void> Checkpoint::write(const ByteSink& sink) const { return write_part(nullptr, sink); }

Result<void> Checkpoint::write_since(const Checkpoint& before, const ByteSink& sink) const {
  return write_part(before.parts_.get(), sink);
}

Result<void> Checkpoint::write_part(const Parts* before, const ByteSink& sink) const {
  Sha256 digest;
  const ByteSink hashed = [&](std::span<const std::byte> bytes) {
    digest.add(bytes);
    return sink(bytes);
  };
  std::string head(parts_->box ? sandbox::box_line
                   : before    ? sandbox::changes_line
                               : sandbox::state_line);
  head += parts_->header + "\n";
  CLOCHE_TRY(hashed(std::as_bytes(std::span(head))));
  if (parts_->box) {
    CLOCHE_TRY(read_box(*parts_->box, hashed));
  } else {
    CLOCHE_TRY(
        vfs::write_tree({parts_->base, before ? before->files : vfs::Frozen(), parts_->files},
                        user_folders, hashed));
  }
  const auto hash = digest.end();
  return sink(std::as_bytes(std::span(hash)));
}

}  // namespace cloche
