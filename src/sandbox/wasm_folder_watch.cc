// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "kernel/kernel.h"
#include "kernel/time/kernel_handle.h"
#include "sandbox/sandbox_state.h"
#include "sandbox/wasm_files.h"
#include "vfs/tree_watch.h"

namespace cloche::sandbox {
namespace {

FileChange::Kind kind_of(vfs::ChangeKind kind) {
  using Kind = FileChange::Kind;
  switch (kind) {
    case vfs::ChangeKind::created: return Kind::created;
    case vfs::ChangeKind::written: return Kind::written;
    case vfs::ChangeKind::removed: return Kind::removed;
    case vfs::ChangeKind::renamed: return Kind::renamed;
    case vfs::ChangeKind::attributes: break;
  }
  return Kind::attributes;
}

// The watch is touched, and let go of, under the kernel lock.
class WasmWatch final : public WatchBackend {
 public:
  WasmWatch(SandboxState& state, std::unique_ptr<vfs::TreeWatch> watch)
      : state_(state), watch_(state.kernel().mutex(), std::move(watch)) {}

  Result<std::vector<FileChange>> take() override {
    const auto take_pending = [this] {
      const kernel::KernelLock lock(state_.kernel().mutex());
      return watch_->take();
    };
    CLOCHE_ASSIGN(std::vector<vfs::PathChange> pending, take_pending());
    std::vector<FileChange> changes;
    changes.reserve(pending.size());
    for (vfs::PathChange& change : pending)
      changes.push_back({kind_of(change.kind), std::move(change.path)});
    return changes;
  }
  bool is_over() override EXCLUDES(kernel::kernel_lock) {
    const kernel::KernelLock lock(state_.kernel().mutex());
    return watch_->is_over();
  }

 private:
  SandboxState& state_;
  kernel::KernelHandle<std::unique_ptr<vfs::TreeWatch>> watch_;
};

}  // namespace

Result<std::unique_ptr<WatchBackend>> WasmFiles::watch(std::string_view path, WatchDepth depth,
                                                       std::function<void()> changed) {
  const auto its_depth =
      depth == WatchDepth::tree ? vfs::TreeWatch::Depth::tree : vfs::TreeWatch::Depth::directory;
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) -> Result<std::unique_ptr<WatchBackend>> {
        CLOCHE_ASSIGN(auto watch, files.watch(path, its_depth, std::move(changed)));
        return std::make_unique<WasmWatch>(state_, std::move(watch));
      });
}

}  // namespace cloche::sandbox
