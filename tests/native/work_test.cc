// SPDX-License-Identifier: Apache-2.0
// Real work in sandboxes of the linux engine: what agents do all day, by this machine's own gcc, make,
// git and Python, in an image that is made of its packages.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cloche/engine.h"
#include "native/host/patience.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

namespace fs = std::filesystem;

// The small image, and the files of these packages with the libraries that their programs need.
constexpr const char* make_image = R"sh(
set -e
cp -a "$1" "$2"
cd "$2"
dpkg -L gcc gcc-12 cpp cpp-12 libgcc-12-dev binutils binutils-x86-64-linux-gnu libc6-dev linux-libc-dev \
  libcrypt-dev make git >list
grep '^/usr/.' list | grep -v '^/usr/share/\(doc\|man\|locale\|info\|lintian\)' | sort -u |
  tar -cf - --no-recursion -T - 2>/dev/null | tar -xf - --keep-directory-symlink
rm list
for program in usr/bin/make usr/bin/git usr/bin/*-linux-gnu-* usr/lib/gcc/*/12/*; do
  ldd "/$program" 2>/dev/null | grep -o '/[^ ]*' || true
done | sort -u | while read -r library; do
  mkdir -p ".$(dirname "$library")"
  [ -e ".$library" ] || cp -L "$library" ".$library"
done
)sh";

class Work : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!no_boxes_here().empty()) return;
    std::string name = (fs::temp_directory_path() / "cloche-work-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return;
    folder = name;
    fs::permissions(folder, fs::perms(0755));
    std::ofstream(folder / "make.sh") << make_image;
    const std::string script = fmt::format(
        "cd {0} && bash make.sh {1} {0}/files >log 2>&1 && CLOCHE_IMAGES={0}/images {2} "
        "image import {0}/files --name work >>log 2>&1",
        folder.string(), test_image().string(), CLOCHE_BINARY_DIR "/bin/cloche");
    is_made = std::system(script.c_str()) == 0;
    ::setenv("CLOCHE_IMAGES", (folder / "images").c_str(), 1);
  }
  static void TearDownTestSuite() {
    std::error_code error;
    if (!folder.empty()) fs::remove_all(folder, error);
  }

  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    if (!is_made) GTEST_SKIP() << "this machine has not the packages of gcc, make and git";
    engine_ = std::make_unique<Engine>(EngineOptions{});
    sandbox_ = engine_->create({.engine = EngineKind::native_linux, .image = "work"});
  }

  std::string run(const std::string& script) {
    const RunResult result = sandbox_->run({.script = script});
    return result.stdout_data + result.stderr_data + result.reason;
  }

  static fs::path folder;
  static bool is_made;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Sandbox> sandbox_;
};
fs::path Work::folder;
bool Work::is_made = false;

TEST_F(Work, AProjectInCIsBuiltAndTested) {
  ASSERT_TRUE(sandbox_->files().write("p/add.c", "int add(int a, int b) { return a + b; }\n").ok());
  ASSERT_TRUE(sandbox_->files()
                  .write("p/test.c",
                         "#include <stdio.h>\nint add(int, int);\n"
                         "int main(void) { puts(add(2, 3) == 5 ? \"ok\" : \"wrong\"); }\n")
                  .ok());
  ASSERT_TRUE(sandbox_->files()
                  .write("p/Makefile",
                         "CC = gcc\ntest: build\n\t./build\nbuild: add.o test.o\n\t$(CC) -o $@ $^\n"
                         "clean:\n\trm -f *.o build\n")
                  .ok());
  const std::string said = run("make -s -j4 -C p test");
  EXPECT_EQ(said, "ok\n");
  EXPECT_EQ(run("cd p && sed -i 's/a + b/a - b/' add.c && make -s test && make -s clean && ls"),
            "wrong\nMakefile\nadd.c\ntest.c\n");
}

TEST_F(Work, ACloneIsEditedAndCommitted) {
  EXPECT_EQ(run("git config --global user.name A; git config --global user.email a@b.c; "
                "git init -q -b main --bare o.git && git clone -q o.git w 2>/dev/null && cd w && "
                "echo one >f && git add f && git commit -qm first && echo two >>f && "
                "git commit -qam second && git push -q origin main && git log --format=%s && "
                "git diff --stat HEAD~1 | tail -1"),
            "second\nfirst\n 1 file changed, 1 insertion(+)\n");
  const std::unique_ptr<Sandbox> twin = sandbox_->fork();
  EXPECT_EQ(twin->run({.script = "cd w && git reset -q --hard HEAD~1 && cat f"}).stdout_data,
            "one\n");
  EXPECT_EQ(run("cat w/f"), "one\ntwo\n");
}

TEST_F(Work, AServerOfOneRunIsUsedInTheNext) {
  if (!test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  run("echo hello >index.txt; mkfifo up; python3 -c \"\n"
      "import http.server, socketserver\n"
      "server = socketserver.TCPServer(('127.0.0.1', 80), http.server.SimpleHTTPRequestHandler)\n"
      "open('up', 'w').close()\n"
      "server.serve_forever()\" >log 2>&1 & echo $! >pid; read _ <up; true");
  EXPECT_EQ(run("exec 3<>/dev/tcp/127.0.0.1/80; printf 'GET /index.txt HTTP/1.0\\r\\n\\r\\n' >&3; "
                "tail -n 1 <&3; kill $(cat pid) && echo ended"),
            "hello\nended\n");
}

struct Process {
  pid_t parent = 0;
  std::string began;  // numbers of processes come again
};

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos) continue;
    std::istringstream fields(stat.substr(end + 1));
    std::string state, rest;
    Process& process = found[std::stoi(name)];
    fields >> state >> process.parent;
    for (int field = 5; field < 22; ++field) fields >> rest;
    fields >> process.began;
  }
  return found;
}

std::map<pid_t, Process> family_of(pid_t ancestor) {
  const std::map<pid_t, Process> all = all_processes();
  std::map<pid_t, Process> found;
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [pid, process] : all) {
      if (process.parent == ancestor || found.contains(process.parent))
        grows = found.emplace(pid, process).second || grows;
    }
  }
  return found;
}

// Those of other namespaces than this process's own, as far as they may be seen.
std::set<std::string> namespaces_of(const std::map<pid_t, Process>& processes) {
  std::set<std::string> found;
  for (const auto& [pid, process] : processes) {
    for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
      std::error_code error;
      const std::string own = fs::read_symlink(fmt::format("/proc/self/ns/{}", kind), error);
      const std::string its = fs::read_symlink(fmt::format("/proc/{}/ns/{}", pid, kind), error);
      if (!its.empty() && its != own) found.insert(its);
    }
  }
  return found;
}

std::size_t left_of(const std::map<pid_t, Process>& family, const std::set<std::string>& spaces) {
  const std::map<pid_t, Process> now = all_processes();
  std::size_t left = 0;
  for (const auto& [pid, process] : family) {
    const auto same = now.find(pid);
    if (same != now.end() && same->second.began == process.began) ++left;
  }
  for (const std::string& space : namespaces_of(now)) left += spaces.count(space);
  return left;
}

std::size_t descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST_F(Work, FiftyAtOnceLeaveNothing) {
  constexpr int count = 50;
  sandbox_.reset();
  engine_.reset();
  const std::size_t before = descriptors();
  std::map<pid_t, Process> family;
  std::set<std::string> spaces;
  {
    Engine engine(EngineOptions{});
    std::vector<std::unique_ptr<Sandbox>> all(count);
    std::atomic<int> well = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
          auto& sandbox = all[static_cast<std::size_t>(i)];
          sandbox = engine.create({.engine = EngineKind::native_linux, .image = "work"});
          const auto said = [&](const std::string& script) {
            return sandbox->run({.script = script}).stdout_data;
          };
          (void)said(
              fmt::format("git init -q -b main r; cd r; echo {} >f; git add f; "
                          "git -c user.name=A -c user.email=a@b.c commit -qm {}; setsid sleep "
                          "10000 & echo $! >pid",
                          i, i));
          if (said("kill -0 $(cat r/pid) && cat r/f && git -C r log --format=%s") ==
              fmt::format("{0}\n{0}\n", i))
            ++well;
        });
      }
    }
    EXPECT_EQ(well, count);
    family = family_of(::getpid());
    spaces = namespaces_of(family);
    EXPECT_GT(family.size(), 2U * count);
  }
  EXPECT_EQ(descriptors(), before);
  // What mounts folders, where root runs this, ends a moment after the rest. Once nothing was left,
  // a namespace of another test may have the number of one of these.
  const auto end = std::chrono::steady_clock::now() + patience;
  std::size_t left = left_of(family, spaces);
  while (left != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    left = left_of(family, spaces);
  }
  EXPECT_EQ(left, 0U);
}

}  // namespace
}  // namespace cloche::native
