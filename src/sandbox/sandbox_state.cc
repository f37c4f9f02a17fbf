// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/error.h"
#include "base/host_error.h"
#include "kernel/kernel.h"
#include "kernel/sockets/socket_table.h"
#include "kernel/statistics.h"
#include "net/no_network.h"
#include "sandbox/default_environment.h"
#include "sandbox/host_folders.h"
#include "sandbox/options/mountable.h"
#include "sandbox/python/python_services.h"
#include "sandbox/run.h"
#include "sandbox/wasm_commands.h"
#include "vfs/hostfs.h"

namespace cloche::sandbox {
namespace {

vfs::Quota quota_of(const SandboxOptions& options) {
  return {options.file_limit_bytes, options.file_limit_inodes};
}

void must(const Result<void, Error>& result) {
  if (!result) throw Error(result.error());
}

bool is_user_name(std::string_view name) {
  constexpr std::size_t most = 32;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= most && name.front() != '-' &&
         std::ranges::all_of(name, fits);
}

// Whether one of the lines of /etc/passwd or /etc/group is of that name.
bool has_account(std::string_view lines, std::string_view name) {
  const std::string start = std::string(name) + ":";
  return lines.starts_with(start) || lines.find("\n" + start) != lines.npos;
}

// Lines of /etc/passwd or /etc/group, in which the usual user has this name and home.
std::string with_account(std::string_view lines, std::string_view name, std::string_view home) {
  const SandboxOptions usual;
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    std::string fields;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t next = std::min(line.find(':', at), line.size());
      const std::string_view field = std::string_view(line).substr(at, next - at);
      if (at > 0) fields += ':';
      fields += field == usual.user ? name : field == usual.home ? home : field;
      at = next + 1;
    }
    text += fields + '\n';
  }
  return text;
}

// The folder of $CLOCHE_WHEELS, unless a mount says another one.
void add_wheels(std::vector<Mount>& mounts) {
  const char* folder = std::getenv("CLOCHE_WHEELS");
  const bool there = std::any_of(mounts.begin(), mounts.end(), [](const Mount& mount) {
    return mount.guest_path == wheels_path;
  });
  if (folder == nullptr || *folder == '\0' || there) return;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw request_error(fmt::format("CLOCHE_WHEELS is {}, which is no folder", folder),
                        Errno::noent);
  }
  mounts.push_back({folder, std::string(wheels_path), Mount::Access::read_only});
}

}  // namespace

SandboxState::SandboxState(EngineState& engine, SandboxOptions options)
    : engine_(engine),
      options_(std::move(options)),
      environment_(default_environment(options_)),
      network_rules_(options_.network.allow),
      root_(vfs::make_fs<vfs::MemFs>(engine.base(), quota_of(options_), vfs::host_clock())),
      secrets_(std::make_shared<net::SecretStore>(options_.network.secrets)),
      commands_(std::make_unique<HostCommands>(std::vector<HostCommand>())) {
  for (const auto& secret : secrets_->entries()) environment_[secret.name] = secret.placeholder;
  for (const auto& [name, value] : options_.environment) environment_[name] = value;
  add_wheels(options_.mounts);
  open_image();
  const auto [of_registry, of_wheels] = split_packages(options_.packages);
  must(engine_.python().install(*root_, of_registry));
  if (!options_.packages.empty() && !image_) engine_.python().prepare(*root_);
  note_guest_folders(options_.mounts);
  if (!options_.program_folder.empty())
    engine_.program_folders().install(*root_, options_.program_folder);
  auto space = std::make_unique<vfs::Namespace>(root_);
  name_user(*space);
  mount_host_paths(*space);
  kernel_ = make_kernel(std::move(space));
  make_home();
  if (!options_.commands.empty()) set_commands(options_.commands);
  use_image();
  start_network();
  python_ = std::make_unique<KeptPython>(*this);
  shell_ = std::make_unique<KeptShell>(*this);
  must(install_wheels(of_wheels));
}

// Before anything of the host's is there, which is not ours to write to.
void SandboxState::name_user(vfs::Namespace& space) const {
  const SandboxOptions usual;
  if (options_.user == usual.user && options_.home == usual.home) return;
  if (!is_user_name(options_.user))
    throw request_error("a user's name is made of letters, digits and . _ -, 32 at most");
  vfs::PathOperations files(space, space.root(), vfs::root_credentials());
  const auto rewrite = [&](const std::string& path) -> Result<void> {
    CLOCHE_ASSIGN(const std::string lines, files.read_file(path, account_file_max_bytes));
    if (options_.user != usual.user && has_account(lines, options_.user))
      throw request_error(options_.user + " is a user of the system: choose another name",
                          Errno::exist);
    return files.write_file(path, with_account(lines, options_.user, options_.home));
  };
  for (const std::string path : {"/etc/passwd", "/etc/group"}) {
    if (const Result<void> done = rewrite(path); !done)
      throw HostError(
          "cannot name the user in " + path + ": " + std::string(errno_info(done.error()).message),
          done.error());
  }
}

// A home elsewhere than usual: as if it had been set up so.
void SandboxState::make_home() {
  if (options_.home == usual_home) return;
  const auto set_up = [this](vfs::PathOperations& files) -> Result<void> {
    CLOCHE_TRY(files.make_dir(options_.home, 0755, vfs::Parents::make));
    CLOCHE_TRY(files.change_owner(options_.home, user_.uid, user_.gid));
    CLOCHE_TRY(files.remove(usual_home));
    return files.symlink(options_.home, usual_home);
  };
  if (const Result<void> made = with_files(Account::root, set_up); !made) {
    throw HostError("cannot make the home folder " + options_.home + ": " +
                        std::string(errno_info(made.error()).message),
                    made.error());
  }
}

std::pair<std::vector<std::string>, std::vector<std::string>> SandboxState::split_packages(
    const std::vector<std::string>& wishes) const {
  const packages::PackageRegistry* registry = engine_.python().registry();
  const auto& mounts = options_.mounts;
  const bool has_wheels = std::any_of(mounts.begin(), mounts.end(), [](const Mount& mount) {
    return mount.guest_path == wheels_path;
  });
  // Wheels of the operator's, or an index where there is a network.
  if (registry == nullptr || (!has_wheels && network_rules().empty())) return {wishes, {}};
  std::pair<std::vector<std::string>, std::vector<std::string>> split;
  for (const std::string& text : wishes) {
    const auto wish = packages::parse_wish(text);
    (wish && registry->find(wish->name) == nullptr ? split.second : split.first).push_back(text);
  }
  return split;
}

Result<void, Error> SandboxState::install_wheels(const std::vector<std::string>& wishes) {
  if (wishes.empty()) return {};
  RunOptions pip;
  pip.argv = {"python3", "-m", "pip", "install", "-q"};
  pip.argv.insert(pip.argv.end(), wishes.begin(), wishes.end());
  const RunResult result = run(*this, pip);
  if (result.exit_code == 0) return {};
  std::string said = result.stderr_data.empty() ? result.reason : result.stderr_data;
  while (said.ends_with('\n')) said.pop_back();
  return request_error(said, Errno::noent);
}

SandboxState::SandboxState(EngineState& engine, SandboxOptions options,
                           std::map<std::string, std::string> environment,
                           std::unique_ptr<vfs::Namespace> space, vfs::TypedFsRef<vfs::MemFs> root,
                           std::shared_ptr<const net::SecretStore> secrets,
                           std::shared_ptr<python::OwnImage> image)
    : engine_(engine),
      options_(std::move(options)),
      environment_(std::move(environment)),
      network_rules_(options_.network.allow),
      root_(std::move(root)),
      secrets_(std::move(secrets)),
      image_(std::move(image)),
      commands_(std::make_unique<HostCommands>(options_.commands)),
      kernel_(make_kernel(std::move(space))),
      python_(std::make_unique<KeptPython>(*this)),
      shell_(std::make_unique<KeptShell>(*this)) {
  use_image();
  start_network();
}

SandboxState::~SandboxState() {
  // Files are referred to by processes: those end first.
  shell_.reset();
  python_.reset();
  kernel_->kill_job(0);
  if (network_) network_->stop();
  if (image_) engine_.python().runtime()->own_images().use(*kernel_, nullptr);
  const kernel::KernelLock lock(kernel_->mutex());
  root_ = {};
}

// Packages of the image come before those that are asked for, without duplicates: asking for
// another version of one is an error.
void SandboxState::open_image() {
  if (options_.image.empty()) return;
  python::PythonRuntime* runtime = engine_.python().runtime();
  if (runtime == nullptr)
    throw HostError("this system has no Python, so it has no images of it", Errno::noent);
  image_ = runtime->open_image(options_.image);
  std::vector<std::string>& wishes = options_.packages;
  wishes.insert(wishes.begin(), image_->packages.begin(), image_->packages.end());
}

void SandboxState::use_image() {
  if (image_) engine_.python().runtime()->own_images().use(*kernel_, image_);
}

std::vector<std::string> SandboxState::packages() {
  const kernel::KernelLock lock(kernel_->mutex());
  return engine_.python().installed(*root_);
}

kernel::KernelMutex& SandboxState::kernel_mutex() const { return kernel_->mutex(); }

vfs::PathOperations SandboxState::path_operations(Account account) {
  vfs::Namespace& space = kernel_->files();
  const vfs::Credentials& who = credentials(account);
  const std::string_view folder = account == Account::root ? root_home : options_.home;
  Result<vfs::Node> start = space.lookup(space.root(), folder, vfs::Follow::yes, who);
  return {space, start ? *std::move(start) : space.root(), who};
}

vfs::Frozen SandboxState::freeze_files() {
  const kernel::KernelLock lock(kernel_->mutex());
  return root_->freeze();
}

void SandboxState::start_network() {
  if (options_.network.allow.empty()) {
    const kernel::KernelLock lock(kernel_->mutex());
    kernel_->sockets().set_outbound(std::make_shared<net::NoNetwork>());
    return;
  }
  network_ = std::make_shared<net::Network>(kernel_->mutex(), watched(options_.network), secrets_);
  const kernel::KernelLock lock(kernel_->mutex());
  kernel_->sockets().set_outbound(network_);
}

// Whose decisions the observer hears of too.
NetworkOptions SandboxState::watched(NetworkOptions options) const {
  options.audit = [given = options.audit, observer = observer_](const NetworkEvent& event) {
    if (given) given(event);
    observer->tell(event);
  };
  return options;
}

// A network that has been there stays, without rules too: what it has counted counts on.
void SandboxState::set_network_rules(std::vector<std::string> allow) {
  const MutexLock changing(network_mutex_);
  NetworkOptions options = watched(options_.network);
  options.allow = allow;
  net::Policy policy(options);
  if (network_) {
    network_->set_policy(std::move(policy));
  } else if (!allow.empty()) {
    auto network = std::make_shared<net::Network>(kernel_->mutex(), options, secrets_);
    const kernel::KernelLock lock(kernel_->mutex());
    network->set_owner(kernel_->memory()->owner());
    network_ = network;
    kernel_->sockets().set_outbound(std::move(network));
  }
  const MutexLock lock(mutex_);
  network_rules_ = std::move(allow);
}

std::vector<std::string> SandboxState::network_rules() const {
  const MutexLock lock(mutex_);
  return network_rules_;
}

void SandboxState::set_owner(std::shared_ptr<Owner> owner) {
  const MutexLock changing(network_mutex_);
  const kernel::KernelLock lock(kernel_->mutex());
  kernel_->files().set_owner(owner);
  if (network_) network_->set_owner(owner);
  kernel_->memory()->set_owner(std::move(owner));
}

void SandboxState::set_commands(std::vector<HostCommand> commands) {
  with_files(Account::root, [&](vfs::PathOperations& files) {
    WasmCommandFiles programs(files);
    commands_->set(std::move(commands), programs);
  });
}

std::unique_ptr<kernel::Kernel> SandboxState::make_kernel(
    std::unique_ptr<vfs::Namespace> space) const {
  kernel::KernelOptions options;
  options.limits.max_processes = options_.process_limit;
  options.limits.max_open_files = options_.open_file_limit;
  options.limits.cpus = options_.cpus;
  options.limits.memory_bytes = options_.memory_limit_bytes;
  options.limits.process_memory_bytes = options_.memory_limit_bytes;
  options.trace_syscalls = options_.trace != nullptr;
  options.trace_sink = options_.trace;
  options.extension =
      std::make_unique<PythonServices>(engine_.python(), engine_.wheels(), *shown_figures_);
  options.host_program = [commands = commands_.get()](kernel::HostProcess& process) {
    return run_command(*commands, process);
  };
  return std::make_unique<kernel::Kernel>(engine_.services(), std::move(space), std::move(options));
}

void SandboxState::mount_host_paths(vfs::Namespace& space) const {
  for (const Mount& mount : options_.mounts) {
    need_mount_point(mount.guest_path);
    const vfs::HostAccess access = mount.access == Mount::Access::read_only
                                       ? vfs::HostAccess::read_only
                                       : vfs::HostAccess::writable;
    vfs::FsRef tree =
        vfs::make_fs<vfs::HostFs>(mount.host_path.string(), vfs::HostFs::Options{.access = access});
    const Result<void> mounted = space.mount_at(mount.guest_path, std::move(tree), "host");
    if (!mounted) {
      throw request_error("cannot mount " + mount.host_path.string() + " at " + mount.guest_path +
                              ": " + std::string(errno_info(mounted.error()).message),
                          mounted.error());
    }
  }
  keep_guest_folders(options_.mounts);
}

// The interpreters stand still meanwhile: what they have written until then is there.
std::unique_ptr<SandboxState> SandboxState::fork(const std::function<void()>& at_files) {
  std::unique_ptr<SandboxState> twin;
  shell_->pass_on([&]() -> KeptShell& {
    python_->pass_on([&]() -> KeptPython& {
      at_files();
      twin = fork_files();
      return *twin->python_;
    });
    return *twin->shell_;
  });
  return twin;
}

std::unique_ptr<SandboxState> SandboxState::fork_files() {
  std::map<std::string, std::string> environment;
  SandboxOptions options = options_;
  {
    const MutexLock lock(mutex_);
    environment = environment_;
    options.network.allow = network_rules_;
  }
  options.commands = commands();
  std::unique_ptr<SandboxState> twin;
  {
    const kernel::KernelLock lock(kernel_->mutex());
    std::unique_ptr<vfs::Namespace> space = kernel_->files().fork();
    vfs::TypedFsRef<vfs::MemFs> root(static_cast<vfs::MemFs*>(&space->root().fs()));
    root->drop_orphans();  // no descriptor of the parent is carried over
    twin.reset(new SandboxState(engine_, std::move(options), std::move(environment),
                                std::move(space), std::move(root), secrets_, image_));
  }
  twin->set_owner(kernel_->memory()->owner());
  return twin;
}

std::vector<std::string> SandboxState::environment(
    const std::map<std::string, std::string>& more) const {
  std::map<std::string, std::string> all = more;
  {
    const MutexLock lock(mutex_);
    all.insert(environment_.begin(), environment_.end());
  }
  std::vector<std::string> lines;
  lines.reserve(all.size());
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

std::map<std::string, std::string> SandboxState::environment() const {
  const MutexLock lock(mutex_);
  return environment_;
}

std::optional<std::string> SandboxState::environment(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto it = environment_.find(name);
  return it == environment_.end() ? std::nullopt : std::optional(it->second);
}

void SandboxState::set_environment(const std::string& name, const std::string& value) {
  {
    const MutexLock lock(mutex_);
    environment_[name] = value;
  }
  shell_->forget(name);
}

Result<void, Error> SandboxState::install_packages(const std::vector<std::string>& names) {
  const auto [of_registry, of_wheels] = split_packages(names);
  {
    const kernel::KernelLock lock(kernel_->mutex());
    CLOCHE_TRY(engine_.python().install(*root_, of_registry));
  }
  return install_wheels(of_wheels);
}

std::uint64_t SandboxState::cancellations() const {
  const MutexLock lock(mutex_);
  return cancellations_;
}

bool SandboxState::cancelled_since(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  return cancellations_ != number || cancels_in_progress_ != 0;
}

void SandboxState::cancel() {
  const auto count = [this](int in_progress) {
    const MutexLock lock(mutex_);
    ++cancellations_;
    cancels_in_progress_ += in_progress;
  };
  count(1);
  kernel_->kill_job(0);
  count(-1);
}

SandboxUsage SandboxState::usage() {
  const kernel::KernelLock lock(kernel_->mutex());
  const vfs::Usage usage = root_->usage();
  return {.file_bytes = usage.bytes,
          .file_inodes = usage.inodes,
          .memory_bytes = kernel_->memory_in_use(),
          .processes = kernel_->processes().size(),
          .cpu = kernel_->cpu_time(),
          .compile_wait = kernel_->system_waits().total(std::chrono::steady_clock::now()),
          .unknown_syscalls = kernel_->statistics().unknown};
}

}  // namespace cloche::sandbox
