// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/ready_sandboxes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "native/host/test_image_testing.h"
#include "sandbox/native/image_store_testing.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/native_parts.h"

namespace cloche::sandbox {
namespace {

// What a shell is, but for what each has another value of; and what an interpreter is, but for
// modules that have once frozen it.
// Its descriptors go to a file: a shell may have an end of a pipe while the first program writes.
constexpr const char* look_of_shell =
    "declare -p | grep -vE '^declare -[^ ]* (RANDOM|SRANDOM|EPOCH[A-Z]*|SECONDS|BASHPID|PPID|_)=';"
    "declare -f; trap; alias; set -o; shopt; ulimit -a; ulimit -Ha; umask; pwd; jobs; echo $0 $#;"
    "ls -l /proc/$$/fd >/tmp/fds; sed 's/.* \\([0-9]* -> [^0-9]*\\).*/\\1/' /tmp/fds; "
    "type ls cloche";
constexpr const char* look_of_python =
    "import os, resource, signal, sys, threading, warnings\n"
    "print(sorted(os.environ.items()), os.getcwd(), sys.path, sys.argv, sys.flags, os.getuid())\n"
    "print(sorted(m for m in sys.modules if 'ctypes' not in m), sorted(globals()), "
    "threading.active_count(), warnings.filters)\n"
    "print([resource.getrlimit(i) for i in range(16)], sorted(os.listdir('/proc/self/fd')))\n"
    "print([signal.getsignal(i) for i in range(1, 32)], signal.pthread_sigmask(0, []))";

class ReadySandboxesTest : public testing::Test {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    parts_ = std::make_unique<NativeParts>("/nowhere");
    parts_->images().import(native::test_image(), "test");
    if (!parts_->freeze_programs(Isolation::full).exist()) GTEST_SKIP() << "nothing can be frozen";
    options_.engine = EngineKind::native_linux;
    options_.image = "test";
  }

  std::unique_ptr<Backend> make() { return make_native_backend(*parts_, options_); }
  static std::string kept(Backend& sandbox, const std::string& script) {
    RunOptions options;
    options.script = script;
    options.shell = ShellState::kept;
    const RunResult result = sandbox.run(options);
    return result.stdout_data + result.stderr_data + result.reason;
  }
  static std::string python(Backend& sandbox, const std::string& source) {
    const RunResult result = sandbox.run_python(source, {});
    return result.stdout_data + result.stderr_data + result.reason;
  }
  bool has_python() const { return native::test_image_has_python(); }

  // As one that has been asked for both often enough.
  void use() {
    for (int i = 0; i < 2; ++i) {
      const auto sandbox = make();
      EXPECT_EQ(kept(*sandbox, "echo hi"), "hi\n");
      if (has_python()) {
        EXPECT_EQ(python(*sandbox, "print(1)"), "1\n");
      }
    }
  }
  bool become(std::size_t count) const {
    for (int i = 0; i < 2000 && parts_->ready_sandboxes().count() != count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return parts_->ready_sandboxes().count() == count;
  }
  std::unique_ptr<Backend> make_ready() {
    use();
    EXPECT_TRUE(become(ReadySandboxes::most_of_a_kind));
    auto made = make();
    EXPECT_FALSE(made->processes().empty());
    return made;
  }

  ImageStoreForTests store_;
  std::unique_ptr<NativeParts> parts_;
  SandboxOptions options_;
};

TEST_F(ReadySandboxesTest, AreThereOnceTheirKindIsWantedAgain) {
  {
    const auto first = make();
    EXPECT_EQ(kept(*first, "x=first; echo $x"), "first\n");
    EXPECT_TRUE(become(0));
  }
  const auto second = make();
  ASSERT_TRUE(become(ReadySandboxes::most_of_a_kind));
  const auto one = make(), other = make();
  EXPECT_EQ(one->processes().size(), 1U);
  EXPECT_EQ(kept(*one, "echo $x; x=one; echo one >file"), "\n");
  EXPECT_EQ(kept(*other, "echo $x; ls"), "\n");
  EXPECT_EQ(kept(*one, "echo $x; cat file"), "one\none\n");
}

TEST_F(ReadySandboxesTest, AreAsThoseThatStartAtTheirFirstUse) {
  const auto usual = std::make_unique<NativeBackend>(*parts_, options_);
  const auto ready = make_ready();
  const std::string shell = kept(*usual, look_of_shell);
  EXPECT_NE(shell.find("HOME"), std::string::npos);
  EXPECT_EQ(kept(*ready, look_of_shell), shell);
  if (!has_python()) return;
  const std::string looks = python(*usual, look_of_python);
  EXPECT_NE(looks.find("HOME"), std::string::npos);
  EXPECT_EQ(python(*ready, look_of_python), looks);
}

TEST_F(ReadySandboxesTest, TheTimeOfTheirShellBeginsWithTheFirstScript) {
  const auto sandbox = make_ready();
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_LT(std::stoi(kept(*sandbox, "echo $SECONDS")), 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_GE(std::stoi(kept(*sandbox, "echo $SECONDS")), 2);
}

TEST_F(ReadySandboxesTest, AreForNoOtherOptions) {
  use();
  ASSERT_TRUE(become(ReadySandboxes::most_of_a_kind));
  const SandboxOptions usual = options_;
  const auto expect_another = [&](const std::function<void(SandboxOptions&)>& change) {
    options_ = usual;
    change(options_);
    EXPECT_TRUE(make()->processes().empty());
  };
  expect_another([](SandboxOptions& options) { options.open_file_limit = 100; });
  expect_another([](SandboxOptions& options) { options.memory_limit_bytes /= 2; });
  expect_another([](SandboxOptions& options) { options.environment["NAME"] = "value"; });
  expect_another([](SandboxOptions& options) { options.home = "/home/other"; });
  expect_another([](SandboxOptions& options) { options.user = "1000"; });
  expect_another([](SandboxOptions& options) { options.timeout = std::chrono::seconds(1); });
  expect_another([](SandboxOptions& options) { options.cpus = 1; });
  expect_another([](SandboxOptions& options) { options.network.deny = {"*"}; });
  expect_another([](SandboxOptions& options) { options.network.audit = [](const auto&) {}; });
  expect_another([](SandboxOptions& options) { options.network.allow = {"localhost:9"}; });
}

TEST_F(ReadySandboxesTest, StartAnewWhereTheirStartWouldBeAnother) {
  const auto sandbox = make_ready();
  sandbox->set_environment("NAME", "value");
  EXPECT_EQ(kept(*sandbox, "echo $NAME"), "value\n");
  if (!has_python()) return;
  EXPECT_EQ(python(*sandbox, "import os; print(os.environ['NAME'])"), "value\n");
  const auto other = make_ready();
  RunOptions folder;
  folder.argv = {"python3", "-c", "import os; print(os.path.dirname(os.__file__), end='')"};
  const std::string path = other->run(folder).stdout_data + "/sitecustomize.py";
  FileBackend& files = other->files(Account::root);
  (void)files.remove(path);  // where it is a link to nowhere
  ASSERT_TRUE(files.write(path, "import sys; sys.mine = 'mine'", 0644).ok());
  EXPECT_EQ(python(*other, "import sys; print(sys.mine)"), "mine\n");
}

TEST_F(ReadySandboxesTest, AreOfTheImageThatTheNameMeansNow) {
  use();
  ASSERT_TRUE(become(ReadySandboxes::most_of_a_kind));
  {
    const auto sandbox = make();
    EXPECT_EQ(kept(*sandbox, "echo new >/etc/new"), "");
    EXPECT_TRUE(sandbox->commit_image("test").ok());
  }
  EXPECT_EQ(kept(*make(), "cat /etc/new"), "new\n");
  parts_->images().remove("test");
  EXPECT_THROW((void)make(), Error);
}

// Of a package whose module has another name, and a pip that has nothing to do, and is asked once.
TEST_F(ReadySandboxesTest, ImportThePackagesOfTheirOptions) {
  if (!has_python()) GTEST_SKIP() << "this machine has no python3";
  {
    const auto sandbox = make();
    EXPECT_EQ(python(*sandbox,
                     "import os\nplace = os.path.dirname(os.__file__)\n"
                     "def write(name, text):\n"
                     "  os.makedirs(os.path.dirname(place + name), exist_ok=True)\n"
                     "  open(place + name, 'w').write(text)\n"
                     "write('/pip/__main__.py', 'open(\\'/workspace/asked\\', \\'w\\')')\n"
                     "write('/own_module/__init__.py', 'import os\\nvalue = os.getpid()')\n"
                     "write('/broken.py', '1 / 0')\n"
                     "for name, module in ('own', 'own_module'), ('broken', 'broken'):\n"
                     "  info = '/%s-1.0.dist-info/' % name\n"
                     "  write(info + 'METADATA', 'Name: %s\\nVersion: 1.0\\n' % name)\n"
                     "  write(info + 'top_level.txt', module + '\\n')"),
              "");
    ASSERT_TRUE(sandbox->commit_image("packaged").ok());
  }
  options_.image = "packaged";
  options_.packages = {"Own >= 1", "broken", "not-there"};
  const auto imported = [](Backend& sandbox) {
    return python(sandbox,
                  "import sys; print('own_module' in sys.modules, 'broken' in sys.modules)");
  };
  EXPECT_EQ(kept(*make(), "ls"), "asked\n");
  std::string said;
  for (int i = 0; i < 100 && said != "True False\n"; ++i) {
    const auto sandbox = make();
    said = imported(*sandbox);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(said, "True False\n");
  EXPECT_EQ(kept(*make(), "ls"), "");
  options_.environment["PATH"] = "/bin:/usr/bin";  // where another Python may be
  EXPECT_EQ(kept(*make(), "ls"), "asked\n");
  options_.environment.clear();
  options_.packages.clear();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(imported(*make()), "False False\n");
}

TEST_F(ReadySandboxesTest, ThatAreCancelledBeforeTheirFirstUseHaveIt) {
  const auto sandbox = make_ready();
  sandbox->cancel();
  EXPECT_EQ(kept(*sandbox, "echo hi"), "hi\n");
  if (has_python()) {
    EXPECT_EQ(python(*sandbox, "print(1)"), "1\n");
  }
}

TEST_F(ReadySandboxesTest, PassNothingToForksThatWasNotUsed) {
  const auto sandbox = make_ready();
  const auto twin = sandbox->fork([] {});
  EXPECT_TRUE(twin->processes().empty());
  EXPECT_EQ(kept(*twin, "echo hi"), "hi\n");
  if (has_python()) {
    EXPECT_EQ(python(*twin, "print(1)"), "1\n");
  }
}

TEST_F(ReadySandboxesTest, AreNoneWhereNothingIsUsed) {
  for (int i = 0; i < 3; ++i) {
    RunOptions options;
    options.script = "echo hi";
    EXPECT_EQ(make()->run(options).stdout_data, "hi\n");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(parts_->ready_sandboxes().count(), 0U);
}

TEST_F(ReadySandboxesTest, StartOnlyWhatIsUsedLately) {
  use();
  std::unique_ptr<Backend> sandbox;
  for (std::uint64_t i = 0; i <= ReadySandboxes::memory + ReadySandboxes::most_of_a_kind; ++i) {
    sandbox = make();
    EXPECT_EQ(kept(*sandbox, "echo hi"), "hi\n");
    ASSERT_TRUE(become(ReadySandboxes::most_of_a_kind));
  }
  EXPECT_EQ(make()->processes().size(), 1U);
}

TEST_F(ReadySandboxesTest, EndWithTheEngine) {
  use();
  ASSERT_TRUE(become(ReadySandboxes::most_of_a_kind));
  parts_->ready_sandboxes().end();
  EXPECT_EQ(parts_->ready_sandboxes().count(), 0U);
  EXPECT_EQ(kept(*make(), "echo hi"), "hi\n");
}

}  // namespace
}  // namespace cloche::sandbox
