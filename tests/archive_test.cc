// SPDX-License-Identifier: Apache-2.0
// Archives, the state of a sandbox as a file, and folders of programs.
#include "cloche/archive.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

constexpr std::uint64_t limit = 64 << 20;

TEST(Archive, AFolderGoesOutAndIn) {
  const auto from = make_sandbox();
  (void)from->run({.script = "mkdir -p d/sub; echo one > d/a; printf '\\377\\0' > d/sub/b; ln -s a "
                             "d/l; chmod 700 d/a"});
  std::string message;
  const Result<std::string> tar = pack(*from, "d", limit, &message);
  ASSERT_TRUE(tar) << message;
  const auto to = make_sandbox();
  ASSERT_TRUE(unpack(*to, "/tmp/new/place", *tar, &message)) << message;
  EXPECT_EQ(
      to->run({.script = "cd /tmp/new/place; cat l; od -An -tx1 sub/b; stat -c %a a"}).stdout_data,
      "one\n ff 00\n700\n");
}

TEST(Archive, OneFileWhateverItsName) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox->files().write("--help", "text"));
  std::string message;
  const Result<std::string> tar = pack(*sandbox, "--help", limit, &message);
  ASSERT_TRUE(tar) << message;
  ASSERT_TRUE(unpack(*sandbox, "copy", *tar, &message)) << message;
  EXPECT_EQ(*sandbox->files().read("copy/--help"), "text");
}

TEST(Archive, SaysWhatIsWrong) {
  const auto sandbox = make_sandbox();
  std::string message;
  EXPECT_EQ(pack(*sandbox, "nonesuch", limit, &message).error(), Errno::noent);
  EXPECT_EQ(unpack(*sandbox, "x", std::string(3000, 'x'), &message).error(), Errno::inval);
  EXPECT_NE(message.find("cannot be unpacked"), std::string::npos) << message;
  ASSERT_TRUE(sandbox->files().write("big", std::string(100'000, 'x')));
  EXPECT_EQ(pack(*sandbox, "big", 1000, &message).error(), Errno::fbig);
}

TEST(State, OfASandboxSurvivesAsBytes) {
  const auto from = make_sandbox();
  from->set_environment("NAME", "value of it");
  (void)from->run({.script = "mkdir d; echo deep > d/f; echo t > /tmp/t; chmod 600 /tmp/t"});
  std::string message;
  Result<std::string> state = export_state(*from, limit, &message);
  ASSERT_TRUE(state) << message;

  auto to = import_state(engine(), {}, *state, &message);
  ASSERT_TRUE(to) << message;
  EXPECT_EQ(
      (*to)->run({.script = "cat d/f /tmp/t; echo $NAME; stat -c %a /tmp/t /tmp"}).stdout_data,
      "deep\nt\nvalue of it\n600\n1777\n");

  (*state)[state->size() / 2] ^= 1;
  EXPECT_EQ(import_state(engine(), {}, *state, &message).error(), Errno::inval);
  EXPECT_EQ(import_state(engine(), {}, "", &message).error(), Errno::inval);
  EXPECT_NE(message.find("damaged"), std::string::npos) << message;
}

TEST(ProgramFolder, ItsProgramsComeFirst) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("cloche_programs_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  // Here `cat` is awk.
  const std::filesystem::path programs = std::filesystem::path(CLOCHE_ROOTFS_DIR) / "usr/bin";
  std::filesystem::copy_file(programs / "mawk", folder / "cat.wasm");
  std::filesystem::copy_file(programs / "mawk", folder / "my-awk.wasm");
  const auto sandbox = make_sandbox({.program_folder = folder});
  EXPECT_EQ(sandbox->run({.script = "cat 'BEGIN { print 6 * 7 }'; my-awk 'BEGIN { print 1 }'"})
                .stdout_data,
            "42\n1\n");
  EXPECT_EQ(sandbox->fork()->run({.script = "my-awk 'BEGIN { print 2 }'"}).stdout_data, "2\n");
  std::filesystem::remove_all(folder);
  EXPECT_THROW((void)make_sandbox({.program_folder = folder}), std::runtime_error);
}

}  // namespace
}  // namespace cloche::testing
