// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/computed_fs.h"

#include <algorithm>
#include <span>
#include <utility>

namespace cloche::kernel {
namespace {

// Holds its text as long as it is open, and so charges it: a guest may have thousands of files
// open, and make what they read as long as its environment.
class TextIo final : public vfs::NodeIo {
 public:
  static Result<std::unique_ptr<vfs::NodeIo>> open(vfs::Node node, std::string text,
                                                   const std::shared_ptr<BufferBudget>& budget) {
    text.shrink_to_fit();
    const std::uint64_t cost = text.size() - std::min(text.size(), BufferBudget::free_bytes);
    if (cost != 0 && !budget->take(cost)) return Errno::nomem;
    return std::unique_ptr<vfs::NodeIo>(new TextIo(std::move(node), std::move(text), budget, cost));
  }
  ~TextIo() override {
    if (cost_ != 0) budget_->give_back(cost_);
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset >= text_.size()) return std::size_t{0};
    const auto from = static_cast<std::size_t>(offset);
    const std::size_t count = std::min(out.size(), text_.size() - from);
    std::ranges::copy(std::as_bytes(std::span(text_).subspan(from, count)), out.begin());
    return count;
  }
  Result<std::uint64_t> seek_data(std::uint64_t offset) override {
    if (offset >= text_.size()) return Errno::nxio;
    return offset;
  }
  Result<std::uint64_t> seek_hole(std::uint64_t offset) override {
    if (offset >= text_.size()) return Errno::nxio;
    return std::uint64_t{text_.size()};
  }
  Result<void> sync() override { return {}; }

 private:
  TextIo(vfs::Node node, std::string text, std::shared_ptr<BufferBudget> budget, std::uint64_t cost)
      : NodeIo(std::move(node), vfs::Access::read),
        text_(std::move(text)),
        budget_(std::move(budget)),
        cost_(cost) {}

  const std::string text_;
  const std::shared_ptr<BufferBudget> budget_;
  const std::uint64_t cost_;
};

}  // namespace

class ComputedFs::DirectoryIo final : public vfs::NodeIo {
 public:
  DirectoryIo(ComputedFs& fs, vfs::Ino ino)
      : NodeIo(vfs::Node(fs, ino), vfs::Access::read), fs_(fs), ino_(ino) {}

  Result<void> readdir(std::uint64_t cookie, const vfs::DirSink& sink) override
      REQUIRES(kernel_lock) {
    CLOCHE_ASSIGN(const vfs::Ino above, fs_.parent(ino_));
    if (cookie < 1 && !sink({ino_, vfs::FileType::directory, ".", 1})) return {};
    if (cookie < 2 && !sink({above, vfs::FileType::directory, "..", 2})) return {};
    return fs_.list(ino_, cookie, sink);
  }
  Result<void> sync() override { return {}; }

 private:
  ComputedFs& fs_;
  vfs::Ino ino_;
};

Result<void> ComputedFs::set_attr(vfs::Ino, const vfs::SetAttr&) { return Errno::perm; }

Result<std::string> ComputedFs::readlink(vfs::Ino) { return Errno::inval; }

Result<std::unique_ptr<vfs::NodeIo>> ComputedFs::open(vfs::Ino ino, vfs::Access access) {
  CLOCHE_ASSIGN(const vfs::Stat what, stat(ino));
  if (vfs::has(access, vfs::Access::write)) {
    return what.type == vfs::FileType::directory ? Errno::isdir : Errno::acces;
  }
  if (what.type == vfs::FileType::directory)
    return std::unique_ptr<vfs::NodeIo>(new DirectoryIo(*this, ino));
  if (what.type != vfs::FileType::regular) return Errno::inval;
  CLOCHE_ASSIGN(std::string text, content(ino));
  return TextIo::open(vfs::Node(*this, ino), std::move(text), budget_);
}

vfs::FsRef ComputedFs::fork_for(std::optional<std::uint64_t>) { return {}; }

}  // namespace cloche::kernel
