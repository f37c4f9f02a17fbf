// SPDX-License-Identifier: Apache-2.0
#include "sandbox/whole_file.h"

#include "base/random.h"
#include "base/result.h"

namespace cloche::sandbox {
namespace {

bool is_want_of_room(Errno error) {
  return error == Errno::nospc || error == Errno::dquot || error == Errno::fbig;
}

// Of its folder, or of a longer name.
bool is_about_the_other(Errno error) {
  return error == Errno::acces || error == Errno::perm || error == Errno::rofs ||
         error == Errno::nametoolong;
}

Result<void> replace(Files& files, const std::string& path, std::string_view content,
                     const FileInfo& old) {
  const std::string beside = path + "." + random_hex(8) + ".part";
  Result<void> done = files.write(beside, content, old.mode);
  if (done) done = files.rename(beside, path);
  if (done) return {};
  (void)files.remove(beside);
  const bool fits = is_want_of_room(done.error()) && content.size() <= old.size_bytes;
  return fits || is_about_the_other(done.error()) ? files.write(path, content) : done;
}

}  // namespace

Result<void> write_whole(Files& files, const std::string& path, std::string_view content) {
  const Result<FileInfo> target = files.stat(path);
  if (target && target->kind == FileKind::directory) return Errno::isdir;
  const Result<FileInfo> there = files.link_stat(path);
  if (there && there->kind == FileKind::file) return replace(files, path, content, *there);
  const Result<void> written = files.write(path, content);
  if (!written && !there) (void)files.remove(path);
  return written;
}

}  // namespace cloche::sandbox
