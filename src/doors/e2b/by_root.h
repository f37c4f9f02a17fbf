// SPDX-License-Identifier: Apache-2.0
// The agent that these clients know is root, and gives what it makes to who asks. What the user of
// a request may not do with files is done so here, too.
#pragma once

#include <string>
#include <utility>

#include "cloche/sandbox.h"
#include "doors/e2b/agent.h"

namespace cloche::e2b {

// The first of the folders that lead to `path`, or `path`, that is not there; `path` where all are.
std::string first_missing(const Files& files, const std::string& path);
// With all that is in it.
void give_to(Sandbox& sandbox, const Actor& actor, const std::string& path);

// Whether what was asked for is root's to do.
template <typename Done>
bool is_for_root(const Actor& actor, const Done& done) {
  return !done && actor.account != Account::root &&
         (done.error() == Errno::acces || done.error() == Errno::perm);
}

// `work(files)` gives a Result: as who asks, and as root where that is denied.
template <typename Work>
auto with_files(Sandbox& sandbox, const Actor& actor, Work&& work) {
  auto done = work(sandbox.files(actor.account));
  if (!is_for_root(actor, done)) return done;
  return work(sandbox.files(Account::root));
}

// The same for work that makes something at `path`, with the folders that lead to it: what was made
// as root is then of who asks. A folder that was there stays whose it was.
template <typename Work>
auto with_files_at(Sandbox& sandbox, const Actor& actor, const std::string& path, Work&& work) {
  auto done = work(sandbox.files(actor.account));
  if (!is_for_root(actor, done)) return done;
  Files& files = sandbox.files(Account::root);
  const std::string made = first_missing(files, path);
  const Result<FileInfo> there = files.stat(path);
  done = work(files);
  if (done && !(there && there->kind == FileKind::directory)) give_to(sandbox, actor, made);
  return done;
}

}  // namespace cloche::e2b
