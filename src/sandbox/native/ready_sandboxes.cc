// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/ready_sandboxes.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/thread_name.h"
#include "sandbox/native/native_backend.h"

namespace cloche::sandbox {
namespace {

SteadyTime now() { return std::chrono::steady_clock::now(); }

#if defined(__x86_64__) && defined(__GLIBCXX__)
static_assert(sizeof(SandboxOptions) == 552 && sizeof(NetworkOptions) == 200,
              "a new option is compared below, or makes a sandbox nobody else's");
#endif

bool may_be_ready(const SandboxOptions& options) {
  return options.isolation == Isolation::full && options.mounts.empty() &&
         options.commands.empty() && options.program_folder.empty() && !options.trace &&
         options.network.allow.empty() && options.network.secrets.empty() && !options.network.audit;
}

// Of two that may be ready. Without rules no other option of the network means anything until some
// are set, and then it does.
bool are_alike(const NetworkOptions& one, const NetworkOptions& other) {
  const auto of = [](const NetworkOptions& options) {
    return std::tie(options.deny, options.max_connections, options.max_total_connections,
                    options.max_bytes, options.connect_timeout, options.idle_timeout,
                    options.trusted_certificates);
  };
  return of(one) == of(other);
}

bool are_alike(const SandboxOptions& one, const SandboxOptions& other) {
  const auto of = [](const SandboxOptions& options) {
    return std::tie(options.engine, options.timeout, options.file_limit_bytes,
                    options.file_limit_inodes, options.memory_limit_bytes, options.cpus,
                    options.process_limit, options.open_file_limit, options.environment,
                    options.user, options.home, options.image, options.packages);
  };
  return of(one) == of(other) && are_alike(one.network, other.network);
}

}  // namespace

ReadySandboxes::ReadySandboxes(NativeParts& parts, bool is_wanted)
    : parts_(parts), is_wanted_(is_wanted) {}

ReadySandboxes::~ReadySandboxes() { end(); }

void ReadySandboxes::end() {
  std::thread thread;
  Kinds unwanted;
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    thread = std::move(thread_);
    unwanted.swap(kinds_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

std::size_t ReadySandboxes::count() const {
  const MutexLock lock(mutex_);
  std::size_t count = 0;
  for (const Kind& kind : kinds_) count += kind.ready.size();
  return count;
}

ReadySandboxes::Kinds::iterator ReadySandboxes::find(const SandboxOptions& options) {
  return std::ranges::find_if(kinds_,
                              [&](const Kind& kind) { return are_alike(kind.options, options); });
}

std::unique_ptr<NativeBackend> ReadySandboxes::take(const SandboxOptions& options) {
  if (!is_wanted_ || !may_be_ready(options)) return nullptr;
  Kinds unwanted;  // ended without the lock, as those that are of no use are
  std::vector<std::unique_ptr<NativeBackend>> ready;
  {
    const MutexLock lock(mutex_);
    if (is_over_) return nullptr;
    const auto found = find(options);
    if (found == kinds_.end()) {
      if (kinds_.size() >= most_kinds)
        unwanted.splice(unwanted.end(), kinds_, std::prev(kinds_.end()));
      kinds_.emplace_front().options = options;
    } else {
      kinds_.splice(kinds_.begin(), kinds_, found);
    }
    Kind& kind = kinds_.front();
    ++kind.wanted;
    kind.last = now();
    ready.swap(kind.ready);
    if (kind.wanted > 1 && !begin()) return nullptr;
  }
  std::unique_ptr<NativeBackend> taken;
  while (!taken && !ready.empty()) {
    taken = std::move(ready.back());
    ready.pop_back();
    if (!taken->is_as_new()) taken.reset();
  }
  {
    const MutexLock lock(mutex_);
    const auto found = find(options);
    if (found != kinds_.end() && found->ready.empty()) found->ready.swap(ready);
  }
  changed_.notify_all();
  if (taken) taken->early_starts().give_away();
  return taken;
}

void ReadySandboxes::learn(const SandboxOptions& options, FirstUse use) {
  if (!is_wanted_ || !may_be_ready(options)) return;
  {
    const MutexLock lock(mutex_);
    const auto found = find(options);
    if (found == kinds_.end()) return;
    found->used[static_cast<std::size_t>(use)] = found->wanted;
  }
  changed_.notify_all();
}

FirstUses ReadySandboxes::uses_of(const Kind& kind) {
  FirstUses uses;
  for (std::size_t i = 0; i < first_use_count; ++i) {
    if (kind.used[i] > 0 && kind.used[i] + memory > kind.wanted) uses.add(static_cast<FirstUse>(i));
  }
  return uses;
}

// False: there are no threads.
bool ReadySandboxes::begin() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread(with_name("cloche-ready", [this] { work(); }));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

ReadySandboxes::Kind* ReadySandboxes::next_to_fill() {
  const auto found = std::ranges::find_if(kinds_, [](const Kind& kind) {
    return kind.wanted > 1 && kind.failed != kind.wanted && kind.ready.size() < most_of_a_kind &&
           uses_of(kind).any();
  });
  return found == kinds_.end() ? nullptr : &*found;
}

void ReadySandboxes::work() {
  for (;;) {
    Kinds rested;
    bool has_work = false;
    {
      const MutexLock lock(mutex_);
      if (is_over_) return;
      const SteadyTime before = now() - rest;
      for (auto it = kinds_.begin(); it != kinds_.end();) {
        const auto here = it++;
        if (here->last <= before) rested.splice(rested.end(), kinds_, here);
      }
      has_work = next_to_fill() != nullptr;
      if (!has_work && rested.empty()) {
        if (kinds_.empty()) {
          changed_.wait(mutex_);
        } else {
          (void)changed_.wait_until(mutex_, kinds_.back().last + rest);
        }
        continue;
      }
    }
    rested.clear();
    if (has_work) fill_one();
  }
}

void ReadySandboxes::fill_one() {
  SandboxOptions options;
  FirstUses uses;
  std::uint64_t wanted = 0;
  {
    const MutexLock lock(mutex_);
    const Kind* const kind = next_to_fill();
    if (kind == nullptr) return;
    options = kind->options;
    uses = uses_of(*kind);
    wanted = kind->wanted;
  }
  std::unique_ptr<NativeBackend> made;
  try {
    made = std::make_unique<NativeBackend>(parts_, options);
    made->early_starts().make(uses);
  } catch (const std::exception&) {  // whoever wants one hears why
    made.reset();
  }
  const MutexLock lock(mutex_);
  const auto found = is_over_ ? kinds_.end() : find(options);
  if (found == kinds_.end()) return;  // it is ended without the lock
  if (made == nullptr) {
    found->failed = wanted;
  } else {
    found->ready.push_back(std::move(made));
  }
}

}  // namespace cloche::sandbox
