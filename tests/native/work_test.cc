// SPDX-License-Identifier: Apache-2.0
// Real work in sandboxes of the linux engine: what agents do all day, by this machine's own gcc, make,
// git and Python, in an image that is made of its packages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cloche/engine.h"
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

}  // namespace
}  // namespace cloche::native
