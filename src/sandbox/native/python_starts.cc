// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/python_starts.h"

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/thread_name.h"
#include "sandbox/native/freeze_programs.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/native_parts.h"
#include "sandbox/native/start_variables.h"

namespace cloche::sandbox {

std::optional<PythonStarts::Key> PythonStarts::key_of(NativeBackend& sandbox, PythonStart what) {
  if (!sandbox.options().mounts.empty() || !sandbox.freeze_programs().exist()) return std::nullopt;
  const native::CommandSpec spec = sandbox.spec_of({});
  if (std::ranges::any_of(spec.environment, may_change_a_start)) return std::nullopt;
  const std::optional<FileNumber> image = file_number(sandbox.image().root.get());
  if (!image) return std::nullopt;
  return Key{.image = *image,
             .user = sandbox.identity().user,
             .group = sandbox.identity().group,
             .folder = spec.directory,
             .variables = spec.environment,
             .packages = sandbox.options().packages,
             .what = what};
}

PythonStarts::Starts::iterator PythonStarts::find(const Key& key) {
  return std::ranges::find_if(starts_, [&](const Start& start) { return start.key == key; });
}

SharedFile PythonStarts::find(NativeBackend& sandbox, PythonStart what) {
  const std::optional<Key> key = key_of(sandbox, what);
  if (!key) return {};
  SharedFile image;
  {
    const MutexLock lock(mutex_);
    const auto found = find(*key);
    if (found == starts_.end()) {
      Start& start = starts_.emplace_front();
      start.key = *key;
      start.system.reset(::fcntl(sandbox.image().root.get(), F_DUPFD_CLOEXEC, 0));
      start.options.engine = sandbox.options().engine;
      start.options.image = sandbox.options().image;
      start.options.user = sandbox.options().user;
      start.options.home = sandbox.options().home;
      start.options.packages = sandbox.options().packages;
      start.options.environment = sandbox.environment();
      if (starts_.size() > most) starts_.pop_back();
      return {};
    }
    starts_.splice(starts_.begin(), starts_, found);
    found->is_wanted_again = true;
    begin();
    image = found->image;
    if (image && ++found->uses == most_uses) found->image.reset();
  }
  changed_.notify_all();
  if (image && !sandbox.box().is_as_image()) image.reset();
  return image;
}

void PythonStarts::give_up(NativeBackend& sandbox, PythonStart what) {
  const std::optional<Key> key = key_of(sandbox, what);
  if (!key) return;
  const MutexLock lock(mutex_);
  const auto found = find(*key);
  if (found == starts_.end()) return;
  if (++found->failures < most_failures) return;  // the sandbox may have been ended meanwhile
  found->image.reset();
  found->is_given_up = true;
}

// Without threads there are none.
void PythonStarts::begin() {
  if (is_over_ || thread_.joinable()) return;
  try {
    thread_ = std::thread(with_name("cloche-pythons", [this] { work(); }));
  } catch (const std::system_error&) {
    return;
  }
}

void PythonStarts::end() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    thread = std::move(thread_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

PythonStarts::Start* PythonStarts::next_to_make() {
  const auto found = std::ranges::find_if(starts_, [](const Start& start) {
    return start.is_wanted_again && !start.is_given_up && !start.image;
  });
  return found == starts_.end() ? nullptr : &*found;
}

void PythonStarts::work() {
  for (;;) {
    Key key;
    SandboxOptions options;
    {
      const MutexLock lock(mutex_);
      if (is_over_) return;
      const Start* const start = next_to_make();
      if (start == nullptr) {
        changed_.wait(mutex_);
        continue;
      }
      key = start->key;
      options = start->options;
    }
    SharedFile image = make(options, key);
    const MutexLock lock(mutex_);
    const auto found = find(key);
    if (found == starts_.end()) continue;
    found->is_given_up = !image;
    found->image = std::move(image);
    found->uses = 0;
    found->failures = 0;
  }
}

SharedFile PythonStarts::make(const SandboxOptions& options, const Key& key) {
  try {
    NativeBackend mother(parts_, options);
    const std::optional<Key> own = key_of(mother, key.what);
    if (!own || *own != key || !mother.box().is_as_image())
      return {};  // there is another image now
    return mother.freeze_new_python(key.what);
  } catch (const std::exception&) {  // a sandbox that wants it hears why
    return {};
  }
}

}  // namespace cloche::sandbox
