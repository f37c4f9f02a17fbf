// SPDX-License-Identifier: Apache-2.0
// ModuleStore: wasm bytes in, compiled Module out; each program is compiled once per machine.
//
// Found in this order: in memory (by digest), in the cache folder on disk (machine code, mapped and
// not read); otherwise it is compiled and written there. Several threads and processes that want
// the same program do the work once: the others wait for it.
//
// The cache folder belongs to this user alone (0700, files 0600; a folder of another owner or open
// to others is refused). Machine code is trusted as this program's own text is, so a file is used
// only when its record says that it is complete and unchanged: same inode, size and times as when
// it was written, or the same content hash. A file that is damaged, of another version, engine
// configuration or CPU is rebuilt, silently.
//
// Bytes may come from a guest. What is not a valid program is ENOEXEC with a sentence that says
// why; nothing here aborts on it. Code of such programs has a folder and a limit of its own, so
// that a guest that brings many of them drives out no more than other guests' ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wasm/engine.h"
#include "wasm/guest_compiler.h"
#include "wasm/module.h"

namespace cloche::wasm {

inline constexpr std::uint64_t max_module_bytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t max_guest_module_bytes = std::uint64_t{64} << 20;
inline constexpr std::chrono::minutes longest_compile{30};

class ModuleStore {
 public:
  struct Options {
    // Where compiled code is kept; created when absent. Empty: nothing is kept.
    std::filesystem::path cache_folder;
    // Portable machine code that came with this program (see `ship`): used as it is where the CPU
    // can run it and the cache has nothing better. Trusted as this program is. Empty: none.
    std::filesystem::path shipped_folder;
    // Told the name of a program, and how big it is, when it must be compiled (seconds, for a big
    // one). Any thread.
    std::function<void(std::string_view name, std::uint64_t wasm_bytes)> on_compile;
    // Compiles the programs in bytes of guests. Null: this process does, without limits of time and
    // memory, for hosts that trust them.
    std::shared_ptr<GuestCompiler> guest_compiler;
    // What was not used for the longest time is removed from the cache beyond this.
    std::uint64_t cache_limit_bytes = std::uint64_t{4} << 30;
    // The same for the code of programs that guests bring, which is counted apart. A single one
    // beyond it is not kept.
    std::uint64_t guest_cache_limit_bytes = std::uint64_t{256} << 20;
    std::size_t guest_cache_limit_programs = 2048;
  };

  // Throws HostError when the cache folder cannot be made or is not this user's alone. The engine
  // must outlive the store.
  ModuleStore(Engine& engine, Options options);
  ~ModuleStore();
  ModuleStore(const ModuleStore&) = delete;
  ModuleStore& operator=(const ModuleStore&) = delete;

  using Loaded = Result<std::shared_ptr<const Module>, Error>;

  // The program in a file of the host. Errors: those of open; ENOEXEC; EFBIG beyond
  // max_module_bytes. An unchanged file (inode, size, times) that was loaded before on this machine
  // is not read again. The store keeps the module until its end.
  // `interruption`: signals are for a fixed program. They are epochs for one that preemption.h does
  // not allow, and where the engine does not preempt.
  // `give_up` is asked as CompileFor's is, while a compiler is waited for: EINTR. The compiler goes
  // on then, and who asks next waits for the same one; so does the store's end. Nobody waits for
  // longer than `longest_compile`: ETIMEDOUT.
  Loaded load(const std::filesystem::path& path, Interruption interruption = Interruption::epochs,
              const std::function<bool()>& give_up = {});

  // The same for a program that is there: it is what `wasm` refers to as long as `owner` lives.
  Loaded load(std::span<const std::byte> wasm, std::shared_ptr<const void> owner,
              std::string_view name, Interruption interruption = Interruption::epochs,
              const std::function<bool()>& give_up = {});

  // The program in these bytes (a guest's file). `name` is for on_compile. Errors: ENOEXEC (also
  // for what module_limits.h says is too big); EFBIG beyond max_guest_module_bytes; those of
  // GuestCompiler. The store keeps the last few of these, of max_guest_module_bytes together. Who
  // waits for another one's compiler can give up too.
  Loaded load(std::span<const std::byte> wasm, std::string_view name, const CompileFor& whom = {});

  // Writes the machine code of a program of the host into `folder`, for the shipped_folder of
  // stores elsewhere. For a store with a portable engine. Throws HostError.
  void ship(const std::filesystem::path& program, const std::filesystem::path& folder,
            Interruption interruption = Interruption::epochs);
  // Whether all that is in the folder is of `ship`, so that it may be made anew; also where nothing
  // is.
  static bool has_only_shipped(const std::filesystem::path& folder);

  Engine& engine() const noexcept { return engine_; }

 private:
  struct Entry;
  class EntryUse;
  struct Request;
  struct Making;
  using Key = std::pair<Digest, Interruption>;

  Loaded load_of_host(Request request);
  Loaded get_of_host(const Request& request);
  Loaded get_of_guest(const Request& request);
  std::shared_ptr<const Module> open_made(const Request& request);
  Loaded make_behind(const Request& request);
  Loaded make(const Request& request);
  Loaded make_or_say_why(const Request& request) noexcept;
  std::shared_ptr<const Module> open_cached(const Request& request);
  std::shared_ptr<const Module> open_code(const std::filesystem::path& path,
                                          const Request& request);
  std::shared_ptr<const Module> open_module(const UniqueFd& fd, const Request& request,
                                            std::uint64_t wasm_bytes);
  void keep_recent(const std::shared_ptr<const Module>& module);
  std::shared_ptr<const Module> open_shipped(const Request& request);
  Loaded compile_and_keep(const Request& request);
  Result<UniqueFd, Error> compile(const Request& request);
  bool keep(const Request& request, const UniqueFd& code);
  void copy_code(const std::filesystem::path& program, const Module& module,
                 const std::filesystem::path& target);
  std::string code_name(const Digest& digest, Interruption interruption) const;
  std::filesystem::path code_path(const Request& request) const;

  Engine& engine_;
  Options options_;
  std::map<std::string, std::uint64_t> shipped_;  // digest in hex, bytes of its code
  Mutex mutex_;
  // Of the host. The same program may be there twice: as a copy that a guest brought, too.
  std::map<Key, std::shared_ptr<const Module>> of_host_ GUARDED_BY(mutex_);
  // Those that are being compiled, or were while nobody waited.
  std::map<Key, std::shared_ptr<Making>> making_ GUARDED_BY(mutex_);
  Condition made_;
  std::map<Digest, std::shared_ptr<Entry>> entries_ GUARDED_BY(mutex_);  // of guests
  std::deque<std::shared_ptr<const Module>> recent_guest_modules_ GUARDED_BY(mutex_);
};

}  // namespace cloche::wasm
