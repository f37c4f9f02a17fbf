// SPDX-License-Identifier: Apache-2.0
#include "sandbox/host_folders.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>

namespace cloche::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A variable of the environment, which has its old value again at the end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  ~Variable() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// Nobody can make a folder below it, root neither.
constexpr const char* no_folder = "/dev/null/nothing";

TEST(HostFolders, CacheIsTheOneThatIsAskedForAlsoWhereItCannotBe) {
  const Variable asked("CLOCHE_CACHE", no_folder);
  EXPECT_EQ(*usable_cache_folder(), no_folder);
}

TEST(HostFolders, CacheIsNoneWhereAUserHasNoHome) {
  const Variable asked("CLOCHE_CACHE", nullptr), caches("XDG_CACHE_HOME", nullptr),
      home("HOME", nullptr);
  EXPECT_THAT(usable_cache_folder().error().sentence(), HasSubstr("CLOCHE_CACHE"));
}

TEST(HostFolders, CacheIsNoneWhereTheUsualOneCannotBeMade) {
  const Variable asked("CLOCHE_CACHE", nullptr), caches("XDG_CACHE_HOME", no_folder);
  EXPECT_THAT(usable_cache_folder().error().sentence(), HasSubstr(no_folder));
}

TEST(HostFolders, SystemOfAnInstalledProgramOrLibraryIsInLibClocheOfItsPrefix) {
  const std::filesystem::path system = "/opt/x/lib/cloche/rootfs";
  for (const char* folder : {"/opt/x/bin", "/opt/x/lib", "/opt/x/lib/x86_64-linux-gnu"})
    EXPECT_THAT(system_folders_near(folder), ::testing::Contains(system)) << folder;
  EXPECT_EQ(system_folders_near("/tree/build/bin").front(), "/tree/build/rootfs");
}

}  // namespace
}  // namespace cloche::sandbox
