// SPDX-License-Identifier: Apache-2.0
#include "wasm/module_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "base/host_error.h"
#include "base/write_fully.h"
#include "wasm/cache_folder.h"
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

std::string first_line(std::string text) {
  if (const auto end = text.find('\n'); end != text.npos) text.resize(end);
  return text;
}

}  // namespace

struct ModuleStore::Entry {
  std::mutex busy;  // held by the thread that compiles or loads it
  std::weak_ptr<const Module> module;
  std::shared_ptr<const Module> kept;  // for the programs of the host
};

struct ModuleStore::Request {
  Digest digest;
  std::uint64_t wasm_bytes;
  std::string name;
  std::function<std::span<const std::byte>()> wasm;  // asked only when there is no machine code
  bool from_host;
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

ModuleStore::~ModuleStore() = default;

std::string ModuleStore::code_name(const Digest& digest) const {
  std::string key = to_hex(digest) + " " + engine_.fingerprint();
  return to_hex(sha256(std::as_bytes(std::span(key)))).substr(0, 40) + ".code";
}

std::filesystem::path ModuleStore::code_path(const Request& request) const {
  const std::filesystem::path& folder = options_.cache_folder;
  return (request.from_host ? folder : folder / guest_folder) / code_name(request.digest);
}

Result<std::shared_ptr<const Module>> ModuleStore::load(const std::filesystem::path& path,
                                                        std::string* message) {
  std::string ignored;
  std::string& reason = message != nullptr ? *message : ignored;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0) {
    const int failed = errno;
    reason = fmt::format("cannot open {}: {}", path.string(), std::strerror(failed));
    return errno_from_host(failed);
  }
  if (!S_ISREG(status.st_mode)) {
    reason = fmt::format("{} is not a file", path.string());
    return Errno::acces;
  }
  const FileIdentity identity(status);
  if (identity.size > max_module_bytes) {
    reason = fmt::format("{} is too big for a program", path.string());
    return Errno::fbig;
  }

  std::optional<MappedFile> file;
  const auto bytes = [&] {
    if (!file) file.emplace(fd.get(), identity.size);
    return file->bytes();
  };
  std::optional<KnownProgram> known;
  if (!options_.cache_folder.empty()) known = find_known_program(options_.cache_folder, identity);
  if (!known) {
    known = KnownProgram{sha256(bytes()), identity.size};
    if (!options_.cache_folder.empty()) remember_program(options_.cache_folder, identity, *known);
  }
  // Compiling reads the file again, perhaps later: what it finds then must be what the digest says.
  const auto checked_bytes = [&] {
    const auto found = bytes();
    return sha256(found) == known->digest ? found : std::span<const std::byte>{};
  };
  return get({known->digest, known->wasm_bytes, path.stem().string(), checked_bytes, true}, reason);
}

Result<std::shared_ptr<const Module>> ModuleStore::load(std::span<const std::byte> wasm,
                                                        std::string_view name,
                                                        std::string* message) {
  std::string ignored;
  std::string& reason = message != nullptr ? *message : ignored;
  if (wasm.size() > max_guest_module_bytes) {
    reason = fmt::format("{} is too big for a program", name);
    return Errno::fbig;
  }
  if (const auto problem = beyond_limits(wasm)) {
    reason = fmt::format("{} is too big for a program: {}", name, *problem);
    return Errno::noexec;
  }
  return get({sha256(wasm), wasm.size(), std::string(name), [wasm] { return wasm; }, false},
             reason);
}

Result<std::shared_ptr<const Module>> ModuleStore::get(const Request& request,
                                                       std::string& message) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    if (entries_.size() > 4 * recent_guest_modules) {
      std::erase_if(entries_, [](const auto& item) {
        return item.second.use_count() == 1 && item.second->module.expired();
      });
    }
    auto& place = entries_[request.digest];
    if (!place) place = std::make_shared<Entry>();
    entry = place;
  }
  std::shared_ptr<const Module> module;
  {
    const std::lock_guard busy(entry->busy);
    module = entry->module.lock();
    if (!module) {
      auto made = get_from_disk_or_compile(request, message);
      if (!made) return made.error();
      module = *made;
      entry->module = module;
    }
    if (request.from_host) entry->kept = module;
  }
  if (!request.from_host) keep_recent(module);
  return module;
}

void ModuleStore::keep_recent(const std::shared_ptr<const Module>& module) {
  const std::lock_guard lock(mutex_);
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

Result<std::shared_ptr<const Module>> ModuleStore::get_from_disk_or_compile(const Request& request,
                                                                            std::string& message) {
  if (options_.cache_folder.empty()) {
    if (auto shipped = open_shipped(request)) return shipped;
    return compile(request, message);
  }
  if (auto cached = open_cached(request)) return cached;
  if (auto shipped = open_shipped(request)) return shipped;
  const CachedFileLock lock(code_path(request));
  if (lock) {
    if (auto cached = open_cached(request)) return cached;  // another process made it meanwhile
  }
  auto compiled = compile(request, message);
  // Code that is mapped from its file is shared by all processes and can be dropped by the kernel
  // under pressure.
  if (compiled && keep(request, **compiled)) {
    if (auto cached = open_cached(request)) return cached;
  }
  return compiled;
}

std::shared_ptr<const Module> ModuleStore::open_cached(const Request& request) {
  auto module = open_code(code_path(request), request.digest);
  if (module || request.from_host) return module;
  // A copy of one of the host's programs.
  return open_code(options_.cache_folder / code_name(request.digest), request.digest);
}

std::shared_ptr<const Module> ModuleStore::open_code(const std::filesystem::path& path,
                                                     const Digest& digest) {
  const auto file = open_trusted(path, digest);
  if (!file) return nullptr;
  note_use(path);
  // By descriptor: what was checked is what is mapped.
  const std::string checked = fmt::format("/proc/self/fd/{}", file->fd.get());
  wasmtime_module_t* native = nullptr;
  const Native<wasmtime_error_t> error(
      wasmtime_module_deserialize_file(engine_.native(), checked.c_str(), &native));
  if (error) return nullptr;  // of another wasmtime or CPU
  return std::make_shared<const Module>(native, describe_module(native, digest, file->note));
}

std::shared_ptr<const Module> ModuleStore::open_shipped(const Request& request) {
  const std::string digest = to_hex(request.digest);
  const auto known = shipped_.find(digest);
  if (known == shipped_.end()) return nullptr;
  const std::filesystem::path path = options_.shipped_folder / (digest + ".code");
  std::error_code problem;
  if (std::filesystem::file_size(path, problem) != known->second || problem) return nullptr;
  wasmtime_module_t* native = nullptr;
  const Native<wasmtime_error_t> error(
      wasmtime_module_deserialize_file(engine_.native(), path.c_str(), &native));
  if (error) return nullptr;  // of another wasmtime, or for a CPU that can do more
  return std::make_shared<const Module>(
      native, describe_module(native, request.digest, request.wasm_bytes));
}

void ModuleStore::ship(const std::filesystem::path& program, const std::filesystem::path& folder) {
  std::string message;
  const auto module = load(program, &message);
  if (!module) throw HostError("cannot compile " + program.string() + ": " + message);
  ByteVec code;
  const Native<wasmtime_error_t> error(wasmtime_module_serialize((*module)->native(), &code));
  if (error) throw HostError("cannot write the machine code of " + program.string());
  const std::string digest = to_hex((*module)->info().digest);
  const auto bytes = std::as_bytes(std::span(code.data, code.size));
  std::filesystem::create_directories(folder);
  if (!replace_file(folder / (digest + ".code"), bytes))
    throw HostError::from_errno("cannot write to " + folder.string(), errno);
  std::ofstream index(folder / shipped_index, std::ios::app);
  index << digest << ' ' << code.size << '\n';
  if (!index.flush()) throw HostError("cannot write to " + folder.string());
}

Result<std::shared_ptr<const Module>> ModuleStore::compile(const Request& request,
                                                           std::string& message) {
  const auto wasm = request.wasm();
  // The C API also reads text and machine code under the same name; programs are binary wasm.
  static constexpr char magic[] = {'\0', 'a', 's', 'm'};
  if (wasm.size() < 8 || std::memcmp(wasm.data(), magic, sizeof(magic)) != 0) {
    message = fmt::format("{} is not a WebAssembly program", request.name);
    return Errno::noexec;
  }
  if (options_.on_compile) options_.on_compile(request.name, wasm.size());
  wasmtime_module_t* native = nullptr;
  const Native<wasmtime_error_t> error(wasmtime_module_new(
      engine_.native(), reinterpret_cast<const std::uint8_t*>(wasm.data()), wasm.size(), &native));
  if (error) {
    message = fmt::format("{} is not a valid program: {}", request.name,
                          first_line(message_of(error.get())));
    return Errno::noexec;
  }
  return std::make_shared<const Module>(native,
                                        describe_module(native, request.digest, wasm.size()));
}

// Whether the machine code is in the cache now. A cache that cannot be written costs time, and is
// no error.
bool ModuleStore::keep(const Request& request, const Module& module) {
  ByteVec code;
  const Native<wasmtime_error_t> error(wasmtime_module_serialize(module.native(), &code));
  if (error) return false;
  const std::uint64_t limit_bytes =
      request.from_host ? options_.cache_limit_bytes : options_.guest_cache_limit_bytes;
  if (!request.from_host && code.size > limit_bytes) return false;
  const auto path = code_path(request);
  try {
    save_trusted(path, request.digest, request.wasm_bytes, [&](int fd) {
      return write_fully(fd, std::as_bytes(std::span(code.data, code.size)));
    });
  } catch (const HostError&) {
    return false;
  }
  prune_cache_folder(path.parent_path(), limit_bytes, path);
  return true;
}

}  // namespace cloche::wasm
