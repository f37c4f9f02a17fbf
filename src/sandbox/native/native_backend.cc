// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_backend.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/file_number.h"
#include "native/images/image_files.h"
#include "sandbox/default_environment.h"
#include "sandbox/native/guest_trust.h"
#include "sandbox/native/native_live_run.h"
#include "sandbox/native/native_loopback.h"
#include "sandbox/native/native_packages.h"
#include "sandbox/native/native_parts.h"
#include "sandbox/native/native_session.h"
#include "sandbox/native/sealed_file.h"
#include "sandbox/options/mountable.h"

namespace cloche::sandbox {
namespace {

constexpr const char* root_home = "/root";
// A process has threads, which count here: a limit that is right for the other engine lets programs
// of several threads run.
constexpr std::uint32_t threads_per_process = 8;

// What this engine lacks, in the sentence of a refusal.
void refuse_what_is_not_there(const SandboxOptions& options) {
  const auto refuse = [](const char* what, const char* instead) {
    throw request_error(std::string("the linux engine has no ") + what + " yet: " + instead,
                        Errno::notsup);
  };
  if (!options.program_folder.empty())
    refuse("folder of WebAssembly programs", "use the wasm engine");
  if (options.trace)
    refuse("trace of system calls", "run gdb in the sandbox, or use the wasm engine");
}

[[noreturn]] void refuse_behind_gvisor(const char* what, const char* instead) {
  throw request_error(fmt::format("a sandbox with isolation=gvisor has no {}: {}", what, instead),
                      Errno::notsup);
}

// What goes in and out of a box as a descriptor cannot come out of gVisor, or must not go in.
void refuse_network(Isolation isolation, const std::vector<std::string>& allow) {
  if (isolation == Isolation::gvisor && !allow.empty())
    refuse_behind_gvisor("network", "leave the rules out, or choose isolation=full");
}

void refuse_commands(Isolation isolation, const std::vector<HostCommand>& commands) {
  if (isolation == Isolation::gvisor && !commands.empty())
    refuse_behind_gvisor("commands of the host", "leave them out, or choose isolation=full");
}

void refuse_what_gvisor_has_not(const SandboxOptions& options) {
  if (options.isolation == Isolation::gvisor && !options.mounts.empty())
    refuse_behind_gvisor("folders of the host", "copy files in, or choose isolation=full");
  refuse_network(options.isolation, options.network.allow);
  refuse_commands(options.isolation, options.commands);
}

// Of what is saved of its files: their content, and what is said of each.
std::uint64_t state_limit(const SandboxOptions& options) {
  constexpr std::uint64_t most = 64ULL << 30, of_one = 16 << 10;
  if (options.file_limit_bytes == 0 || options.file_limit_bytes > most) return most;
  return options.file_limit_bytes + std::min(options.file_limit_inodes, most / of_one) * of_one +
         (1 << 20);
}

// ID or ID:ID; root is 0.
Identity identity_of(const std::string& text) {
  const auto number = [&](std::string_view part) {
    std::uint32_t value = 0;
    if (part == "root") return value;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value > 60'000)
      throw request_error("the user '" + text +
                          "' is no number up to 60000: say ID or ID:ID by the option user");
    return value;
  };
  if (text.empty()) return {};
  const std::size_t colon = text.find(':');
  Identity identity;
  identity.user = number(std::string_view(text).substr(0, colon));
  identity.group =
      colon == std::string::npos ? identity.user : number(std::string_view(text).substr(colon + 1));
  return identity;
}

}  // namespace

NativeBackend::NativeBackend(NativeParts& parts, SandboxOptions options)
    : parts_(parts),
      options_(std::move(options)),
      secrets_(std::make_shared<const net::SecretStore>(options_.network.secrets)),
      shell_(*this),
      python_(*this),
      early_starts_(*this),
      is_fork_(false) {
  refuse_what_is_not_there(options_);
  refuse_what_gvisor_has_not(options_);
  image_ = std::make_shared<const images::Image>(parts_.images().open(options_.image.string()));
  const std::string& folder = image_->config.directory;
  const SandboxOptions usual;
  home_ = options_.home;
  if (home_ == usual.home && folder.starts_with('/') && folder != "/") home_ = folder;
  while (home_.size() > 1 && home_.ends_with('/')) home_.pop_back();
  who_ = identity_of(options_.user == usual.user ? image_->config.user : options_.user);
  environment_ = default_native_environment();
  for (const std::string& line : image_->config.environment) {
    const std::size_t end = line.find('=');
    if (end != std::string::npos && end > 0)
      environment_[line.substr(0, end)] = line.substr(end + 1);
  }
  for (const auto& secret : secrets_->entries())
    own_variables_[secret.name] = environment_[secret.name] = secret.placeholder;
  for (const auto& [name, value] : options_.environment) environment_[name] = value;
  has_bash_ = images::has_program(image_->root.get(), environment_["PATH"], "bash");
  if (!secrets_->empty()) authority_ = std::make_shared<const net::GuestAuthority>();
  box_ = make_box(-1);
  begin();
  add_trust();
  commands_ = std::make_unique<NativeCommands>(*box_, std::vector<HostCommand>());
  if (!options_.commands.empty()) set_commands(options_.commands);
  if (!options_.network.allow.empty()) start_network(options_.network);
  network_rules_ = options_.network.allow;
  bring_packages();
}

NativeBackend::NativeBackend(NativeParts& parts, NativeBackend& parent)
    : parts_(parts),
      options_(parent.options_),
      image_(parent.image_),
      has_bash_(parent.has_bash_),
      home_(parent.home_),
      who_(parent.who_),
      secrets_(parent.secrets_),
      authority_(parent.authority_),
      environment_(parent.environment()),
      own_variables_(parent.own_variables()),
      shell_(*this),
      python_(*this),
      early_starts_(*this),
      is_fork_(true) {
  const Result<std::unique_ptr<native::Box::Pause>> pause = parent.box_->pause();
  if (!pause) parent.refuse(pause.error(), "the sandbox cannot be forked");
  if (options_.isolation == Isolation::gvisor) {
    box_ = make_box(-1);
    copy_files_of(parent);
  } else {
    box_ = make_box((*pause)->changes());
  }
  begin();
  options_.commands = parent.commands();
  commands_ = std::make_unique<NativeCommands>(*box_, options_.commands);
  options_.network.allow = parent.network_rules();
  if (!options_.network.allow.empty()) start_network(options_.network);
  network_rules_ = options_.network.allow;
}

NativeBackend::~NativeBackend() {
  box_->end();
  network_.reset();
  commands_.reset();
  pause_.reset();
}

void NativeBackend::begin() {
  files_ = std::make_unique<NativeFiles>(*box_, home_);
  root_files_ = std::make_unique<NativeFiles>(*box_, root_home);
}

void NativeBackend::add_trust() {
  if (!authority_) return;
  std::map<std::string, std::string> variables = environment();
  GuestTrust(*root_files_, options_.mounts).add(*authority_, variables);
  const MutexLock lock(mutex_);
  for (const auto& [name, value] : variables) {
    if (!environment_.contains(name)) own_variables_[name] = value;
  }
  environment_ = std::move(variables);
}

void NativeBackend::bring_packages() {
  FulfilledPackages& fulfilled = parts_.fulfilled_packages();
  if (options_.packages.empty() || fulfilled.are_there(*this, options_.packages)) return;
  if (const auto installed = install_packages(options_.packages); !installed)
    throw Error(installed.error());
  fulfilled.learn(*this, options_.packages);
}

std::map<std::string, std::string> NativeBackend::lasting_environment() const {
  const MutexLock lock(mutex_);
  std::map<std::string, std::string> lasting = environment_;
  std::erase_if(lasting, [&](const auto& variable) REQUIRES(mutex_) {
    const auto own = own_variables_.find(variable.first);
    return own != own_variables_.end() && own->second == variable.second;
  });
  return lasting;
}

std::string NativeBackend::scrub(std::string text) const {
  return secrets_->empty() ? std::move(text) : secrets_->scrub(std::move(text));
}

CleanOutput NativeBackend::clean_output(net::StreamScrubber::Holding holding) const {
  if (secrets_->empty()) return {};
  return CleanOutput(std::make_shared<net::StreamScrubber>(secrets_, holding));
}

std::vector<native::HostMount> NativeBackend::mounts() const {
  note_guest_folders(options_.mounts);
  std::vector<native::HostMount> mounts;
  for (const Mount& mount : options_.mounts) {
    need_mount_point(mount.guest_path);
    mounts.push_back({.host_path = mount.host_path.string(),
                      .guest_path = mount.guest_path,
                      .is_read_only = mount.access == Mount::Access::read_only});
  }
  keep_guest_folders(options_.mounts);
  return mounts;
}

// Written by a process there and read by one here, as a state is.
void NativeBackend::copy_files_of(NativeBackend& parent) {
  const Result<UniqueFd> files = parent.box_->pack(state_limit(options_));
  Result<void> copied = files ? seal(*files) : files.error();
  if (copied) copied = box_->unpack(files->get());
  if (!copied) throw Error(copied.error(), "the sandbox's files cannot be copied into a fork");
}

std::unique_ptr<native::Box> NativeBackend::make_box(int begin_with) {
  const bool has_gvisor = options_.isolation == Isolation::gvisor;
  return parts_.warden().make(
      {.image = image_->root.get(),
       .begin_with = begin_with,
       .isolation = has_gvisor ? warden::Isolation::gvisor : warden::Isolation::full,
       .runsc = has_gvisor ? parts_.runsc() : -1,
       .user = who_.user,
       .group = who_.group,
       .limits = {.file_bytes = options_.file_limit_bytes,
                  .file_inodes = options_.file_limit_inodes,
                  .memory_bytes = options_.memory_limit_bytes,
                  .processes = options_.process_limit * threads_per_process,
                  .open_files = options_.open_file_limit,
                  .cpus = options_.cpus},
       .home = home_,
       .mounts = mounts()});
}

void NativeBackend::refuse(Errno error, const char* what) const {
  if (std::string why = why_ended(); !why.empty())
    throw Error(ErrorKind::sandbox, Errno::pipe, std::move(why));
  throw Error(error, what);
}

std::string NativeBackend::folder_of(const RunOptions& options) const {
  const std::string& home = options.account == Account::root ? std::string(root_home) : home_;
  if (options.cwd.empty()) return home;
  return options.cwd.starts_with('/') ? options.cwd : home + "/" + options.cwd;
}

int NativeBackend::refusal_of(Account account) const noexcept {
  return account == Account::root && who_.user != 0 ? EPERM : 0;
}

std::string NativeBackend::script_shell() const {
  if (has_bash_) return "bash";
  const bool was_added = std::ranges::any_of(
      images::folders_of(environment()["PATH"]),
      [&](const std::string& folder) { return box_->files().stat(folder + "/bash").ok(); });
  return was_added ? "bash" : "sh";
}

native::CommandSpec NativeBackend::spec_of(const RunOptions& options) const {
  native::CommandSpec spec;
  spec.arguments = options.argv;
  if (options.argv.empty()) {
    spec.arguments = {script_shell(), "-c", options.script};
    spec.arguments.insert(spec.arguments.end(), options.arguments.begin(), options.arguments.end());
  }
  std::map<std::string, std::string> all = options.environment;
  if (options.account == Account::root) {
    all.try_emplace("HOME", root_home);
    all.try_emplace("USER", "root");
    all.try_emplace("LOGNAME", "root");
  }
  {
    const MutexLock lock(mutex_);
    all.insert(environment_.begin(), environment_.end());
  }
  for (const auto& [name, value] : all) spec.environment.push_back(name + "=" + value);
  spec.directory = folder_of(options);
  return spec;
}

RunResult NativeBackend::run(const RunOptions& options) {
  if (options.shell == ShellState::kept && options.argv.empty()) return shell_.run(options);
  return run_command(options, std::nullopt, nullptr);
}

NativeCommand::Plan NativeBackend::plan_of(const RunOptions& options) const {
  NativeCommand::Plan plan;
  plan.spec = spec_of(options);
  plan.refusal = refusal_of(options.account);
  plan.input = options.stdin_data;
  plan.input_fd = options.stdin_fd;
  plan.timeout = options.timeout.value_or(options_.timeout);
  plan.output_limit_bytes = options.output_limit_bytes;
  plan.output = options.output;
  plan.clean_out = clean_output();
  plan.clean_err = clean_output();
  return plan;
}

RunResult NativeBackend::result_of(NativeCommand& command, const RunOptions& options,
                                   std::uint64_t cancellations) const {
  const std::stop_callback on_stop(options.stop, [&] { command.kill(); });
  RunResult result = command.wait();
  if (result.status == RunStatus::signaled && cancelled_since(cancellations)) {
    result.status = RunStatus::killed;
    result.reason = "the command was cancelled";
  }
  return result;
}

RunResult NativeBackend::run_command(const RunOptions& options,
                                     std::optional<std::string> side_input,
                                     std::optional<std::string>* side_output) {
  const std::uint64_t before = cancellations();
  NativeCommand::Plan plan = plan_of(options);
  plan.side_input = std::move(side_input);
  NativeCommand command(*box_, timers(), std::move(plan));
  RunResult result = result_of(command, options, before);
  if (side_output != nullptr) *side_output = command.take_side_output();
  return result;
}

std::unique_ptr<LiveRunState> NativeBackend::start(LiveRunOptions options) {
  return make_native_live_run(*this, std::move(options));
}

Result<std::unique_ptr<LoopbackStream>> NativeBackend::connect(std::uint16_t port,
                                                               std::function<void()> changed) {
  return connect_loopback(*box_, parts_.edge_watch(), port, std::move(changed));
}

RunResult NativeBackend::run_python(std::string_view source, const PythonOptions& options) {
  return python_.run(source, options);
}

void NativeBackend::cancel() {
  shell_.settle();
  {
    const MutexLock lock(mutex_);
    ++cancellations_;
  }
  box_->kill_all();
}

void NativeBackend::freeze() {
  Result<std::unique_ptr<native::Box::Pause>> pause = box_->pause();
  if (!pause) refuse(pause.error(), "the sandbox cannot be frozen");
  const MutexLock lock(mutex_);
  if (!pause_) pause_ = *std::move(pause);
}

void NativeBackend::thaw() {
  std::unique_ptr<native::Box::Pause> pause;
  {
    const MutexLock lock(mutex_);
    pause.swap(pause_);
  }
}

bool NativeBackend::is_paused() const {
  const MutexLock lock(mutex_);
  return pause_ != nullptr;
}

const FreezePrograms& NativeBackend::freeze_programs() const noexcept {
  return parts_.freeze_programs(options_.isolation);
}

const PythonPrograms& NativeBackend::python_programs() const noexcept {
  return parts_.python_programs();
}

PythonStarts& NativeBackend::python_starts() noexcept { return parts_.python_starts(); }

SharedFile NativeBackend::freeze_new_python(PythonStart what) {
  const Result<std::unique_ptr<NativeInterpreter>> made = NativeInterpreter::start(*this, {});
  if (!made || (what == PythonStart::session && !NativeSession::open(*box_, **made)) ||
      !NativeSession::preload(*box_, **made, options_.packages))
    return nullptr;
  return (*made)->freeze(NativeInterpreter::ImageUse::start).image.file;
}

void NativeBackend::tell_use(FirstUse use) {
  if (is_fork_) return;
  {
    const MutexLock lock(uses_mutex_);
    if (uses_.has(use)) return;
    uses_.add(use);
  }
  parts_.ready_sandboxes().learn(options_, use);
}

bool NativeBackend::is_as_new() {
  if (box_->has_ended()) return false;
  try {
    const images::Image now = parts_.images().open(options_.image.string());
    const std::optional<FileNumber> number = file_number(now.root.get());
    return number && number == file_number(image_->root.get());
  } catch (const Error&) {  // it is gone
    return false;
  }
}

Result<native::LargeFile> NativeBackend::make_large_file() { return parts_.warden().make_file(); }

kernel::TimerThread& NativeBackend::timers() noexcept { return parts_.timers(); }

std::unique_ptr<SessionInterpreter> NativeBackend::make_interpreter(
    const std::filesystem::path& image) {
  if (!image.empty())
    throw request_error("the Python of a linux sandbox has no images: leave the option out",
                        Errno::notsup);
  return std::make_unique<NativeSession>(*this);
}

std::uint64_t NativeBackend::cancellations() const {
  const MutexLock lock(mutex_);
  return cancellations_;
}

bool NativeBackend::cancelled_since(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  return cancellations_ != number;
}

NetworkOptions NativeBackend::watched(NetworkOptions options) {
  options.audit = [given = options.audit, this](const NetworkEvent& event) {
    if (given) given(event);
    observer_.tell(event);
  };
  return options;
}

// Programs find the name server by a file, whatever the image has there, and themselves by another.
void NativeBackend::start_network(const NetworkOptions& options) {
  const auto write = [this](const char* path, std::string_view text) {
    (void)root_files_->remove(path);  // it may be a link to anywhere
    if (const Result<void> written = root_files_->write(path, text, 0644, IfThere::replace);
        !written)
      throw Error(written.error(), path);
  };
  write("/etc/resolv.conf", "nameserver 127.0.0.1\n");
  if (!root_files_->stat("/etc/hosts")) write("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
  network_ = std::make_unique<NativeNetwork>(*box_, watched(options), secrets_, authority_);
  network_->set_owner(owner_);
}

// A network that has been there stays, without rules too: what it has counted counts on.
void NativeBackend::set_network_rules(std::vector<std::string> allow) {
  refuse_network(options_.isolation, allow);
  const MutexLock changing(network_mutex_);
  NetworkOptions options = options_.network;
  options.allow = allow;
  net::Policy policy(options);
  if (network_) {
    network_->set_policy(std::move(policy));
  } else if (!allow.empty()) {
    start_network(options);
  }
  const MutexLock lock(mutex_);
  network_rules_ = std::move(allow);
}

// What else it has of the host is another process's.
void NativeBackend::set_owner(std::shared_ptr<Owner> owner) {
  const MutexLock changing(network_mutex_);
  owner_ = std::move(owner);
  if (network_) network_->set_owner(owner_);
}

std::shared_ptr<Owner> NativeBackend::owner() const {
  const MutexLock changing(network_mutex_);
  return owner_;
}

std::vector<std::string> NativeBackend::network_rules() const {
  const MutexLock lock(mutex_);
  return network_rules_;
}

void NativeBackend::set_commands(std::vector<HostCommand> commands) {
  refuse_commands(options_.isolation, commands);
  commands_->set(std::move(commands), *root_files_);
}

void NativeBackend::set_environment(const std::string& name, const std::string& value) {
  {
    const MutexLock lock(mutex_);
    environment_[name] = value;
  }
  early_starts_.let_go();
  shell_.set_variable(name, value);
}

std::map<std::string, std::string> NativeBackend::environment() const {
  const MutexLock lock(mutex_);
  return environment_;
}

Result<void, Error> NativeBackend::install_packages(const std::vector<std::string>& names) {
  return install_by_pip(*this, names);
}

// Interpreters before the files, so that what they wrote until then is there.
std::unique_ptr<Backend> NativeBackend::fork(const std::function<void()>& at_files) {
  NativeInterpreter::Frozen python = python_.freeze();
  NativeShell::Passed shell = shell_.pass_on();
  at_files();
  std::unique_ptr<NativeBackend> twin(new NativeBackend(parts_, *this));
  twin->shell_.go_on_as(std::move(shell));
  twin->python_.go_on_as(std::move(python));
  twin->set_owner(owner());
  return twin;
}

std::unique_ptr<SavedBox> NativeBackend::save() {
  auto saved = std::make_unique<SavedBox>();
  saved->image = image_->name;
  saved->digest = image_->digest;
  saved->environment = lasting_environment();
  const Result<std::unique_ptr<native::Box::Pause>> pause = box_->pause();
  if (!pause) refuse(pause.error(), "the sandbox cannot be saved");
  Result<UniqueFd> files = box_->pack(state_limit(options_));
  if (!files) refuse(files.error(), "the sandbox's files cannot be saved");
  saved->files = *std::move(files);
  if (const Result<void> sealed = seal(saved->files); !sealed)
    throw Error(sealed.error(), "the sandbox's files cannot be saved");
  struct stat of{};
  (void)::fstat(saved->files.get(), &of);
  saved->file_bytes = static_cast<std::uint64_t>(of.st_size);
  return saved;
}

Result<void, Error> NativeBackend::load(const SavedBox& saved) {
  const bool is_same = saved.digest.empty() && image_->digest.empty()
                           ? saved.image == image_->name
                           : saved.digest == image_->digest;
  if (!is_same) {
    return request_error("the state is of the image '" + saved.image +
                             "' as it was, and this sandbox of another: '" + image_->name + "'",
                         Errno::inval);
  }
  const Result<void> unpacked = box_->unpack(saved.files.get());
  if (unpacked) {
    try {
      add_trust();
    } catch (const Error&) {
      // What guests have made of those files is theirs: what reads them trusts in nobody then.
    }
    return {};
  }
  if (unpacked.error() == Errno::nospc)
    return request_error("the sandbox may not have that many files", Errno::nospc);
  return request_error("this is no state of a sandbox, or it is damaged", unpacked.error());
}

Result<void, Error> NativeBackend::commit_image(const std::string& name) {
  images::ImageConfig config = image_->config;
  if (config.architecture.empty()) config.architecture = images::own_architecture();
  config.environment.clear();
  try {
    const std::unique_ptr<SavedBox> saved = save();
    const std::map<std::string, std::string> usual = default_native_environment();
    for (const auto& [variable, value] : saved->environment) {
      const auto known = usual.find(variable);
      if (known == usual.end() || known->second != value)
        config.environment.push_back(variable + "=" + value);
    }
    parts_.images().commit(name, *image_, saved->files, std::move(config));
  } catch (const Error& problem) {
    return problem;
  }
  return {};
}

SandboxUsage NativeBackend::usage() {
  const Result<native::BoxUsage> usage = box_->usage();
  if (!usage) return {};
  return {.file_bytes = usage->file_bytes,
          .file_inodes = usage->file_inodes,
          .memory_bytes = usage->memory_bytes,
          .processes = static_cast<std::size_t>(usage->processes),
          .cpu = usage->cpu,
          .unknown_syscalls = {}};
}

std::vector<ProcessInfo> NativeBackend::processes() {
  const Result<std::vector<warden::ProcessRecord>> found = box_->processes();
  std::vector<ProcessInfo> all;
  if (!found) return all;
  for (const warden::ProcessRecord& record : *found) {
    std::string command(record.command,
                        std::min<std::size_t>(record.command_bytes, sizeof record.command));
    while (command.ends_with('\0')) command.pop_back();
    std::ranges::replace(command, '\0', ' ');
    command = scrub(std::move(command));
    char state = record.state;
    if (state == 'D' || state == 'I') state = 'S';
    if (state == 't') state = 'T';
    if (state == 'X' || state == 'x') state = 'Z';
    all.push_back({.pid = record.pid,
                   .ppid = record.parent,
                   .command = std::move(command),
                   .state = state,
                   .cpu = std::chrono::nanoseconds(record.cpu_ns),
                   .memory_bytes = record.memory_bytes,
                   .age = std::chrono::nanoseconds(record.age_ns)});
  }
  return all;
}

SandboxState& NativeBackend::wasm() {
  throw request_error("this is of the wasm engine alone", Errno::notsup);
}

std::unique_ptr<Backend> make_native_backend(NativeParts& parts, const SandboxOptions& options) {
  if (std::unique_ptr<NativeBackend> ready = parts.ready_sandboxes().take(options)) return ready;
  return std::make_unique<NativeBackend>(parts, options);
}

}  // namespace cloche::sandbox
