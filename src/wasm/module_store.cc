// SPDX-License-Identifier: Apache-2.0
#include "wasm/module_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/background_thread.h"
#include "base/check.h"
#include "base/host_error.h"
#include "base/sha256.h"
#include "base/thread_name.h"
#include "base/timed_mutex.h"
#include "wasm/cache_folder.h"
#include "wasm/compiled_code.h"
#include "wasm/compiler_threads.h"
#include "wasm/module_info.h"
#include "wasm/module_limits.h"
#include "wasm/native.h"
#include "wasm/trusted_file.h"

namespace cloche::wasm {
namespace {

constexpr std::size_t recent_guest_modules = 32;

// In the cache folder, for the code of programs that guests bring.
constexpr const char* guest_folder = "guests";

// A line for each program in a folder of shipped code: its digest, and the size of its code, so
// that a file that was cut short is not used.
constexpr const char* shipped_index = "index";

// A file of the host, mapped to be read once.
class MappedFile {
 public:
  MappedFile(int fd, std::uint64_t size) noexcept : size_(static_cast<std::size_t>(size)) {
    if (size_ > 0) address_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  ~MappedFile() {
    if (address_ != MAP_FAILED) munmap(address_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept {
    if (address_ == MAP_FAILED) return {};
    return {static_cast<const std::byte*>(address_), size_};
  }

 private:
  void* address_ = MAP_FAILED;
  std::size_t size_;
};

// All of one file to where the other one is.
Result<void> copy_file(HostFiles& files, int from, int to) {
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::uint64_t at = 0;;) {
    CLOCHE_ASSIGN(const std::size_t count, files.read_at(from, at, piece));
    if (count == 0) return {};
    CLOCHE_TRY(files.write_all(to, std::span(piece).first(count)));
    at += count;
  }
}

Error refused(Errno code, const std::string& sentence) {
  return {ErrorKind::sandbox, code, sentence};
}

HostError uncompiled(const std::filesystem::path& program, const Error& why) {
  return HostError(fmt::format("cannot compile {}: {}", program.string(), why.sentence()),
                   why.code());
}

}  // namespace

struct ModuleStore::Entry {
  TimedMutex busy;  // held by the thread that compiles or loads it
  std::weak_ptr<const Module> module;
  std::size_t users = 0;  // calls of get_of_guest(); under the store's mutex
};

// The entry of a digest, which is not forgotten meanwhile.
class ModuleStore::EntryUse {
 public:
  EntryUse(ModuleStore& store, const Digest& digest) : store_(store) {
    const MutexLock lock(store_.mutex_);
    if (store_.entries_.size() > 4 * recent_guest_modules) {
      std::erase_if(store_.entries_, [](const auto& item) {
        return item.second->users == 0 && item.second->module.expired();
      });
    }
    auto& entry = store_.entries_[digest];
    if (!entry) entry = std::make_shared<Entry>();
    entry_ = entry.get();
    ++entry_->users;
  }
  ~EntryUse() {
    const MutexLock lock(store_.mutex_);
    --entry_->users;
  }
  EntryUse(const EntryUse&) = delete;
  EntryUse& operator=(const EntryUse&) = delete;
  Entry* operator->() const noexcept { return entry_; }

 private:
  ModuleStore& store_;
  Entry* entry_;
};

struct ModuleStore::Request {
  Digest digest;
  std::uint64_t wasm_bytes;
  std::string name;
  // Asked only when there is no machine code. What it refers to is its own, of a host's program.
  std::function<std::span<const std::byte>()> wasm;
  bool from_host;
  Interruption interruption = Interruption::epochs;
  const CompileFor* whom = nullptr;  // null: for who waits in any case
  bool given_up() const { return whom != nullptr && whom->given_up(); }
  std::uint64_t engine_bytes = 0;  // see ModuleInfo
};

// A program of the host that is compiled on a thread of its own, so that who waits can give up.
struct ModuleStore::Making {
  std::optional<Loaded> made;  // under the store's mutex
  std::thread thread;
  std::atomic<bool> is_to_end = false;  // where it waits for another process's compiler
  const CompileFor whom{nullptr, [this] { return is_to_end.load(); }};
};

ModuleStore::ModuleStore(Engine& engine, Options options)
    : engine_(engine), options_(std::move(options)) {
  prepare_sha256();
  if (!options_.cache_folder.empty()) {
    prepare_cache_folder(options_.cache_folder);
    prepare_cache_folder(options_.cache_folder / guest_folder);
  }
  if (options_.shipped_folder.empty()) return;
  std::ifstream index(options_.shipped_folder / shipped_index);
  std::string digest;
  for (std::uint64_t bytes = 0; index >> digest >> bytes;) shipped_[digest] = bytes;
}

ModuleStore::~ModuleStore() {
  std::map<Key, std::shared_ptr<Making>> making;
  {
    const MutexLock lock(mutex_);
    making = making_;
  }
  for (const auto& [key, one] : making) one->is_to_end = true;
  for (const auto& [key, one] : making) one->thread.join();
}

std::string ModuleStore::code_name(const Digest& digest, Interruption interruption) const {
  std::string key = to_hex(digest) + " " + engine_.fingerprint(interruption);
  return to_hex(sha256(std::as_bytes(std::span(key)))).substr(0, 40) + ".code";
}

std::filesystem::path ModuleStore::code_path(const Request& request) const {
  const std::filesystem::path& folder = options_.cache_folder;
  return (request.from_host ? folder : folder / guest_folder) /
         code_name(request.digest, request.interruption);
}

ModuleStore::Loaded ModuleStore::load(const std::filesystem::path& path, Interruption interruption,
                                      const std::function<bool()>& give_up) {
  struct File {
    UniqueFd fd;
    std::optional<MappedFile> mapped;
  };
  const auto file = std::make_shared<File>();
  file->fd = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!file->fd || fstat(file->fd.get(), &status) != 0) {
    return HostError::from_errno("cannot open " + path.string(), errno);
  }
  if (!S_ISREG(status.st_mode))
    return HostError(fmt::format("{} is not a file", path.string()), Errno::acces);
  const FileIdentity identity(status);
  if (identity.size > max_module_bytes)
    return HostError(fmt::format("{} is too big for a program", path.string()), Errno::fbig);

  const auto bytes = [file, size = identity.size] {
    if (!file->mapped) file->mapped.emplace(file->fd.get(), size);
    return file->mapped->bytes();
  };
  std::optional<KnownProgram> known;
  if (!options_.cache_folder.empty()) known = find_known_program(options_.cache_folder, identity);
  if (!known) {
    known = KnownProgram{sha256(bytes()), identity.size};
    if (!options_.cache_folder.empty()) remember_program(options_.cache_folder, identity, *known);
  }
  // Compiling reads the file again, perhaps later: what it finds then must be what the digest says.
  const auto checked_bytes = [bytes, digest = known->digest] {
    const auto found = bytes();
    return sha256(found) == digest ? found : std::span<const std::byte>{};
  };
  const CompileFor whom{.budget = nullptr, .give_up = give_up};
  return load_of_host({.digest = known->digest,
                       .wasm_bytes = known->wasm_bytes,
                       .name = path.stem().string(),
                       .wasm = checked_bytes,
                       .from_host = true,
                       .interruption = interruption,
                       .whom = &whom});
}

ModuleStore::Loaded ModuleStore::load(std::span<const std::byte> wasm,
                                      std::shared_ptr<const void> owner, std::string_view name,
                                      Interruption interruption,
                                      const std::function<bool()>& give_up) {
  if (wasm.size() > max_module_bytes)
    return HostError(fmt::format("{} is too big for a program", name), Errno::fbig);
  const CompileFor whom{.budget = nullptr, .give_up = give_up};
  return load_of_host({.digest = sha256(wasm),
                       .wasm_bytes = wasm.size(),
                       .name = std::string(name),
                       .wasm = [wasm, owner = std::move(owner)] { return wasm; },
                       .from_host = true,
                       .interruption = interruption,
                       .whom = &whom});
}

ModuleStore::Loaded ModuleStore::load_of_host(Request request) {
  if (request.interruption == Interruption::signals && !engine_.preempts())
    request.interruption = Interruption::epochs;
  Loaded loaded = get_of_host(request);
  if (loaded || loaded.error().code() != Errno::noexec ||
      request.interruption == Interruption::epochs)
    return loaded;
  request.interruption = Interruption::epochs;
  return get_of_host(request);
}

ModuleStore::Loaded ModuleStore::load(std::span<const std::byte> wasm, std::string_view name,
                                      const CompileFor& whom) {
  if (wasm.size() > max_guest_module_bytes)
    return refused(Errno::fbig, fmt::format("{} is too big for a program", name));
  if (const auto problem = beyond_limits(wasm))
    return refused(Errno::noexec, fmt::format("{} is too big for a program: {}", name, *problem));
  return get_of_guest({.digest = sha256(wasm),
                       .wasm_bytes = wasm.size(),
                       .name = std::string(name),
                       .wasm = [wasm] { return wasm; },
                       .from_host = false,
                       .whom = &whom,
                       .engine_bytes = engine_bytes_of(wasm)});
}

ModuleStore::Loaded ModuleStore::get_of_host(const Request& request) {
  const Key key{request.digest, request.interruption};
  {
    const MutexLock lock(mutex_);
    if (const auto known = of_host_.find(key); known != of_host_.end()) return known->second;
  }
  auto made = open_made(request);
  if (!made) return make_behind(request);
  const MutexLock lock(mutex_);
  return of_host_.try_emplace(key, std::move(made)).first->second;
}

ModuleStore::Loaded ModuleStore::get_of_guest(const Request& request) {
  const EntryUse entry(*this, request.digest);
  std::shared_ptr<const Module> module;
  {
    std::unique_lock busy(entry->busy, std::defer_lock);
    while (!busy.try_lock_for(give_up_look)) {
      if (request.given_up()) return Errno::intr;
    }
    module = entry->module.lock();
    if (!module) module = open_made(request);
    if (!module) {
      CLOCHE_ASSIGN(module, make(request));
    }
    entry->module = module;
  }
  keep_recent(module);
  return module;
}

void ModuleStore::keep_recent(const std::shared_ptr<const Module>& module) {
  const MutexLock lock(mutex_);
  auto& recent = recent_guest_modules_;
  std::erase(recent, module);
  recent.push_back(module);
  std::uint64_t bytes = 0;
  for (const auto& one : recent) bytes += one->info().wasm_bytes;
  while (recent.size() > recent_guest_modules || bytes > max_guest_module_bytes) {
    bytes -= recent.front()->info().wasm_bytes;
    recent.pop_front();
  }
}

std::shared_ptr<const Module> ModuleStore::open_made(const Request& request) {
  if (!options_.cache_folder.empty()) {
    if (auto cached = open_cached(request)) return cached;
  }
  return open_shipped(request);
}

ModuleStore::Loaded ModuleStore::make_behind(const Request& request) {
  const Key key{request.digest, request.interruption};
  const auto patience_ends = std::chrono::steady_clock::now() + longest_compile;
  ReleasableMutexLock lock(mutex_);
  // The last who waited may have taken it meanwhile.
  if (const auto known = of_host_.find(key); known != of_host_.end()) return known->second;
  std::shared_ptr<Making>& known = making_[key];
  const std::shared_ptr<Making> making = known ? known : known = std::make_shared<Making>();
  if (!making->thread.joinable()) {
    Request unattended = request;
    unattended.whom = &making->whom;
    try {
      making->thread = background_thread([this, making, unattended = std::move(unattended)] {
        name_thread("cloche-modules");
        Loaded made = make_or_say_why(unattended);
        const MutexLock done(mutex_);
        making->made = std::move(made);
        made_.notify_all();
      });
    } catch (const std::system_error&) {
      making_.erase(key);
      lock.unlock();
      return make(request);  // the host has no thread
    }
  }
  while (!making->made) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= patience_ends)
      return refused(Errno::timedout, fmt::format("{} takes too long to compile", request.name));
    made_.wait_until(mutex_, now + give_up_look);
    lock.unlock();
    const bool given_up = request.given_up();
    lock.lock();
    if (given_up && !making->made) return Errno::intr;
  }
  const Loaded made = *making->made;
  if (made) of_host_.try_emplace(key, *made);
  // The first of those who waited clears up.
  if (const auto entry = making_.find(key); entry != making_.end() && entry->second == making) {
    making_.erase(entry);
    lock.unlock();
    making->thread.join();
  }
  return made;
}

// Nothing is thrown on the thread of a compiler.
ModuleStore::Loaded ModuleStore::make_or_say_why(const Request& request) noexcept try {
  return make(request);
} catch (const std::bad_alloc&) {
  return Errno::nomem;
} catch (const HostError& problem) {
  return problem;
}

ModuleStore::Loaded ModuleStore::make(const Request& request) {
  if (options_.cache_folder.empty()) return compile_and_keep(request);
  const CachedFileLock lock(code_path(request), [&] { return request.given_up(); });
  if (request.given_up()) return Errno::intr;
  if (lock) {
    if (auto cached = open_cached(request)) return cached;  // another process made it meanwhile
  }
  return compile_and_keep(request);
}

ModuleStore::Loaded ModuleStore::compile_and_keep(const Request& request) {
  CLOCHE_ASSIGN(const UniqueFd code, compile(request));
  // Code that is mapped from a file on disk is shared by all processes and can be dropped by the
  // kernel under pressure.
  if (keep(request, code)) {
    if (auto cached = open_cached(request)) return cached;
  }
  if (auto module = open_module(code, request, request.wasm_bytes)) return module;
  return refused(Errno::noexec, fmt::format("{} was compiled, and cannot be used", request.name));
}

std::shared_ptr<const Module> ModuleStore::open_cached(const Request& request) {
  auto module = open_code(code_path(request), request);
  if (module || request.from_host) return module;
  // A copy of one of the host's programs.
  return open_code(options_.cache_folder / code_name(request.digest, Interruption::epochs),
                   request);
}

std::shared_ptr<const Module> ModuleStore::open_code(const std::filesystem::path& path,
                                                     const Request& request) {
  const auto file = open_trusted(path, request.digest);
  if (!file) return nullptr;
  note_use(path);
  return open_module(file->fd, request, file->note);
}

std::shared_ptr<const Module> ModuleStore::open_module(const UniqueFd& fd, const Request& request,
                                                       std::uint64_t wasm_bytes) {
  auto opened = open_code_file(engine_, fd.get(), request.interruption);
  if (!opened) return nullptr;  // of another wasmtime or CPU
  ModuleInfo info = describe_module(opened->module.get(), request.digest, wasm_bytes);
  info.engine_bytes = request.engine_bytes;
  return std::make_shared<const Module>(opened->module.release(), std::move(info),
                                        std::move(opened->initial), opened->preempted);
}

std::shared_ptr<const Module> ModuleStore::open_shipped(const Request& request) {
  const std::string digest = to_hex(request.digest);
  const auto known = shipped_.find(digest);
  if (known == shipped_.end()) return nullptr;
  const std::filesystem::path path = options_.shipped_folder / (digest + ".code");
  std::error_code problem;
  if (std::filesystem::file_size(path, problem) != known->second || problem) return nullptr;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? open_module(fd, request, request.wasm_bytes) : nullptr;
}

void ModuleStore::ship(const std::filesystem::path& program, const std::filesystem::path& folder,
                       Interruption interruption) {
  const auto module = load(program, interruption);
  if (!module) throw uncompiled(program, module.error());
  const Digest& digest = (*module)->info().digest;
  std::filesystem::create_directories(folder);
  const std::filesystem::path target = folder / (to_hex(digest) + ".code");
  copy_code(program, **module, target);
  std::ofstream index(folder / shipped_index, std::ios::app);
  index << to_hex(digest) << ' ' << std::filesystem::file_size(target) << '\n';
  if (!index.flush()) throw HostError("cannot write to " + folder.string());
}

bool ModuleStore::has_only_shipped(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path name = entry.path().filename();
    const bool is_shipped =
        name == shipped_index || name.extension() == ".code" || name.extension() == ".part";
    if (!is_shipped || !std::filesystem::is_regular_file(entry.symlink_status())) return false;
  }
  return true;
}

// The code of a program of the host that was loaded just now.
void ModuleStore::copy_code(const std::filesystem::path& program, const Module& module,
                            const std::filesystem::path& target) {
  const Digest& digest = module.info().digest;
  const Interruption interruption = module.interruption();
  UniqueFd code;
  if (!options_.cache_folder.empty()) {
    if (auto file = open_trusted(options_.cache_folder / code_name(digest, interruption), digest))
      code = std::move(file->fd);
  }
  if (!code) {
    const UniqueFd wasm(open(program.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status;
    if (!wasm || fstat(wasm.get(), &status) != 0)
      throw HostError::from_errno("cannot read " + program.string(), errno);
    const MappedFile mapped(wasm.get(), static_cast<std::uint64_t>(status.st_size));
    auto compiled = compile({.digest = digest,
                             .wasm_bytes = mapped.bytes().size(),
                             .name = program.stem().string(),
                             .wasm = [&] { return mapped.bytes(); },
                             .from_host = true,
                             .interruption = interruption});
    if (!compiled) throw uncompiled(program, compiled.error());
    code = *std::move(compiled);
  }
  std::filesystem::path part = target;
  part += ".part";
  const Result<void> done = [&]() -> Result<void> {
    HostFiles& files = host_files();
    CLOCHE_ASSIGN(const UniqueFd to, files.open(part.string(), O_WRONLY | O_CREAT | O_TRUNC, 0644));
    CLOCHE_TRY(copy_file(files, code.get(), to.get()));
    return files.rename(part.string(), target.string());
  }();
  if (!done) {
    throw HostError(
        fmt::format("cannot write to {}: {}", target.string(), errno_info(done.error()).message),
        done.error());
  }
}

// The code file of the program, in memory.
Result<UniqueFd, Error> ModuleStore::compile(const Request& request) {
  const auto wasm = request.wasm();
  if (options_.on_compile) options_.on_compile(request.name, wasm.size());
  if (!request.from_host && options_.guest_compiler)
    return options_.guest_compiler->compile(wasm, *request.whom);
  if (!has_compiler_threads())
    return HostError(
        "this machine gives no threads to compile " + request.name + ": it has too many",
        Errno::again);
  UniqueFd file(memfd_create("cloche-code", MFD_CLOEXEC));
  if (!file) return HostError::from_errno("no memory for the code of " + request.name, errno);
  if (const auto done = compile_to_file(engine_, wasm, file.get(), request.interruption); !done) {
    const Error& why = done.error();
    return Error(why.kind(), why.code(), fmt::format("{} is {}", request.name, why.sentence()));
  }
  return file;
}

// Whether the machine code is in the cache now. A cache that cannot be written costs time, and is
// no error.
bool ModuleStore::keep(const Request& request, const UniqueFd& code) {
  if (options_.cache_folder.empty()) return false;
  struct stat status;
  if (fstat(code.get(), &status) != 0) return false;
  const CacheLimits limits =
      request.from_host
          ? CacheLimits{options_.cache_limit_bytes, std::numeric_limits<std::size_t>::max()}
          : CacheLimits{options_.guest_cache_limit_bytes, options_.guest_cache_limit_programs};
  if (!request.from_host && static_cast<std::uint64_t>(status.st_size) > limits.bytes) return false;
  const auto path = code_path(request);
  try {
    save_trusted(path, request.digest, request.wasm_bytes,
                 [&](HostFiles& files, int fd) { return copy_file(files, code.get(), fd); });
  } catch (const HostError&) {
    return false;
  }
  prune_cache_folder(path.parent_path(), limits, path);
  return true;
}

}  // namespace cloche::wasm
