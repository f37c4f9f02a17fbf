// SPDX-License-Identifier: Apache-2.0
// PackageRegistry: the Python packages that a build ships, and how a sandbox gets them.
//
// Installing links a package's tree into the sandbox's file system, below /usr/lib/python/<name>/,
// and its import names into site-packages: no copy, no quota, some microseconds. What is not
// installed cannot be imported, though its native parts are in the interpreter: a native module is
// found through its package only.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "packages/bundle.h"
#include "vfs/base_builder.h"
#include "vfs/memfs.h"

namespace cloche::packages {

// "Scikit_Learn" -> "scikit-learn": names that pip takes for the same.
std::string normalized(std::string_view name);

// One of ">=2.1", "==3.0.*", "~=1.4" ...: releases are compared, part by part.
struct Condition {
  std::string relation;
  std::string version;
};

// What a person or a program asks for: "numpy", "pandas>=2,<4", "requests[socks]".
struct Wish {
  std::string name;  // normalized
  std::vector<Condition> conditions;
  std::vector<std::string> extras;  // normalized
};
// Nothing for text that is no requirement.
std::optional<Wish> parse_wish(std::string_view text);

// Thread-safe, except for what is done to a file system: that is under its kernel's lock.
class PackageRegistry {
 public:
  explicit PackageRegistry(const std::filesystem::path& bundle_file) : bundle_(bundle_file) {}

  const Bundle& bundle() const noexcept { return bundle_; }

  // The library's part of a base layer: /usr/lib/python3.15, time zones, the list of what could be
  // installed.
  void add_library(vfs::BaseBuilder& builder) const;

  // The packages that can be installed, by name.
  std::vector<const BundledPackage*> available() const;
  // By its name or an import name ("PIL", "sklearn"); null when there is none.
  const BundledPackage* find(std::string_view name) const;

  // `wishes` and all that they require, dependencies first. ENOENT for an unknown one, EINVAL for
  // a wish that is none.
  Result<std::vector<const BundledPackage*>, Error> resolve(
      std::span<const std::string> wishes) const;

  // Links packages into a sandbox; those that are there already stay. Kernel lock held.
  Result<void> install(vfs::MemFs& files, std::span<const BundledPackage* const> packages);
  // ENOENT when it is not installed. Kernel lock held.
  Result<void> uninstall(vfs::MemFs& files, const BundledPackage& package);
  bool is_installed(vfs::MemFs& files, const BundledPackage& package) const;
  // By name. Kernel lock held.
  std::vector<const BundledPackage*> installed(vfs::MemFs& files) const;

  // "numpy, pandas, ...": for messages.
  std::string names() const;

 private:
  vfs::Frozen tree_of(const BundledPackage& package);

  Bundle bundle_;
  Mutex mutex_;
  std::map<const BundledPackage*, vfs::Frozen> trees_
      GUARDED_BY(mutex_);  // made at the first installation
};

}  // namespace cloche::packages
