// SPDX-License-Identifier: Apache-2.0
#include "kernel/wasi/path_target.h"

#include "kernel/wasi/preopens.h"

namespace cloche::kernel::wasi {
namespace {

bool leads_somewhere(const Call& call, const PathTarget& place, Purpose purpose)
    REQUIRES(kernel_lock) {
  const Result<vfs::Resolved> found =
      process_files::resolve(call.process, place.at(), vfs::Follow::no);
  if (!found) return found.error() != Errno::noent && found.error() != Errno::notdir;
  return purpose == Purpose::make || found->target.has_value();
}

// Only a path that starts with a name can be an absolute one that lost its "/".
bool starts_with_name(const std::string& path) {
  const std::string first = path.substr(0, path.find('/'));
  return !first.empty() && first != "." && first != "..";
}

}  // namespace

Result<PathTarget> path_target(const Call& call, const PathArgument& argument, Purpose purpose) {
  CLOCHE_ASSIGN(const FilePtr directory, call.file(argument.fd));
  CLOCHE_ASSIGN(std::string path, call.path(argument.address, argument.length));
  PathTarget given{static_cast<std::int32_t>(argument.fd), std::move(path)};
  const auto* preopen = dynamic_cast<const PreopenedDirectory*>(directory.get());
  if (preopen == nullptr || !preopen->is_cwd() || !starts_with_name(given.path)) return given;
  if (leads_somewhere(call, given, purpose)) return given;
  const PathTarget at_root{process_files::at_fdcwd, "/" + given.path};
  return leads_somewhere(call, at_root, purpose) ? at_root : given;
}

}  // namespace cloche::kernel::wasi
