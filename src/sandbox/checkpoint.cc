// SPDX-License-Identifier: Apache-2.0
#include "cloche/checkpoint.h"

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

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

}  // namespace

Checkpoint::Checkpoint(Sandbox& sandbox) {
  sandbox::SandboxState& state = sandbox.backend_->wasm();
  parts_ = std::make_shared<const Parts>(
      Parts{state.engine().base(), state.freeze_files(), header_of(state, std::nullopt), {}});
}

Checkpoint::Checkpoint(Sandbox& sandbox, const WithShell& shell) {
  sandbox::SandboxState& state = sandbox.backend_->wasm();
  const auto text = state.shell().text(shell.time);
  parts_ = std::make_shared<const Parts>(Parts{
      state.engine().base(), state.freeze_files(), header_of(state, text ? *text : std::nullopt),
      text ? std::string() : std::string(errno_info(text.error()).message)});
}

const std::string& Checkpoint::shell_problem() const { return parts_->shell_problem; }

std::uint64_t Checkpoint::size() const {
  return vfs::size_of({parts_->base, {}, parts_->files}) + parts_->header.size();
}

std::uint64_t Checkpoint::size_since(const Checkpoint& before) const {
  const std::uint64_t files = vfs::size_of({parts_->base, before.parts_->files, parts_->files});
  const bool same = parts_->header == before.parts_->header;
  return same ? files : files + parts_->header.size();
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
  std::string head(before ? sandbox::changes_line : sandbox::state_line);
  head += parts_->header + "\n";
  CLOCHE_TRY(hashed(std::as_bytes(std::span(head))));
  CLOCHE_TRY(vfs::write_tree({parts_->base, before ? before->files : vfs::Frozen(), parts_->files},
                             user_folders, hashed));
  const auto hash = digest.end();
  return sink(std::as_bytes(std::span(hash)));
}

}  // namespace cloche
