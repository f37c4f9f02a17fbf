// SPDX-License-Identifier: Apache-2.0
// MemFs: content of files and directories, and extended attributes.

#include <algorithm>

#include "vfs/memfs_impl.h"

namespace cloche::vfs {

using namespace memfs;

namespace {

class Held final : public HeldContent {
 public:
  // Counts it in `total`; nothing where there would be more than `limit` then.
  static std::unique_ptr<Held> make(const Content& content,
                                    std::shared_ptr<std::atomic<std::uint64_t>> total,
                                    std::uint64_t limit) {
    const std::uint64_t bytes = content.charge();
    // Nobody counts up but who has the lock.
    const std::uint64_t before = total->load(std::memory_order_relaxed);
    if (before > limit || bytes > limit - before) return nullptr;
    auto held = std::make_unique<Held>(content, std::move(total));
    *held->total_ += bytes;
    return held;
  }

  Held(const Content& content, std::shared_ptr<std::atomic<std::uint64_t>> total)
      : content_(content), total_(std::move(total)) {}
  ~Held() override { *total_ -= content_.charge(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::uint64_t size() const override { return content_.size(); }
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    return content_.read(offset, out);
  }

 private:
  const Content content_;
  const std::shared_ptr<std::atomic<std::uint64_t>> total_;
};

}  // namespace

class MemFs::Io final : public NodeIo {
 public:
  using NodeIo::NodeIo;

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> out) override {
    if (!has(access(), Access::read)) return Errno::badf;
    const Inode& inode = *impl().find(ino());
    if (inode.type == FileType::directory) return Errno::isdir;
    const std::size_t n = inode.content.read(offset, out);
    touch_atime(inode);
    return n;
  }

  std::unique_ptr<HeldContent> hold() override {
    if (!has(access(), Access::read)) return nullptr;
    const Inode& inode = *impl().find(ino());
    if (inode.type != FileType::regular) return nullptr;
    auto held = Held::make(inode.content, impl().held_bytes, impl().quota.bytes);
    if (held) touch_atime(inode);
    return held;
  }

  Result<std::size_t> write(std::uint64_t offset, std::span<const std::byte> in) override {
    if (in.empty() && has(access(), Access::write)) return std::size_t{0};
    return change(
        [&](Content& content, std::uint64_t room) { return content.write(offset, in, room); });
  }

  Result<Appended> append(std::span<const std::byte> in) override {
    const std::uint64_t end = impl().find(ino())->content.size();
    CLOCHE_ASSIGN(const std::size_t count, write(end, in));
    return Appended{count, end + count};
  }

  Result<void> truncate(std::uint64_t size) override {
    return change(
        [&](Content& content, std::uint64_t room) { return content.truncate(size, room); });
  }

  Result<void> allocate(std::uint64_t offset, std::uint64_t size, AllocateMode mode) override {
    return change([&](Content& content, std::uint64_t room) {
      return content.allocate(offset, size, mode, room);
    });
  }

  Result<void> punch_hole(std::uint64_t offset, std::uint64_t size) override {
    return change([&](Content& content, std::uint64_t room) {
      return content.punch_hole(offset, size, room);
    });
  }

  Result<std::uint64_t> seek_data(std::uint64_t offset) override {
    return impl().find(ino())->content.seek_data(offset);
  }
  Result<std::uint64_t> seek_hole(std::uint64_t offset) override {
    return impl().find(ino())->content.seek_hole(offset);
  }

  Result<void> readdir(std::uint64_t cookie, const DirSink& sink) override {
    const Inode& inode = *impl().find(ino());
    if (inode.type != FileType::directory) return Errno::notdir;
    if (inode.nlink == 0) return {};  // removed: as Linux shows it, without even "." and ".."
    // The directory as it is now stays as it is, whatever the sink does.
    const Ref<Directory> dir = inode.dir;
    touch_atime(inode);
    if (cookie == 0) {
      if (!sink({ino(), FileType::directory, ".", 1})) return {};
      cookie = 1;
    }
    if (cookie == 1) {
      const auto parent = fs().parent(ino());
      if (!sink({parent ? *parent : ino(), FileType::directory, "..", 2})) return {};
    }
    while (const Entry* entry = dir->next(cookie)) {
      cookie = entry->cookie + 1;
      const Ino shown = entry->ino | Impl::graft_bits(ino());
      if (!sink({shown, entry->type, dir->name(*entry), cookie})) return {};
    }
    return {};
  }

 private:
  MemFs& fs() const { return static_cast<MemFs&>(node().fs()); }
  Impl& impl() const { return *fs().impl_; }
  Ino ino() const { return node().ino(); }

  // Runs a change of the content and books what it cost.
  template <typename Change>
  auto change(const Change& change) -> decltype(change(std::declval<Content&>(), 0)) {
    if (!has(access(), Access::write)) return Errno::badf;
    Impl& fs = impl();
    Inode& inode = fs.mut(ino());
    const std::uint64_t before = inode.content.charge();
    auto result = change(inode.content, fs.room_bytes());
    if (!result) return result;
    fs.state.usage.bytes += inode.content.charge() - before;
    inode.mtime = inode.ctime = fs.clock.now();
    inode.program = 0;
    // Set-id bits do not survive a write.
    if ((inode.mode & 0111) != 0) inode.mode &= ~(mode::set_uid | mode::set_gid);
    this->fs().tell(ChangeKind::written, ino());
    return result;
  }

  void touch_atime(const Inode& inode) {
    if (inode.base || !Impl::is_own(ino())) return;
    const Timestamp now = impl().clock.now();
    constexpr std::int64_t day_s = std::int64_t{24} * 60 * 60;
    const bool stale =
        inode.atime <= inode.mtime || inode.atime <= inode.ctime || now.s - inode.atime.s >= day_s;
    if (stale && now != inode.atime) impl().mut(ino()).atime = now;
  }
};

Result<std::unique_ptr<NodeIo>> MemFs::open(Ino ino, Access access) {
  CLOCHE_ASSIGN(const Inode* inode, impl_->get(ino));
  if (inode->type == FileType::directory) {
    if (has(access, Access::write)) return Errno::isdir;
  } else if (inode->type != FileType::regular) {
    return Errno::inval;
  }
  if (has(access, Access::write) && !Impl::is_own(ino)) return Errno::rofs;
  // What is opened to be executed is read.
  if (has(access, Access::execute)) access = access | Access::read;
  return std::make_unique<Io>(Node(*this, ino), access);
}

namespace {

constexpr std::string_view user_prefix = "user.";

Result<void> check_xattr_name(std::string_view name) {
  if (!name.starts_with(user_prefix)) return Errno::notsup;
  if (name.size() == user_prefix.size()) return Errno::inval;
  if (name.size() > name_max) return Errno::range;
  return {};
}

}  // namespace

Result<std::string> MemFs::get_xattr(Ino ino, std::string_view name) {
  CLOCHE_TRY(check_xattr_name(name));
  CLOCHE_ASSIGN(const Inode* inode, impl_->get(ino));
  if (!inode->extra) return Errno::nodata;
  const auto it = inode->extra->xattrs.find(name);
  if (it == inode->extra->xattrs.end()) return Errno::nodata;
  return it->second;
}

Result<void> MemFs::set_xattr(Ino ino, std::string_view name, std::string_view value,
                              XattrMode mode) {
  CLOCHE_TRY(check_xattr_name(name));
  if (value.size() > xattr_value_max) return Errno::toobig;
  CLOCHE_ASSIGN(const Inode* inode, impl_->get_own(ino));
  if (inode->type != FileType::regular && inode->type != FileType::directory) return Errno::perm;
  std::uint64_t freed = 0;
  bool there = false;
  if (inode->extra) {
    const auto it = inode->extra->xattrs.find(name);
    there = it != inode->extra->xattrs.end();
    if (there) freed = it->second.size() + name.size() + xattr_overhead;
  }
  if (mode == XattrMode::create && there) return Errno::exist;
  if (mode == XattrMode::replace && !there) return Errno::nodata;
  const std::uint64_t cost = value.size() + name.size() + xattr_overhead;
  if (cost > freed && cost - freed > impl_->room_bytes()) return Errno::nospc;
  Inode& changed = impl_->mut(ino);
  if (!changed.extra) changed.extra = Ref<Extra>::adopt(new Extra);
  changed.extra.mut().xattrs.insert_or_assign(std::string(name), std::string(value));
  changed.ctime = impl_->clock.now();
  impl_->state.usage.bytes += cost - freed;
  tell(ChangeKind::attributes, ino);
  return {};
}

Result<void> MemFs::remove_xattr(Ino ino, std::string_view name) {
  CLOCHE_ASSIGN(const std::string old, get_xattr(ino, name));
  CLOCHE_TRY(impl_->get_own(ino));
  Inode& changed = impl_->mut(ino);
  auto& xattrs = changed.extra.mut().xattrs;
  xattrs.erase(xattrs.find(name));
  changed.ctime = impl_->clock.now();
  impl_->state.usage.bytes -= old.size() + name.size() + xattr_overhead;
  tell(ChangeKind::attributes, ino);
  return {};
}

Result<std::vector<std::string>> MemFs::list_xattrs(Ino ino) {
  CLOCHE_ASSIGN(const Inode* inode, impl_->get(ino));
  std::vector<std::string> names;
  if (inode->extra) {
    for (const auto& [name, value] : inode->extra->xattrs) names.push_back(name);
  }
  return names;
}

}  // namespace cloche::vfs
