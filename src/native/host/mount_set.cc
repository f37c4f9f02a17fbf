// SPDX-License-Identifier: Apache-2.0
#include "native/host/mount_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/descriptor_path.h"
#include "base/guest_folders.h"
#include "base/write_fully.h"
#include "native/host/box.h"
#include "native/host/patience.h"
#include "native/warden/packet.h"

namespace cloche::native {
namespace {

using warden::MountOrder;

struct Source {
  UniqueFd fd;  // O_PATH
  struct stat of{};
};

Source open_source(const HostMount& mount) {
  Result<UniqueFd, HostError> found = guest_folders().open(mount.host_path);
  if (!found) throw found.error();
  Source source{.fd = *std::move(found)};
  if (::fstat(source.fd.get(), &source.of) != 0)
    throw HostError::from_errno("looking at " + mount.host_path, errno);
  const bool is_folder = S_ISDIR(source.of.st_mode);
  if (!is_folder && !S_ISREG(source.of.st_mode))
    throw HostError(mount.host_path + " is neither a folder nor a regular file", Errno::inval);
  if (!is_folder && mount.guest_path.ends_with('/'))
    throw request_error(explain_mount(mount, ENOTDIR), Errno::notdir);
  const int wanted = R_OK | (is_folder ? X_OK : 0) | (mount.is_read_only ? 0 : W_OK);
  if (::faccessat(AT_FDCWD, descriptor_path(source.fd).c_str(), wanted, AT_EACCESS) != 0)
    throw HostError::from_errno("using " + mount.host_path, errno);
  return source;
}

bool put(const std::string& text, std::span<char> to) {
  if (text.size() >= to.size() || text.find('\0') != std::string::npos) return false;
  std::memcpy(to.data(), text.data(), text.size());
  return true;
}

UniqueFd make_tree(const HostMount& mount, const UniqueFd& source, int mounter) {
  const int given = source.get();
  warden::MountMade made;
  warden::Packet packet;
  if (!warden::send_record(mounter, warden::MountAsk{.is_read_only = mount.is_read_only},
                           std::span(&given, 1)) ||
      !readable_within(mounter, patience) || !warden::receive_record(mounter, made, packet))
    throw MounterEnded();
  if (made.error != 0) throw HostError(explain_mount(mount, made.error));
  return UniqueFd(packet.take_fd(0));
}

}  // namespace

MounterEnded::MounterEnded()
    : HostError("cloche-warden has ended, which makes the boxes of the linux engine") {}

std::string explain_mount(const HostMount& mount, int error) {
  const char* remedy = "";
  if (error == EINVAL)
    remedy =
        ": its file system, or one below it, takes no map of owners, which boxes need where "
        "root runs cloche; run it as its owner";
  if (error == ESTALE) remedy = ": something else is there now than when this program began";
  return fmt::format("cannot mount {} at {}: {}{}", mount.host_path, mount.guest_path,
                     std::strerror(error), remedy);
}

MountSet::MountSet(const std::vector<HostMount>& mounts, int mounter) {
  if (mounts.empty()) return;
  if (mounts.size() > warden::most_mounts)
    throw request_error(
        fmt::format("a linux sandbox has {} mounts at most, not {}: mount a folder above them",
                    warden::most_mounts, mounts.size()));
  descriptors_.emplace_back(::memfd_create("cloche mounts", MFD_CLOEXEC));
  if (!descriptors_.front()) throw HostError::from_errno("a file of mounts", errno);
  for (const HostMount& mount : mounts) {
    const Source source = open_source(mount);
    MountOrder order;
    std::error_code error;
    const std::filesystem::path path =
        std::filesystem::read_symlink(descriptor_path(source.fd), error);
    if (error || !put(path.string(), order.host) || !put(mount.guest_path, order.guest))
      throw request_error(explain_mount(mount, ENAMETOOLONG), Errno::nametoolong);
    order.device = source.of.st_dev;
    order.inode = source.of.st_ino;
    order.is_read_only = mount.is_read_only;
    order.has_tree = mounter >= 0;
    if (!write_fully(descriptors_.front().get(), std::as_bytes(std::span(&order, 1))))
      throw HostError::from_errno("a file of mounts", errno);
    if (order.has_tree) descriptors_.push_back(make_tree(mount, source.fd, mounter));
  }
}

}  // namespace cloche::native
