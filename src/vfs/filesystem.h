// SPDX-License-Identifier: Apache-2.0
// FileSystem: one tree of inodes, as a mechanism. It keeps the tree sound (types, names, link
// counts, quota) and knows nothing of permissions, paths or mounts: those are
// checked_operations.h and namespace.h.
//
// Threads: none of this is thread-safe. All calls on a file system, its Nodes and NodeIos are made
// under one lock, the kernel's. (What frozen states share between sandboxes is counted atomically,
// see memfs.h.) Errors: Errno always says which: ENOENT for what is absent, anything else for what
// failed. A call that fails changes nothing, except a write or read cut short, which says how far
// it came. Lifetime: file systems are counted (FsRef); a Node keeps its inode and its file system
// alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owner.h"
#include "base/result.h"
#include "vfs/shared_bytes.h"
#include "vfs/types.h"

namespace cloche::vfs {

class FileSystem;
class NodeIo;
class TreeWatch;

// An owner's reference to a file system. Not atomic: under the kernel's lock like everything else
// here.
class FsRef {
 public:
  FsRef() = default;
  explicit FsRef(FileSystem* fs) noexcept;  // adds a reference
  FsRef(const FsRef& other) noexcept : FsRef(other.fs_) {}
  FsRef(FsRef&& other) noexcept : fs_(std::exchange(other.fs_, nullptr)) {}
  FsRef& operator=(FsRef other) noexcept {
    std::swap(fs_, other.fs_);
    return *this;
  }
  ~FsRef();

  FileSystem* get() const { return fs_; }
  FileSystem* operator->() const { return fs_; }
  FileSystem& operator*() const { return *fs_; }
  explicit operator bool() const { return fs_ != nullptr; }

 private:
  FileSystem* fs_ = nullptr;
};

// Node: a counted reference to an inode. As long as one exists the inode exists, linked or not.
// Copying takes another reference. An empty Node refers to nothing.
class Node {
 public:
  Node() = default;
  Node(FileSystem& fs, Ino ino);  // `ino` must be one that `fs` just returned
  Node(const Node& other);
  Node(Node&& other) noexcept : fs_(std::move(other.fs_)), ino_(std::exchange(other.ino_, 0)) {}
  Node& operator=(Node other) noexcept {
    std::swap(fs_, other.fs_);
    std::swap(ino_, other.ino_);
    return *this;
  }
  ~Node();

  explicit operator bool() const { return ino_ != 0; }
  FileSystem& fs() const { return *fs_; }
  Ino ino() const { return ino_; }
  Result<Stat> stat() const;
  friend bool operator==(const Node& a, const Node& b) {
    return a.ino_ == b.ino_ && a.fs_.get() == b.fs_.get();
  }

 private:
  FsRef fs_;
  Ino ino_ = 0;
};

// Called for each entry; false stops before the entry is taken.
using DirSink = std::function<bool(const DirEntry&)>;

// The content of a file as it was at one moment. It may be read, and let go of, on any thread and
// without the lock.
class HeldContent {
 public:
  virtual ~HeldContent() = default;
  virtual std::uint64_t size() const = 0;
  // Up to out.size() bytes from `offset`; 0 at or after the end.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

// NodeIo: an inode opened for its content: what the open file description of a regular file or
// directory holds. A file system that makes content up does so when it is opened; one of the host
// keeps the host's descriptor here. Offsets and sizes are bytes. `access` is what open() was given;
// a call that it does not cover is EBADF.
class NodeIo {
 public:
  struct Appended {
    std::size_t count = 0;
    std::uint64_t end = 0;  // offset after the last byte written
  };

  NodeIo(Node node, Access access) : node_(std::move(node)), access_(access) {}
  NodeIo(const NodeIo&) = delete;
  NodeIo& operator=(const NodeIo&) = delete;
  virtual ~NodeIo() = default;

  const Node& node() const { return node_; }
  Access access() const { return access_; }

  virtual Result<Stat> stat() { return node_.stat(); }

  // Up to out.size() bytes from `offset`; 0 at or after the end.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> out);
  // What it is now, of which nothing is copied. Null where the file system cannot give that, or as
  // much as its quota is held already: what is held and then written over is charged to nobody.
  virtual std::unique_ptr<HeldContent> hold() { return nullptr; }
  // Writes all of it, or as much as there is room for (an error only when there is room for
  // nothing).
  virtual Result<std::size_t> write(std::uint64_t offset, std::span<const std::byte> in);
  virtual Result<Appended> append(std::span<const std::byte> in);

  virtual Result<void> truncate(std::uint64_t size);
  // Makes sure that [offset, offset + size) can be written without ENOSPC.
  virtual Result<void> allocate(std::uint64_t offset, std::uint64_t size, AllocateMode mode);
  // Makes [offset, offset + size) read as zeros and gives the space back; the file's size stays.
  virtual Result<void> punch_hole(std::uint64_t offset, std::uint64_t size);
  // Next offset >= `offset` with data, or in a hole (the end counts as one). ENXIO at or after the
  // end.
  virtual Result<std::uint64_t> seek_data(std::uint64_t offset);
  virtual Result<std::uint64_t> seek_hole(std::uint64_t offset);
  virtual Result<void> sync();

  // Entries from `cookie` (0: the start) on, "." and ".." first. ENOTDIR when this is no directory.
  virtual Result<void> readdir(std::uint64_t cookie, const DirSink& sink);

 private:
  Node node_;
  Access access_;
};

struct NewNode {
  FileType type = FileType::regular;  // not symlink
  std::uint32_t mode = 0644;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t rdev = 0;
};

// Something that has changed, for those that watch (tree_watch.h). A file that is moved is
// `renamed` where it was, then `created` where it is.
enum class ChangeKind : std::uint8_t { created, written, removed, renamed, attributes };
struct Change {
  ChangeKind kind;
  Ino dir;  // where the name is, or was; 0: nowhere that could be watched
  std::string_view name;
  Ino ino;
};

class FileSystem {
 public:
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  // Inodes. An Ino that a call returns stays valid while the caller holds a Node of it, or until
  // the next call that removes something or lets a Node go.
  virtual Ino root() const = 0;
  virtual Result<Ino> lookup(Ino dir, std::string_view name) = 0;  // not "." or ".."
  virtual Result<Ino> parent(Ino dir) = 0;                         // the root is its own parent
  struct Location {
    Ino parent = 0;
    std::string name;
  };
  // Where an inode is linked: for a directory its place, for another file the link that was made
  // (or, on a host, seen) last. ENOENT when that one is gone. For the root: EINVAL.
  virtual Result<Location> locate(Ino ino) = 0;
  virtual Result<Stat> stat(Ino ino) = 0;
  virtual Result<void> set_attr(Ino ino, const SetAttr& attr) = 0;

  // Changes of the tree. Names are checked here (ENAMETOOLONG; EINVAL for "", ".", "..", '/', NUL).
  virtual Result<Ino> create(Ino dir, std::string_view name, const NewNode& node);
  virtual Result<Ino> symlink(Ino dir, std::string_view name, std::string_view target,
                              const NewNode& node);
  virtual Result<void> link(Ino ino, Ino dir, std::string_view name);
  virtual Result<void> unlink(Ino dir, std::string_view name);  // EISDIR for a directory
  virtual Result<void> rmdir(Ino dir, std::string_view name);
  virtual Result<void> rename(Ino old_dir, std::string_view old_name, Ino new_dir,
                              std::string_view new_name, RenameMode mode);
  virtual Result<std::string> readlink(Ino ino) = 0;

  // A symbolic link that leads straight to a node, whatever its text (/proc/self/fd/3); EINVAL for
  // any other.
  virtual Result<Node> magic_target(Ino ino);

  // Opens a regular file or directory (EINVAL for other types: those are the kernel's).
  virtual Result<std::unique_ptr<NodeIo>> open(Ino ino, Access access) = 0;

  // What exec needs to know: the tag of a built-in program (BaseBuilder::add_program), 0 for any
  // other file; and the content where it is one shared, unmodified buffer (nullopt otherwise).
  virtual std::uint64_t program(Ino ino);
  virtual std::optional<SharedBytes> shared_content(Ino ino);

  // Extended attributes of the "user." name space. ENODATA, ENOSPC, E2BIG, ERANGE as in xattr(7).
  enum class XattrMode : std::uint8_t { set, create, replace };
  virtual Result<std::string> get_xattr(Ino ino, std::string_view name);
  virtual Result<void> set_xattr(Ino ino, std::string_view name, std::string_view value,
                                 XattrMode mode);
  virtual Result<void> remove_xattr(Ino ino, std::string_view name);
  virtual Result<std::vector<std::string>> list_xattrs(Ino ino);

  virtual StatFs statfs() = 0;
  virtual Result<void> sync() { return {}; }

  // True when nothing in it may be changed: checked_operations.h then answers EROFS.
  virtual bool read_only() const { return false; }
  // The type's name, for /proc/mounts: "tmpfs", "hostfs", "proc".
  virtual std::string_view type_name() const = 0;

  // The same file system for a forked sandbox: inode numbers stay, what one changes the other does
  // not see, where the kind allows that (MemFs); a host folder is the same folder. An empty FsRef:
  // this kind belongs to one kernel (proc, devpts), and the new kernel mounts its own. Throws
  // HostError where the host does not give what it takes.
  virtual FsRef fork_for(std::optional<std::uint64_t> quota_bytes);
  // After a fork, once the new sandbox has its Nodes: lets go of the unlinked files that nothing
  // refers to.
  virtual void drop_orphans() {}

  // Whose the descriptors of the host are that it opens from now on; null, as at first: nobody's.
  virtual void set_owner(const std::shared_ptr<Owner>&) {}

  // Whether it tells those that watch it what changes.
  virtual bool tells_changes() const { return false; }

  // Number of the file system in Stat::dev; the Namespace sets it when it mounts.
  std::uint64_t device() const { return device_; }
  void set_device(std::uint64_t device) { device_ = device; }

 protected:
  FileSystem() = default;
  virtual ~FileSystem() = default;

  // Nodes come and go: an inode with references must not vanish.
  virtual void acquire(Ino ino) = 0;
  virtual void release(Ino ino) noexcept = 0;

  // For a kind that tells_changes(), once the change is done; the second is of an inode by itself.
  void tell(const Change& change) {
    if (!watches_.empty()) tell_watches(change);
  }
  void tell(ChangeKind kind, Ino ino) {
    if (!watches_.empty()) tell_watches(kind, ino);
  }

 private:
  friend class FsRef;
  friend class Node;
  friend class TreeWatch;
  void tell_watches(const Change& change);
  void tell_watches(ChangeKind kind, Ino ino);

  std::uint64_t refs_ = 0;
  std::uint64_t device_ = 0;
  std::vector<TreeWatch*> watches_;  // each takes itself out
};

// ENAMETOOLONG or EINVAL for a name that no directory can hold.
Result<void> check_name(std::string_view name);

// Makes a file system: make_fs<MemFs>(...).
template <typename T>
class TypedFsRef : public FsRef {
 public:
  TypedFsRef() = default;
  explicit TypedFsRef(T* fs) : FsRef(fs) {}
  T* get() const { return static_cast<T*>(FsRef::get()); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }
};
template <typename T, typename... Args>
TypedFsRef<T> make_fs(Args&&... args) {
  return TypedFsRef<T>(new T(std::forward<Args>(args)...));
}

}  // namespace cloche::vfs
