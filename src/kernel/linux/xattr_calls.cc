// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/xattr_calls.h"

#include "kernel/process/process_files.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t name_most = 255, value_most = 65536;

// The inode a call is about; its first argument says which.
using Target = Result<vfs::Node> (*)(Call&);

Result<vfs::Node> by_path(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, call.path(0));
  return process_files::lookup(call.process, {process_files::at_fdcwd, path}, vfs::Follow::yes);
}
Result<vfs::Node> by_link(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, call.path(0));
  return process_files::lookup(call.process, {process_files::at_fdcwd, path}, vfs::Follow::no);
}
Result<vfs::Node> by_descriptor(Call& call) REQUIRES(kernel_lock) {
  return process_files::node_of(call.process, call.i32(0));
}

// ERANGE for a name that is empty or too long; EOPNOTSUPP for a name space other than the user's.
Result<std::string> name_argument(Call& call) {
  auto name = call.memory.read_string(call.u32(1), name_most);
  if (!name) return name.error() == Errno::nametoolong ? Errno::range : name.error();
  if (name->empty()) return Errno::range;
  constexpr std::string_view user_space = "user.";
  if (!name->starts_with(user_space)) return Errno::notsup;
  if (name->size() == user_space.size()) return Errno::inval;
  return name;
}

SysResult put(Call& call, std::size_t address, std::size_t size, std::string_view value) {
  if (call.u32(size) == 0) return static_cast<std::int64_t>(value.size());
  if (call.u32(size) < value.size()) return Errno::range;
  CLOCHE_TRY(call.memory.copy_out(call.u32(address), value));
  return static_cast<std::int64_t>(value.size());
}

SysResult set(Call& call, Target target) REQUIRES(kernel_lock) {
  using Mode = vfs::FileSystem::XattrMode;
  constexpr std::uint32_t create = 1, replace = 2;
  const std::uint32_t flags = call.u32(4);
  if (flags > replace) return Errno::inval;
  CLOCHE_ASSIGN(const std::string name, name_argument(call));
  if (call.u32(3) > value_most) return Errno::toobig;
  std::string value(call.u32(3), '\0');
  CLOCHE_TRY(call.memory.copy_in(call.u32(2), std::as_writable_bytes(std::span(value))));
  CLOCHE_ASSIGN(const vfs::Node node, target(call));
  const Mode mode = flags == create ? Mode::create : flags == replace ? Mode::replace : Mode::set;
  CLOCHE_TRY(vfs::set_xattr(node, name, value, mode, call.process.credentials));
  return 0;
}

SysResult get(Call& call, Target target) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string name, name_argument(call));
  CLOCHE_ASSIGN(const vfs::Node node, target(call));
  CLOCHE_ASSIGN(const std::string value, vfs::get_xattr(node, name, call.process.credentials));
  return put(call, 2, 3, value);
}

SysResult list(Call& call, Target target) {
  CLOCHE_ASSIGN(const vfs::Node node, target(call));
  CLOCHE_ASSIGN(const std::vector<std::string> names, node.fs().list_xattrs(node.ino()));
  std::string joined;
  for (const std::string& name : names) joined.append(name).push_back('\0');
  return put(call, 1, 2, joined);
}

SysResult remove(Call& call, Target target) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string name, name_argument(call));
  CLOCHE_ASSIGN(const vfs::Node node, target(call));
  CLOCHE_TRY(vfs::remove_xattr(node, name, call.process.credentials));
  return 0;
}

}  // namespace

SysResult setxattr(Call& call) { return set(call, by_path); }
SysResult lsetxattr(Call& call) { return set(call, by_link); }
SysResult fsetxattr(Call& call) { return set(call, by_descriptor); }
SysResult getxattr(Call& call) { return get(call, by_path); }
SysResult lgetxattr(Call& call) { return get(call, by_link); }
SysResult fgetxattr(Call& call) { return get(call, by_descriptor); }
SysResult listxattr(Call& call) { return list(call, by_path); }
SysResult llistxattr(Call& call) { return list(call, by_link); }
SysResult flistxattr(Call& call) { return list(call, by_descriptor); }
SysResult removexattr(Call& call) { return remove(call, by_path); }
SysResult lremovexattr(Call& call) { return remove(call, by_link); }
SysResult fremovexattr(Call& call) { return remove(call, by_descriptor); }

}  // namespace cloche::kernel::lnx
