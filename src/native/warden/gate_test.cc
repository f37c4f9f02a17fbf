// SPDX-License-Identifier: Apache-2.0
#include "native/warden/gate.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "native/warden/fd.h"

namespace cloche::warden {
namespace {

struct stat about(const char* path) {
  struct stat of{};
  EXPECT_EQ(::stat(path, &of), 0) << path;
  return of;
}

std::string line(const char* path, const char* use) {
  const struct stat of = about(path);
  return std::to_string(of.st_dev) + " " + std::to_string(of.st_ino) + " " + use + "\n";
}

Fd folder(const char* path) { return Fd(::open(path, O_PATH | O_CLOEXEC)); }

TEST(Gate, IsOpenWhereNobodySaysAnything) {
  const Gate open(nullptr);
  EXPECT_TRUE(open.lets_mount(about("/"), false));
  EXPECT_TRUE(open.lets_image(folder("/").get()));
  EXPECT_TRUE(open.lets_begin_with(folder("/").get()));
  EXPECT_TRUE(open.lets_run(folder("/").get()));
}

TEST(Gate, LetsThroughWhatIsNamedAndNoMore) {
  const std::string text =
      line("/usr", "ro") + line("/tmp", "rw") + line("/bin/sh", "gvisor") + "/usr/lib\n";
  const Gate gate(text.c_str());
  EXPECT_TRUE(gate.lets_mount(about("/usr"), true));
  EXPECT_FALSE(gate.lets_mount(about("/usr"), false));
  EXPECT_TRUE(gate.lets_mount(about("/tmp"), true));
  EXPECT_TRUE(gate.lets_mount(about("/tmp"), false));
  EXPECT_FALSE(gate.lets_mount(about("/"), true));
  EXPECT_FALSE(gate.lets_mount(about("/usr/lib"), true));
  EXPECT_FALSE(gate.lets_mount(about("/bin/sh"), true));
  EXPECT_TRUE(gate.lets_run(folder("/bin/sh").get()));
  EXPECT_FALSE(gate.lets_run(folder("/usr").get()));
  EXPECT_TRUE(gate.lets_image(folder("/usr/lib/..//lib/os-release").get()));
  EXPECT_FALSE(gate.lets_image(folder("/usr/lib").get()));
  EXPECT_FALSE(gate.lets_image(folder("/usr").get()));
  EXPECT_FALSE(gate.lets_image(folder("/usr/libexec").get()));
  EXPECT_FALSE(gate.lets_image(folder("/").get()));
  EXPECT_FALSE(gate.lets_image(-1));
  for (const char* mounted : {"/", "/tmp", "/dev", "/proc"})
    EXPECT_FALSE(gate.lets_begin_with(folder(mounted).get())) << mounted;
}

TEST(Gate, ThatMakesNoSenseLetsNothingThrough) {
  for (const std::string& text :
       {std::string(), std::string("\n"), line("/usr", "ro") + "x\n", line("/usr", "r"),
        line("/usr", "ro") + "\n", "1 " + line("/usr", "ro"), std::string("-1 2 ro\n")}) {
    const Gate gate(text.c_str());
    EXPECT_FALSE(gate.lets_mount(about("/usr"), true)) << text;
    EXPECT_FALSE(gate.lets_image(folder("/usr/lib").get())) << text;
    EXPECT_FALSE(gate.lets_begin_with(folder("/usr").get())) << text;
  }
  std::string many;
  for (std::size_t i = 0; i <= most_gate_files; ++i) many += line("/usr", "ro");
  EXPECT_FALSE(Gate(many.c_str()).lets_mount(about("/usr"), true));
}

}  // namespace
}  // namespace cloche::warden
