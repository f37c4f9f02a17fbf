// SPDX-License-Identifier: Apache-2.0
#include "vfs/base_builder.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "vfs/memfs_impl.h"

namespace cloche::vfs {

using namespace memfs;

namespace {

class FixedClock final : public Clock {
 public:
  explicit FixedClock(Timestamp time) : time_(time) {}
  Timestamp now() override { return time_; }

 private:
  Timestamp time_;
};

}  // namespace

struct BaseBuilder::Impl {
  explicit Impl(const BaseAttr& dirs)
      : directories(dirs), clock(dirs.mtime), fs(make_fs<MemFs>(Quota{}, clock)) {
    tree().building_base = true;
    set_attr(root_ino, directories);
  }

  MemFs::Impl& tree() { return *fs->impl_; }

  void set_attr(Ino ino, const BaseAttr& attr) {
    Inode& inode = tree().mut(ino);
    inode.mode = attr.mode & mode::all;
    inode.uid = attr.uid;
    inode.gid = attr.gid;
    inode.atime = inode.mtime = inode.ctime = inode.btime = attr.mtime;
  }

  // Every component is a name, before anything is made.
  static Result<void> check_names(std::string_view path) {
    for (;;) {
      const std::size_t slash = path.find('/');
      CLOCHE_TRY(check_name(path.substr(0, slash)));
      if (slash == path.npos) return {};
      path.remove_prefix(std::min(path.find_first_not_of('/', slash), path.size()));
    }
  }

  struct Slot {
    Ino dir = 0;
    std::string_view name;
    Timestamp dir_mtime;  // to be kept: what is added does not change it
  };

  // The directory for the last component of `path`, made with what leads there. EINVAL for a path
  // without one.
  Result<Slot> place(std::string_view path) {
    Ino dir = root_ino;
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    const std::size_t last_slash = path.rfind('/');
    if (last_slash != path.npos && path.substr(0, last_slash) == last_folder) {
      const std::string_view name = path.substr(last_slash + 1);
      CLOCHE_TRY(check_name(name));
      return Slot{last_dir, name, tree().find(last_dir)->mtime};
    }
    CLOCHE_TRY(check_names(path));
    const std::string_view folder = path.substr(0, last_slash);
    for (;;) {
      const std::size_t slash = path.find('/');
      const std::string_view name = path.substr(0, slash);
      if (slash == path.npos) {
        if (dir != root_ino) last_folder = folder, last_dir = dir;
        return Slot{dir, name, tree().find(dir)->mtime};
      }
      CLOCHE_ASSIGN(dir, make_dir(dir, name));
      path.remove_prefix(slash);
      while (path.starts_with('/')) path.remove_prefix(1);
    }
  }

  Result<Ino> make_dir(Ino dir, std::string_view name) {
    const auto there = fs->lookup(dir, name);
    if (there) {
      if (tree().find(*there)->type != FileType::directory) return Errno::notdir;
      return *there;
    }
    const Timestamp kept = tree().find(dir)->mtime;
    CLOCHE_ASSIGN(const Ino made, fs->create(dir, name, {.type = FileType::directory}));
    set_attr(made, directories);
    restore(dir, kept);
    return made;
  }

  void restore(Ino dir, Timestamp time) {
    Inode& inode = tree().mut(dir);
    inode.mtime = inode.ctime = time;
  }

  // Makes room for a file at `place`: what is there must not be a directory.
  Result<void> clear(const Slot& place) {
    const auto there = fs->lookup(place.dir, place.name);
    if (!there) return {};
    return fs->unlink(place.dir, place.name);
  }

  // A regular file with that content.
  Result<Ino> file(std::string_view path, SharedBytes content, const BaseAttr& attr) {
    CLOCHE_ASSIGN(const Slot at, place(path));
    CLOCHE_TRY(clear(at));
    CLOCHE_ASSIGN(const Ino ino, fs->create(at.dir, at.name, {}));
    tree().mut(ino).content = Content(std::move(content));
    set_attr(ino, attr);
    restore(at.dir, at.dir_mtime);
    return ino;
  }

  BaseAttr directories;
  FixedClock clock;
  TypedFsRef<MemFs> fs;
  // Where the last entry was put that is not in the root: most that follow are beside it. Nothing
  // here takes a directory away.
  std::string last_folder;
  Ino last_dir = 0;
};

BaseBuilder::BaseBuilder(BaseAttr directories) : impl_(std::make_unique<Impl>(directories)) {}
BaseBuilder::~BaseBuilder() = default;

Result<void> BaseBuilder::add_dir(std::string_view path, const BaseAttr& attr) {
  if (path.find_first_not_of('/') == path.npos) {
    impl_->set_attr(root_ino, attr);
    return {};
  }
  CLOCHE_ASSIGN(const Impl::Slot at, impl_->place(path));
  CLOCHE_ASSIGN(const Ino ino, impl_->make_dir(at.dir, at.name));
  impl_->set_attr(ino, attr);
  return {};
}

Result<void> BaseBuilder::add_file(std::string_view path, SharedBytes content,
                                   const BaseAttr& attr) {
  CLOCHE_TRY(impl_->file(path, std::move(content), attr));
  return {};
}

Result<void> BaseBuilder::add_program(std::string_view path, std::uint64_t tag, SharedBytes content,
                                      const BaseAttr& attr) {
  if (tag == 0) return Errno::inval;
  CLOCHE_ASSIGN(const Ino ino, impl_->file(path, std::move(content), attr));
  impl_->tree().mut(ino).program = tag;
  return {};
}

Result<void> BaseBuilder::add_symlink(std::string_view path, std::string_view target,
                                      const BaseAttr& attr) {
  CLOCHE_ASSIGN(const Impl::Slot at, impl_->place(path));
  CLOCHE_TRY(impl_->clear(at));
  CLOCHE_ASSIGN(const Ino ino, impl_->fs->symlink(at.dir, at.name, target, {}));
  impl_->set_attr(ino, attr);
  impl_->restore(at.dir, at.dir_mtime);
  return {};
}

Result<void> BaseBuilder::add_device(std::string_view path, FileType type, std::uint64_t rdev,
                                     const BaseAttr& attr) {
  if (type != FileType::character && type != FileType::block) return Errno::inval;
  CLOCHE_ASSIGN(const Impl::Slot at, impl_->place(path));
  CLOCHE_TRY(impl_->clear(at));
  CLOCHE_ASSIGN(const Ino ino, impl_->fs->create(at.dir, at.name, {.type = type, .rdev = rdev}));
  impl_->set_attr(ino, attr);
  impl_->restore(at.dir, at.dir_mtime);
  return {};
}

Frozen BaseBuilder::freeze() { return impl_->fs->freeze(); }

}  // namespace cloche::vfs
