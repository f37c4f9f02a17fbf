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

#include "base/host_error.h"
#include "base/write_fully.h"
#include "native/host/box.h"
#include "native/host/patience.h"
#include "native/warden/packet.h"

namespace cloche::native {
namespace {

using warden::MountOrder;

UniqueFd open_folder(const HostMount& mount) {
  UniqueFd folder(::open(mount.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) throw HostError::from_errno("opening the folder " + mount.folder, errno);
  const int wanted = R_OK | X_OK | (mount.is_read_only ? 0 : W_OK);
  if (::faccessat(folder.get(), ".", wanted, AT_EACCESS) != 0)
    throw HostError::from_errno("using the folder " + mount.folder, errno);
  return folder;
}

bool put(const std::string& text, std::span<char> to) {
  if (text.size() >= to.size() || text.find('\0') != std::string::npos) return false;
  std::memcpy(to.data(), text.data(), text.size());
  return true;
}

UniqueFd make_tree(const HostMount& mount, const UniqueFd& folder, int mounter) {
  const int given = folder.get();
  warden::MountMade made;
  warden::Packet packet;
  if (!warden::send_record(mounter, warden::MountAsk{.is_read_only = mount.is_read_only},
                           std::span(&given, 1)) ||
      !readable_within(mounter, patience) || !warden::receive_record(mounter, made, packet))
    throw HostError("cloche-warden has ended, which makes the boxes of the linux engine");
  if (made.error != 0) throw HostError(explain_mount(mount, made.error));
  return UniqueFd(packet.take_fd(0));
}

}  // namespace

std::string explain_mount(const HostMount& mount, int error) {
  const char* remedy = "";
  if (error == EINVAL)
    remedy =
        ": its file system, or one below it, takes no map of owners, which boxes need where "
        "root runs cloche; run it as the folder's owner";
  if (error == ESTALE) remedy = ": another folder is there now";
  return fmt::format("cannot mount {} at {}: {}{}", mount.folder, mount.guest_path,
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
    const UniqueFd folder = open_folder(mount);
    MountOrder order;
    struct stat of{};
    std::error_code error;
    const std::filesystem::path path =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(folder.get()), error);
    if (::fstat(folder.get(), &of) != 0 || error || !put(path.string(), order.host) ||
        !put(mount.guest_path, order.guest))
      throw request_error(explain_mount(mount, ENAMETOOLONG), Errno::nametoolong);
    order.device = of.st_dev;
    order.inode = of.st_ino;
    order.is_read_only = mount.is_read_only;
    order.has_tree = mounter >= 0;
    if (!write_fully(descriptors_.front().get(), std::as_bytes(std::span(&order, 1))))
      throw HostError::from_errno("a file of mounts", errno);
    if (order.has_tree) descriptors_.push_back(make_tree(mount, folder, mounter));
  }
}

}  // namespace cloche::native
