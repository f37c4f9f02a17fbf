// SPDX-License-Identifier: Apache-2.0
#include "base/process_jail.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "base/call_filter.h"
#include "base/host_error.h"
#include "base/process_jail_calls.h"
#include "base/unique_fd.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

// Parts of Landlock's interface that Debian's headers do not name yet; the kernel's numbers.
constexpr std::uint64_t fs_refer = 1 << 13, fs_truncate = 1 << 14, fs_device_control = 1 << 15;
constexpr std::uint64_t net_connect_tcp = 1 << 1;
constexpr std::uint64_t scope_abstract_sockets = 1 << 0, scope_signals = 1 << 1;
struct RulesetAttributes {
  std::uint64_t handled_access_fs, handled_access_net, scoped;
};

constexpr std::uint64_t read_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t write_access =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | fs_refer | fs_truncate;
constexpr std::uint64_t device_nodes = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
// The rights that make sense for a file that is not a folder.
constexpr std::uint64_t file_access = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                      LANDLOCK_ACCESS_FS_READ_FILE | fs_truncate;

int create_ruleset(const RulesetAttributes* attributes, std::size_t size, std::uint32_t flags) {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, attributes, size, flags));
}

class FileWall {
 public:
  explicit FileWall(bool connects) {
    version_ = create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version_ <= 0) return;
    attributes_.handled_access_fs =
        read_access | write_access | device_nodes | LANDLOCK_ACCESS_FS_EXECUTE;
    if (version_ < 2) attributes_.handled_access_fs &= ~fs_refer;
    if (version_ < 3) attributes_.handled_access_fs &= ~fs_truncate;
    if (version_ >= 5) attributes_.handled_access_fs |= fs_device_control;
    std::size_t size = sizeof(std::uint64_t);
    if (version_ >= 4) {
      size = 2 * sizeof(std::uint64_t);
      if (!connects) attributes_.handled_access_net = net_connect_tcp;
    }
    if (version_ >= 6) {
      size = sizeof(RulesetAttributes);
      attributes_.scoped = scope_abstract_sockets | scope_signals;
    }
    ruleset_ = UniqueFd(create_ruleset(&attributes_, size, 0));
    if (!ruleset_) error_ = errno;
  }

  // Which parts of it are missing; empty: none.
  std::vector<std::string> missing() const {
    if (version_ <= 0)
      return {"this kernel has no Landlock, so files are held by the user's permissions alone"};
    if (!ruleset_)
      return {
          fmt::format("Landlock cannot be used here ({}), so files are held by the user's "
                      "permissions alone",
                      std::strerror(error_))};
    if (version_ < 6)
      return {"this kernel's Landlock does not hold back signals to other processes (6.12 does)"};
    return {};
  }

  void allow(const fs::path& path, std::uint64_t access) {
    if (!ruleset_) return;
    const UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat about{};
    // What is not there is left out; what is there and cannot be named would be missed.
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
      throw HostError::from_errno("the jail cannot name " + path.string(), errno);
    if (!fd || fstat(fd.get(), &about) != 0) return;
    if (!S_ISDIR(about.st_mode)) access &= file_access;
    const landlock_path_beneath_attr rule{access & attributes_.handled_access_fs, fd.get()};
    (void)syscall(SYS_landlock_add_rule, ruleset_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }

  bool enter() { return ruleset_ && syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) == 0; }

 private:
  int version_ = 0;
  int error_ = 0;
  RulesetAttributes attributes_{};
  UniqueFd ruleset_;
};

constexpr std::uint32_t namespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                     CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;

// Sockets of these families alone: no packets; netlink to ask for the machine's addresses.
constexpr std::array<std::uint32_t, 4> families{AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

bool filter_calls(bool connects) {
  using Filter = CallFilter;
  Filter filter;
  for (const auto call : jail::calls) {
    if (call != SYS_clone) filter.allow(call);
  }
  // A process or thread, in no namespace of its own. clone3 is refused, for its flags lie in memory;
  // the C library calls clone then.
  filter.add({Filter::skip_unless(SYS_clone, 4),
              Filter::load_argument(0),
              {BPF_JMP | BPF_JSET | BPF_K, 0, 1, namespaces},
              Filter::answer(Filter::refusal(EPERM)),
              Filter::answer(SECCOMP_RET_ALLOW)});
  filter.add({Filter::skip_unless(SYS_socket, 2 * families.size() + 2), Filter::load_argument(0)});
  for (const std::uint32_t family : families) filter.allow(family);
  filter.add({Filter::answer(Filter::refusal(EAFNOSUPPORT))});
  filter.add({Filter::skip_unless(SYS_connect, 1),
              Filter::answer(connects ? SECCOMP_RET_ALLOW : Filter::refusal(EACCES))});
  return filter.enter(Filter::refusal(ENOSYS));
}

// What root keeps: files whatever their owner, and low ports. With more it could look into other
// processes past Landlock.
void drop_capabilities() {
  constexpr std::uint32_t kept = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE |
                                 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER |
                                 1U << CAP_NET_BIND_SERVICE;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (syscall(SYS_capget, &head, sets.data()) != 0) return;
  sets[0] = {sets[0].effective & kept, sets[0].permitted & kept, 0};
  sets[1] = {};
  (void)syscall(SYS_capset, &head, sets.data());
}

// The loader that an ELF program names; empty for one that has none.
fs::path loader_of(const fs::path& program) {
  const UniqueFd fd(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr head{};
  if (!fd || pread(fd.get(), &head, sizeof(head), 0) != sizeof(head) ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return {};
  }
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (pread(fd.get(), &part, sizeof(part),
              static_cast<off_t>(head.e_phoff + std::uint64_t{i} * sizeof(part))) != sizeof(part)) {
      return {};
    }
    std::array<char, 4096> name{};
    if (part.p_type != PT_INTERP || part.p_filesz >= name.size()) continue;
    if (pread(fd.get(), name.data(), part.p_filesz, static_cast<off_t>(part.p_offset)) > 0)
      return name.data();
  }
  return {};
}

}  // namespace

std::vector<fs::path> system_files() {
  return {"/lib",
          "/lib64",
          "/usr/lib",
          "/usr/lib64",
          "/usr/local/lib",
          "/usr/share/ca-certificates",
          "/usr/share/zoneinfo",
          "/usr/local/share/ca-certificates",
          "/etc/ld.so.cache",
          "/etc/ssl",
          "/etc/pki",
          "/etc/localtime",
          "/etc/resolv.conf",
          "/run/systemd/resolve",
          "/etc/hosts",
          "/etc/host.conf",
          "/etc/gai.conf",
          "/etc/nsswitch.conf",
          "/etc/services",
          "/etc/protocols",
          "/dev/null",
          "/dev/urandom",
          "/proc",
          "/sys/fs/cgroup",
          "/sys/devices/system/cpu",
          "/sys/kernel/mm/transparent_hugepage"};
}

std::vector<fs::path> program_files(const fs::path& program) {
  std::vector<fs::path> files{program};
  if (fs::path loader = loader_of(program); !loader.empty()) files.push_back(std::move(loader));
  return files;
}

std::vector<std::string> enter_jail(const JailRules& rules) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return {
        fmt::format("no jail can be entered: no_new_privs is refused ({})", std::strerror(errno))};
  }
  drop_capabilities();
  FileWall files(rules.connects);
  std::vector<std::string> missing = files.missing();
  for (const fs::path& path : rules.readable) files.allow(path, read_access);
  for (const fs::path& path : rules.writable) files.allow(path, read_access | write_access);
  for (const fs::path& path : rules.executable)
    files.allow(path, read_access | LANDLOCK_ACCESS_FS_EXECUTE);
  files.allow("/dev/null", read_access | write_access);
  if (!files.enter() && missing.empty())
    missing.push_back(fmt::format("Landlock cannot be entered ({})", std::strerror(errno)));
  if (!filter_calls(rules.connects)) {
    missing.push_back(
        fmt::format("this kernel takes no filter of system calls ({})", std::strerror(errno)));
  }
  return missing;
}

void hide_memory() noexcept {
  const rlimit none{0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace cloche
