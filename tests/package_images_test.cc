// SPDX-License-Identifier: Apache-2.0
// What Python starts from in a sandbox with packages is made behind create, once for a machine.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "base/temp_dir_testing.h"
#include "base/waiting_testing.h"
#include "kernel/linux/dispatch.h"
#include "kernel/process/program.h"
#include "kernel/time/timer_thread.h"
#include "kernel/wasi/register.h"
#include "python/python_runtime.h"
#include "sandbox/host_folders.h"
#include "sandbox/python/python_parts.h"
#include "vfs/base_builder.h"
#include "wasm/guest_threads.h"
#include "wasm/linker.h"
#include "wasm/module_store.h"

namespace cloche::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A folder for images, which processes of a machine share.
class ImageFolder : public TempDir {
 public:
  // Of sets of packages: their names have a part more than the common image's.
  long images() const { return count(".image"); }
  long claims() const { return count(".making"); }

 private:
  long count(std::string_view end) const {
    std::error_code none_yet;
    long found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path() / "images", none_yet)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(end) && std::ranges::count(name, '-') == 3) ++found;
    }
    return found;
  }
};

// What one process of this machine has of Python: the machine's code, and that folder of images.
class PythonOfAProcess {
 public:
  explicit PythonOfAProcess(const ImageFolder& folder,
                            PackageImages images = PackageImages::behind) {
    kernel::lnx::define_imports(linker_);
    kernel::wasi::define_imports(linker_);
    python::PythonRuntime::define_imports(linker_);
    EngineOptions options;
    options.system_folder = CLOCHE_ROOTFS_DIR;
    options.cache_folder = folder.path();
    options.package_images = images;
    options.progress = [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      said_ += line;
    };
    vfs::BaseBuilder builder;
    parts_ = std::make_unique<PythonParts>(
        kernel::KernelServices{engine_, threads_, programs_, timers_}, options, builder);
    base_ = builder.freeze();
    parts_->set_base(base_);
  }

  // As create does it.
  void prepare(const std::string& package) {
    const auto files = vfs::make_fs<vfs::MemFs>(base_, vfs::Quota{}, vfs::host_clock());
    const Result<void, Error> installed = parts_->install(*files, {package});
    ASSERT_TRUE(installed) << installed.error().sentence();
    parts_->prepare(*files);
  }

  // Lines that somebody reads who waits.
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  std::mutex mutex_;
  std::string said_;
  wasm::Engine engine_;
  wasm::ModuleStore modules_{engine_, {.cache_folder = default_cache_folder() / "modules"}};
  wasm::Linker linker_{engine_};
  kernel::ProgramStore programs_{modules_, linker_};
  kernel::TimerThread timers_;
  wasm::GuestThreads threads_;
  std::unique_ptr<PythonParts> parts_;
  vfs::Frozen base_;
};

TEST(PackageImages, AreMadeBehindCreate) {
  const ImageFolder folder;
  PythonOfAProcess python(folder);
  python.prepare("requests");
  python.prepare("requests");
  EXPECT_TRUE(testing::within_a_minute([&] { return folder.images() == 1; }));
  EXPECT_TRUE(testing::within_a_minute([&] { return folder.claims() == 0; }));
  EXPECT_THAT(python.said(), Not(HasSubstr("python3 with")));
  python.prepare("requests");
  PythonOfAProcess other(folder);
  other.prepare("requests");
  EXPECT_EQ(folder.images(), 1);
  EXPECT_EQ(folder.claims(), 0);
}

// A process that ends does not wait for what is being made; the next one does not leave it so.
TEST(PackageImages, AreMadeFirstWhereTimeWasTooShortBefore) {
  const ImageFolder folder;
  PythonOfAProcess(folder).prepare("sympy");
  PythonOfAProcess next(folder);
  next.prepare("sympy");
  EXPECT_EQ(folder.images(), 1);
  EXPECT_EQ(folder.claims(), 0);
}

// While a process makes one, others do not make it too, and do not wait.
TEST(PackageImages, AreMadeByOneProcess) {
  const ImageFolder folder;
  PythonOfAProcess one(folder), two(folder);
  one.prepare("sympy");
  two.prepare("sympy");
  EXPECT_THAT(two.said(), Not(HasSubstr("python3 with")));
}

TEST(PackageImages, AreMadeFirstWhereThatIsAskedFor) {
  const ImageFolder folder;
  PythonOfAProcess python(folder, PackageImages::first);
  python.prepare("requests");
  EXPECT_EQ(folder.images(), 1);
  EXPECT_THAT(python.said(), HasSubstr("preparing python3 with requests, once ..."));
}

}  // namespace
}  // namespace cloche::sandbox
