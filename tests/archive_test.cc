// SPDX-License-Identifier: Apache-2.0
// Archives, the state of a sandbox as a file, and folders of programs.
#include "cloche/archive.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stop_token>

#include "base/random.h"
#include "base/sha256.h"
#include "base/temp_dir_testing.h"
#include "sandbox_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::testing {
namespace {

constexpr std::uint64_t limit = 64 << 20;

TEST(Archive, AFolderGoesOutAndIn) {
  const auto from = make_sandbox();
  (void)from->run({.script = "mkdir -p d/sub; echo one > d/a; printf '\\377\\0' > d/sub/b; ln -s a "
                             "d/l; chmod 700 d/a"});
  const auto tar = pack(*from, "d", limit);
  ASSERT_TRUE(tar) << tar.error().sentence();
  const auto to = make_sandbox();
  ASSERT_TRUE(unpack(*to, "/tmp/new/place", *tar));
  EXPECT_EQ(
      to->run({.script = "cd /tmp/new/place; cat l; od -An -tx1 sub/b; stat -c %a a"}).stdout_data,
      "one\n ff 00\n700\n");
}

TEST(Archive, OneFileWhateverItsName) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox->files().write("--help", "text"));
  const auto tar = pack(*sandbox, "--help", limit);
  ASSERT_TRUE(tar) << tar.error().sentence();
  ASSERT_TRUE(unpack(*sandbox, "copy", *tar));
  EXPECT_EQ(*sandbox->files().read("copy/--help"), "text");
}

TEST(Archive, SaysWhatIsWrong) {
  const auto sandbox = make_sandbox();
  EXPECT_EQ(pack(*sandbox, "nonesuch", limit).error(), Errno::noent);
  const auto unpacked = unpack(*sandbox, "x", std::string(3000, 'x'));
  EXPECT_EQ(unpacked.error(), Errno::inval);
  EXPECT_NE(unpacked.error().sentence().find("cannot be unpacked"), std::string::npos)
      << unpacked.error().sentence();
  ASSERT_TRUE(sandbox->files().write("big", std::string(100'000, 'x')));
  EXPECT_EQ(pack(*sandbox, "big", 1000).error(), Errno::fbig);
}

TEST(Archive, StopsWhenItIsAskedTo) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox->files().write("d/file", "text"));
  const auto tar = pack(*sandbox, "d", limit);
  ASSERT_TRUE(tar) << tar.error().sentence();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(pack(*sandbox, "d", limit, stop.get_token()).error(), Errno::canceled);
  EXPECT_EQ(unpack(*sandbox, "new", *tar, stop.get_token()).error(), Errno::canceled);
}

TEST(State, OfASandboxSurvivesAsBytes) {
  const auto from = make_sandbox();
  from->set_environment("NAME", "value of it");
  (void)from->run({.script = "mkdir d; echo deep > d/f; echo t > /tmp/t; chmod 600 /tmp/t"});
  auto state = export_state(*from, limit);
  ASSERT_TRUE(state) << state.error().sentence();

  auto to = import_state(engine(), {}, *state);
  ASSERT_TRUE(to) << to.error().sentence();
  EXPECT_EQ(
      (*to)->run({.script = "cat d/f /tmp/t; echo $NAME; stat -c %a /tmp/t /tmp"}).stdout_data,
      "deep\nt\nvalue of it\n600\n1777\n");

  (*state)[state->size() / 2] ^= 1;
  EXPECT_EQ(import_state(engine(), {}, *state).error(), Errno::inval);
  const auto empty = import_state(engine(), {}, "");
  EXPECT_EQ(empty.error(), Errno::inval);
  EXPECT_NE(empty.error().sentence().find("damaged"), std::string::npos)
      << empty.error().sentence();
}

TEST(State, HasWhatNoTarHas) {
  const std::string deep = "p=$(printf 'deep/%.0s' {1..600}); ";
  const auto from = make_sandbox();
  const RunResult made = from->run(
      {.script =
           "echo secret > f; chmod 0 f; ln f g; truncate -s 1G sparse; mkfifo p; ln -s nowhere l; "
           "touch -d '2001-02-03 04:05:06' f; umask 077; " +
           deep + "for i in 1 2 3; do mkdir -p $p; cd $p; done; echo ground > file"});
  ASSERT_EQ(made.exit_code, 0) << made.stderr_data;
  const auto state = export_state(*from, limit);
  ASSERT_TRUE(state) << state.error().sentence();
  EXPECT_LT(state->size(), 1U << 20);
  auto to = import_state(engine(), {}, *state);
  ASSERT_TRUE(to) << to.error().sentence();
  const std::string look =
      "stat -c '%n %a %s %h %Y %F' f g sparse p l; du -k sparse | cut -f1; chmod 600 f; cat g; " +
      deep + "for i in 1 2 3; do cd $p; done; cat file";
  const std::string there = from->run({.script = look}).stdout_data;
  EXPECT_TRUE(there.ends_with("secret\nground\n")) << there;
  EXPECT_EQ((*to)->run({.script = look}).stdout_data, there);
  EXPECT_EQ((*to)->usage().file_bytes, from->usage().file_bytes);
}

TEST(State, OfTheReleaseBeforeIsRead) {
  const auto from = make_sandbox();
  ASSERT_TRUE(from->files().write("d/f", "kept"));
  const std::string tar = from->run({.script = "cd /; tar -cf - workspace"}).stdout_data;
  std::string state =
      "cloche sandbox state 1\n{\"environment\":{\"NAME\":\"x\"},\"packages\":[]}\n" + tar;
  Sha256 digest;
  digest.add(state);
  for (const std::uint8_t byte : digest.end()) state += static_cast<char>(byte);
  const auto to = import_state(engine(), {}, state);
  ASSERT_TRUE(to) << to.error().sentence();
  EXPECT_EQ((*to)->run({.script = "cat d/f; echo $NAME"}).stdout_data, "keptx\n");
}

// As a file is whose end was moved, which costs nobody anything on the disk.
TEST(State, OfTheReleaseBeforeIsNoLongerThanItsFilesMayBe) {
  const std::string_view head = "cloche sandbox state 1\n{\"environment\":{},\"packages\":[]}\n";
  constexpr std::uint64_t enough = 64 << 20;
  std::uint64_t taken = 0;
  const ByteSource endless = [&](std::span<std::byte> to) -> Result<std::size_t> {
    for (std::byte& one : to) one = std::byte(taken < head.size() ? head[taken] : '\0'), ++taken;
    return taken < enough ? to.size() : 0;
  };
  const SandboxOptions options{.file_limit_bytes = 1 << 20, .file_limit_inodes = 100};
  EXPECT_EQ(import_state(engine(), options, endless).error(), Errno::nospc);
  EXPECT_LT(taken, enough);
}

TEST(State, TakesNoMoreThanTheOptionsAllow) {
  const auto from = make_sandbox();
  ASSERT_TRUE(from->files().write("big", std::string(1 << 20, 'x')));
  EXPECT_EQ(export_state(*from, 1000).error(), Errno::fbig);
  const auto state = export_state(*from, limit);
  ASSERT_TRUE(state) << state.error().sentence();
  const SandboxOptions small{.file_limit_bytes = 1 << 19};
  EXPECT_EQ(import_state(engine(), small, *state).error(), Errno::nospc);
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

// A folder of programs that guests have by a mount, too.
class ProgramFolderOfGuests : public ::testing::Test {
 protected:
  ProgramFolderOfGuests() {
    std::filesystem::create_directory(folder_);
    outer_.write("secret", "secret");
    // As no other, so that it is compiled.
    const auto tiny = wasm::from_wat("(module (memory 1) (data (i32.const 0) \"" + random_hex(16) +
                                     "\") (func (export \"_start\")))");
    outer_.write("programs/tiny.wasm", {reinterpret_cast<const char*>(tiny.data()), tiny.size()});
  }
  SandboxOptions options() const {
    return {.mounts = {{folder_, "/programs", Mount::Access::read_write}},
            .program_folder = folder_};
  }

  const TempDir outer_;
  const std::filesystem::path folder_ = outer_.path() / "programs";
};

TEST_F(ProgramFolderOfGuests, NoLinkLeadsOut) {
  std::filesystem::create_symlink("tiny.wasm", folder_ / "same.wasm");
  EXPECT_EQ(make_sandbox(options())
                ->run({.script = "same && ln -s ../secret /programs/x.wasm"})
                .exit_code,
            0);
  try {
    (void)make_sandbox(options());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errno::acces);
  }
}

TEST_F(ProgramFolderOfGuests, AProgramIsWhatItWasWhenTheSandboxWasMade) {
  const auto sandbox = make_sandbox(options());
  EXPECT_EQ(sandbox
                ->run({.script = "cp /programs/tiny.wasm /tmp; truncate -s 0 /programs/tiny.wasm; "
                                 "cmp /usr/local/programs/tiny /tmp/tiny.wasm && tiny"})
                .exit_code,
            0);
}

TEST_F(ProgramFolderOfGuests, ProgramsAreCompiledByTheSandboxsMeans) {
  SandboxOptions small = options();
  small.memory_limit_bytes = 48 << 20;
  EXPECT_THAT(make_sandbox(small)->run({.script = "tiny"}).stderr_data,
              ::testing::HasSubstr("Cannot allocate memory"));
  EXPECT_EQ(make_sandbox(options())->run({.script = "tiny"}).exit_code, 0);
}

}  // namespace
}  // namespace cloche::testing
