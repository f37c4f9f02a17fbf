// SPDX-License-Identifier: Apache-2.0
// The program itself: what it does with what it is given that is wrong, and where its output cannot
// go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/temp_dir_testing.h"
#include "program_testing.h"

namespace cloche::testing {
namespace {

Ended cloche(const std::string& line) { return bash("$CLOCHE " + line); }

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CliProgram, AWrongOptionIsOneSentence) {
  for (const char* line :
       {"--bogus", "bogus", "run", "run --bogus x", "run --mount /nonexistent:/x true",
        "run --mount /tmp:relative true", "run --memory abc true", "run --timeout -5 true",
        "run --env NOEQ true", "run --out x true", "image show /etc/passwd", "serve --port 99999",
        "run --cpus 0 true", "serve --session-memory 12x", "serve --session-net 'no rule'",
        "serve --session-bogus 1", "serve --allow-session-bogus 1", "serve --allow-session-env A=1",
        "serve --allow-session-net 'no rule'"}) {
    const Ended ended = cloche(line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_EQ(lines_of(ended.said), 1U) << line << ": " << ended.said;
    EXPECT_TRUE(ended.said.starts_with("cloche")) << ended.said;
  }
}

TEST(CliProgram, AWrongWordIsSaidByWhatItIs) {
  EXPECT_EQ(cloche("mcp --timeout 5").said,
            "cloche: '--timeout' is nothing that mcp takes; see cloche mcp --help\n");
  EXPECT_EQ(cloche("run --timeout").said,
            "cloche: --timeout wants a value; see cloche run --help\n");
  EXPECT_EQ(cloche("run --timeout 1s --timeout 2s true").said,
            "cloche: --timeout may be said once; see cloche run --help\n");
  EXPECT_EQ(cloche("run --user root true").said,
            "cloche: root is a user of the system: choose another name\n");
  EXPECT_THAT(cloche("run --net http://x true").said, ::testing::HasSubstr("address of a page"));
  const Ended no_key = bash(
      "F=$(mktemp -d); ln -s loop $F/loop; $CLOCHE serve --port 0 --ssh-port 0 --ssh-host-key "
      "$F/loop/key; rm -r $F");
  EXPECT_THAT(no_key.said, ::testing::HasSubstr("name another file by --ssh-host-key"));
  EXPECT_THAT(cloche("image build --exec /tmp -o /tmp/x").said,
              ::testing::HasSubstr("cannot read /tmp"));
  EXPECT_THAT(bash("CLOCHE_WHEELS=/nope $CLOCHE run true").said,
              ::testing::HasSubstr("CLOCHE_WHEELS is /nope, which is no folder"));
}

TEST(CliProgram, EachCommandHasItsHelp) {
  for (const char* name : {"skill", "version", "serve", "image", "doctor"})
    EXPECT_EQ(cloche(std::string("help ") + name).status, 0) << name;
}

TEST(CliProgram, OutputThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(cloche("--version >/dev/full").status, 2);
  EXPECT_EQ(cloche("run 'echo hello' >/dev/full").status, 2);
  EXPECT_EQ(cloche("run --bogus 2>&-; exit $?").status, 2);
  EXPECT_EQ(cloche("run --trace-syscalls true 2>/dev/full; exit $?").status, 0);
  // Whose reader has gone ends as a command would.
  EXPECT_EQ(cloche("run 'yes' | head -n 1").said, "y\n");
  for (const char* line : {"help", "help run", "help serve", "licenses", "skill run"}) {
    const Ended ended = bash(std::string("exec 3> >(true); wait $!; $CLOCHE ") + line + " >&3");
    EXPECT_EQ(ended.status, 141) << line;
    EXPECT_EQ(ended.said, "") << line;
  }
}

TEST(CliProgram, AClosedInputIsAnEmptyOne) {
  const Ended ended = cloche("run --stdin 'cat; echo \"<$?>\"' <&-");
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.said, "<0>\n");
  EXPECT_EQ(cloche("run 'echo hello' >&-; exit $?").status, 2);
}

TEST(CliProgram, ADeviceIsWrittenToAndNotReplaced) {
  const TempDir folder;
  const std::string fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Ended ended =
      cloche("run --out /tmp/f:" + fifo + " 'echo hello >/tmp/f' & cat " + fifo + "; wait $!");
  EXPECT_EQ(ended.said, "hello\n");
  struct stat now{};
  EXPECT_EQ(::stat(fifo.c_str(), &now), 0);
  EXPECT_TRUE(S_ISFIFO(now.st_mode));
}

TEST(CliProgram, AFileThatIsCopiedOutReplacesThatOneAlone) {
  const TempDir folder;
  const std::string file = folder.path() / "out", link = file + "-link";
  write_text(file, "old\n");
  write_text(file + ".part", "mine\n");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
  for (const std::string& target : {file, link}) {
    EXPECT_EQ(cloche("run --out a:" + target + " 'echo " + target + " >a'").status, 0);
    EXPECT_EQ(bash("cat " + file + " " + file + ".part; stat -c %a " + file).said,
              target + "\nmine\n640\n");
    EXPECT_EQ(bash("ls -d " + file + "* | wc -l; readlink " + link).said, "3\n" + file + "\n");
  }
  const std::string fresh = file + "-new";
  EXPECT_EQ(
      bash("umask 027; $CLOCHE run --out a:" + fresh + " 'echo 1 >a'; stat -c %a " + fresh).said,
      "640\n");
}

// A folder that guests have by a mount, and one of the user's beside it.
struct Shared {
  explicit Shared(const std::string& within) {
    EXPECT_TRUE(std::filesystem::create_directories(of_guest + "/" + within));
    EXPECT_TRUE(std::filesystem::create_directories(other));
    write_text(other + "/kept", "mine\n");
  }

  const TempDir folder;
  const std::string of_guest = folder.path() / "shared", other = folder.path() / "other";
};

void expect_link_refused(const Ended& ended, const std::string& command) {
  EXPECT_NE(ended.status, 0) << command;
  EXPECT_THAT(ended.said, ::testing::HasSubstr("a link in a folder that guests may write to"))
      << command;
}

// It has both folders by its mount, and may do with them what it likes.
TEST(CliProgram, AGuestDoesNotSayWhereOnThisMachineAFileIsCopiedTo) {
  const Shared shared("sub");
  const std::string &of_guest = shared.of_guest, &other = shared.other;
  const Ended ended =
      cloche("run --mount " + of_guest + ":/shared --out a:" + of_guest + "/a --out a:" + of_guest +
             "/sub/kept --out a:" + other +
             "/b 'echo theirs >a; ln -s ../other/kept /shared/a; mv /shared/sub /shared/moved; "
             "ln -s ../other /shared/sub'");
  EXPECT_NE(ended.status, 0);
  EXPECT_EQ(ended.said,
            "cloche: --out: " + of_guest +
                "/sub/kept is not there: the sandbox has moved it, or its folder, while "
                "it was written\n");
  EXPECT_EQ(bash("cat " + other + "/kept " + other + "/b; test -L " + of_guest + "/a || cat " +
                 of_guest + "/a; cat " + of_guest + "/moved/kept")
                .said,
            "mine\ntheirs\ntheirs\ntheirs\n");
}

// What a guest has left in a folder for the next one.
TEST(CliProgram, AnEarlierGuestDoesNotSayEither) {
  const Shared shared("real");
  const std::string &of_guest = shared.of_guest, &other = shared.other;
  const std::string run = "run --mount " + of_guest + ":/shared ";
  ASSERT_EQ(
      cloche(run + "'cd /shared; ln -s ../other/kept a; ln -s ../other up; ln -s real in'").status,
      0);
  for (const std::string& refused :
       {run + "--out x:" + of_guest + "/a 'echo theirs >x'",
        run + "--out x:" + of_guest + "/up/kept 'echo theirs >x'",
        run + "--file " + of_guest + "/a", run + "--mount " + of_guest + "/up:/up 'cat /up/kept'",
        run + "--image " + of_guest + "/a true", "image import " + of_guest + "/a --name a",
        "image commit --state " + of_guest + "/a a",
        "image build --mount " + of_guest + ":/shared -o " + of_guest + "/up/kept"}) {
    expect_link_refused(cloche(refused), refused);
  }
  EXPECT_EQ(cloche(run + "--out x:" + of_guest + "/in/b 'echo theirs >x'").status, 0);
  EXPECT_EQ(bash("cat " + other + "/kept " + of_guest + "/real/b; ls " + other).said,
            "mine\ntheirs\nkept\n");
}

// Nor does one of another command, which had the folder by a mount that this one does not name.
TEST(CliProgram, NorOneOfAnEarlierCommand) {
  const Shared shared("real");
  const std::string &of_guest = shared.of_guest, &other = shared.other;
  const std::string cache = shared.folder.path() / "cache";
  const auto run = [&](const std::string& words) {
    return bash("CLOCHE_CACHE=" + cache + " $CLOCHE run " + words);
  };
  ASSERT_EQ(run("--mount " + of_guest +
                ":/shared 'cd /shared; ln -s ../other/kept a; ln -s ../other up; ln -s real in'")
                .status,
            0);
  for (const std::string& refused :
       {"--out x:" + of_guest + "/a 'echo theirs >x'", "--file " + of_guest + "/a",
        "--mount " + of_guest + "/up:/up 'cat /up/kept'",
        "--mount " + of_guest + "/up:/up:ro 'cat /up/kept'"}) {
    expect_link_refused(run(refused), refused);
  }
  EXPECT_EQ(run("--out x:" + of_guest + "/in/b 'echo theirs >x'").status, 0);
  EXPECT_EQ(bash("cat " + other + "/kept " + of_guest + "/real/b; ls " + other).said,
            "mine\ntheirs\nkept\n");
}

// As one of a linux sandbox can make it there.
TEST(CliProgram, NobodyWaitsForAPipeOfAGuest) {
  const Shared shared("real");
  const std::string& of_guest = shared.of_guest;
  const std::string run = "run --mount " + of_guest + ":/shared ";
  ASSERT_EQ(cloche(run + "true").status, 0);
  ASSERT_EQ(bash("mkfifo " + of_guest + "/pipe").status, 0);
  for (const std::string& refused : {run + "--file " + of_guest + "/pipe",
                                     run + "--out x:" + of_guest + "/pipe 'echo theirs >x'",
                                     "image import " + of_guest + "/pipe --name a",
                                     "image commit --state " + of_guest + "/pipe a"}) {
    const Ended ended = bash("timeout 60 $CLOCHE " + refused);
    EXPECT_EQ(ended.status, 2) << refused;
    EXPECT_THAT(ended.said, ::testing::HasSubstr("it is no file, and lies in a folder that guests"))
        << refused;
  }
}

// Machine code of the cache is what this machine runs next, and a state or a token is a session.
TEST(CliProgram, AGuestHasNothingOfClochesOwnByAMount) {
  const TempDir folder;
  const std::string all = folder.path(), cache = all + "/cache";
  std::filesystem::create_directories(cache + "/modules");
  std::filesystem::permissions(cache + "/modules", std::filesystem::perms::owner_all);
  for (const std::string& host : {all, cache, cache + "/modules"}) {
    const Ended ended =
        bash("CLOCHE_CACHE=" + cache + " $CLOCHE run --mount " + host + ":/m 'ls /m'");
    EXPECT_EQ(ended.status, 2) << host;
    EXPECT_THAT(ended.said, ::testing::HasSubstr("the cache of Cloche is there")) << host;
  }
  write_text(all + "/tokens", "secret-token-of-somebody\n");
  std::filesystem::create_directories(all + "/states");
  for (const std::string& own :
       {"--state-dir " + all + "/states", "--tokens-file " + all + "/tokens",
        "--cell-key 1 --peers 127.0.0.1:9 --peer-token-file " + all + "/tokens",
        "--audit-log " + all + "/audit"}) {
    const Ended ended =
        bash("timeout 20 $CLOCHE serve --port 0 --ssh-port 0 --ssh-host-key /tmp/cloche-none/key " +
             own + " --session-mount " + all + ":/m:ro");
    EXPECT_NE(ended.status, 0) << own;
    EXPECT_THAT(ended.said, ::testing::HasSubstr("of Cloche is there")) << own;
  }
}

TEST(CliProgram, AFileThatIsCopiedToADashIsOutput) {
  const TempDir folder;
  EXPECT_EQ(bash("cd " + folder.path().string() + "; $CLOCHE run --out a:- --out b:- " +
                 "'echo said; echo one >a; echo two >b'; ls | wc -l")
                .said,
            "said\none\ntwo\n0\n");
  const Ended named = bash("cd " + folder.path().string() + "; $CLOCHE run --out a:./- " +
                           "'echo one >a'; cat ./-");
  EXPECT_EQ(named.said, "one\n");
}

TEST(CliProgram, AFileThatCannotBeCopiedOutIsSaidBeforeTheCommandRuns) {
  const TempDir folder;
  const std::string place = folder.path();
  for (const std::string& target : {place + "/none/a", place, place + "/"}) {
    const Ended ended = cloche("run --out a:" + target + " 'echo ran; touch a'");
    EXPECT_EQ(ended.status, 2) << target;
    EXPECT_EQ(lines_of(ended.said), 1U) << ended.said;
    EXPECT_THAT(ended.said, ::testing::StartsWith("cloche: --out: cannot write " + target + ": "));
  }
}

TEST(CliProgram, AFileThatCannotBeReadIsSaidWithTheReason) {
  EXPECT_EQ(cloche("serve --port 0 --tokens-file /none").said,
            "cloche serve: cannot read the tokens in /none: No such file or directory\n");
  EXPECT_EQ(cloche("serve --port 0 --tokens-file /").said,
            "cloche serve: cannot read the tokens in /: Is a directory\n");
  EXPECT_EQ(cloche("mcp --mount-tools /none").said,
            "cloche: --mount-tools: cannot read /none: No such file or directory\n");
  EXPECT_EQ(cloche("mcp --mount-tools /").said,
            "cloche: --mount-tools: cannot read /: Is a directory\n");
  EXPECT_EQ(cloche("mcp --mount-tools /dev/null").said,
            "cloche: --mount-tools: /dev/null is empty\n");
}

TEST(CliProgram, StandardInputIsTheCommandsUnlessItSaysNo) {
  EXPECT_EQ(cloche("run cat <<<''").said, "\n");
  EXPECT_EQ(cloche("run -n cat <<< hidden").said, "");
  EXPECT_EQ(cloche("run --stdin cat <<< shown").said, "shown\n");
  EXPECT_EQ(cloche("run --stdin --no-stdin cat <<< x").status, 2);
  EXPECT_EQ(cloche("run 'read -r a; read -r b; echo $b$a' <<< $'1\\n2'").said, "21\n");
  EXPECT_EQ(cloche("run \"python3 -c 'import sys; print(sys.stdin.read().upper())'\" <<< up").said,
            "UP\n\n");
  // A poll asks for input too.
  EXPECT_EQ(cloche("run 'read -t 60 -r line; echo $line' <<< soon").said, "soon\n");
  EXPECT_EQ(cloche("run 'wc -c' < /dev/null").said, "0\n");
  EXPECT_EQ(cloche("run 'stat -L -c %F /dev/stdin' < /dev/null").said, "character special file\n");
}

TEST(CliProgram, InputThatNobodyAsksForStaysWhereItIs) {
  EXPECT_EQ(
      bash("printf '%s\\n' 1 2 3 | while read -r n; do $CLOCHE run \"echo got $n\"; done").said,
      "got 1\ngot 2\ngot 3\n");
  // One that stays open and brings nothing holds nobody up, neither does one that never ends.
  const TempDir folder;
  const std::string fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(cloche("run 'echo done' <> " + fifo).said, "done\n");
  EXPECT_EQ(cloche("run 'head -c 3 | od -An -tx1' < /dev/zero").said, " 00 00 00\n");
}

TEST(CliProgram, OneWordWithOthersIsACommandAndItsArguments) {
  EXPECT_EQ(cloche("run -- bash -c 'echo \"$0 hi\"' me").said, "me hi\n");
  EXPECT_EQ(cloche("run printf '[%s]' 'a b' '$HOME' ''").said, "[a b][$HOME][]");
  EXPECT_EQ(cloche("run -- test a = b").status, 1);
  const Ended missing = cloche("run /no/such/program x 2>&1");
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.said, "bash: line 1: /no/such/program: No such file or directory\n");
  // More than a word is a script.
  EXPECT_EQ(cloche("run 'echo $0 $1' a 'b  c'").said, "a b c\n");
  EXPECT_EQ(cloche("run 'echo $0' a").said, "a\n");
  EXPECT_EQ(cloche("run 'x=1' a; exit $?").status, 0);
}

TEST(CliProgram, PythonStartsWithItsPackagesImported) {
  EXPECT_EQ(cloche("run --packages matplotlib 'python3 -c \"import sys; print([name in sys.modules "
                   "for name in (\\\"matplotlib.pyplot\\\", \\\"numpy\\\", "
                   "\\\"PIL.JpegImagePlugin\\\")])\"' 2>/dev/null")
                .said,
            "[True, True, True]\n");
}

TEST(CliProgram, AScriptComesFromAFileOrFromStandardInput) {
  EXPECT_EQ(bash("echo 'echo \"$#:$1:$2\"; cat' | $CLOCHE run - 'a b' c").said, "2:a b:c\n");
  const TempDir made;
  const std::string folder = made.path();
  const std::string shell = folder + "/cli-program.sh", awk = folder + "/cli-program.awk";
  write_text(shell, "echo \"${0##*/} $1\"; cat\n");
  write_text(awk, "#!/usr/bin/awk -f\n{ print $2 }\n");
  EXPECT_EQ(cloche("run --file " + shell + " x <<< rest").said, "cli-program.sh x\nrest\n");
  EXPECT_EQ(cloche("run -f " + awk + " <<< 'one two'").said, "two\n");
  EXPECT_EQ(cloche("run --mount " + folder + ":/tmp --file " + awk + " <<< 'one two'").said,
            "two\n");
  // A file of the host's at the script's own place is not written to.
  EXPECT_EQ(
      cloche("run --mount " + shell + ":/tmp/cli-program.awk --file " + awk + " <<< 'one two'")
          .said,
      "two\n");
  EXPECT_EQ(bash("head -c 4 " + shell).said, "echo");
  EXPECT_EQ(cloche("run - < " + awk).said, "");
  EXPECT_EQ(cloche("run --file /nonexistent.sh").status, 2);
  EXPECT_EQ(cloche("run --stdin - < " + shell).status, 2);
  // As a command it is looked for in the sandbox, and the person is told.
  const Ended missing = cloche("run " + shell + " 2>&1");
  EXPECT_EQ(missing.status, 127);
  EXPECT_NE(missing.said.find("cloche run --file " + shell), std::string::npos) << missing.said;
  EXPECT_EQ(cloche("run -- - <<< 'echo read'").said.find("read\n"), std::string::npos);
}

// As the kernel says while they wait for their input.
TEST(CliProgram, WhatRunsGuestsIsInAJail) {
  if (bash("grep Seccomp: /proc/self/status").status != 0) GTEST_SKIP() << "no seccomp here";
  const TempDir folder;
  const std::string fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const char* command : {"run cat", "shell", "rpc", "mcp"}) {
    const Ended ended =
        bash("exec 3<>" + fifo + "; $CLOCHE " + command + R"( <&3 >/dev/null & pid=$!
for ((i = 0; i < 6000; i++)); do
  grep -q 'Seccomp:.2' /proc/$pid/status && break
  sleep 0.01
done
grep -E '^(Seccomp|NoNewPrivs):' /proc/$pid/status
kill -9 $pid)");
    EXPECT_EQ(ended.said, "NoNewPrivs:\t1\nSeccomp:\t2\n") << command;
  }
}

TEST(CliProgram, EachCommandHasAPageWithAnExample) {
  for (const char* command :
       {"run", "shell", "rpc", "mcp", "serve", "sbs", "image", "prepare", "licenses", "doctor"}) {
    const Ended page = cloche(std::string(command) + " --help");
    EXPECT_EQ(page.status, 0) << command;
    EXPECT_NE(page.said.find(command), std::string::npos) << page.said;
    EXPECT_EQ(cloche(std::string("help ") + command).said, page.said) << command;
    EXPECT_NE(cloche("--help").said.find(std::string("cloche ") + command), std::string::npos)
        << command;
  }
  EXPECT_EQ(cloche("help bogus").status, 2);
}

TEST(CliProgram, TheDoctorSaysWhatThisMachineCanDo) {
  const Ended said = cloche("doctor");
  EXPECT_EQ(said.status, 0) << said.said;
  EXPECT_NE(said.said.find("a command ran in "), std::string::npos) << said.said;
  EXPECT_NE(cloche("doctor --json").said.find("\"ok\": true"), std::string::npos);
  const Ended lost = bash("CLOCHE_ROOTFS=/nonexistent $CLOCHE doctor --json");
  EXPECT_EQ(lost.status, 1);
  EXPECT_NE(lost.said.find("\"ok\": false"), std::string::npos);
  EXPECT_EQ(cloche("doctor --bogus").status, 2);
}

TEST(CliProgram, WithoutACacheFolderSandboxesRunAndTheDoctorSaysSo) {
  for (const char* lack : {"unset HOME; ", "export HOME=/proc/nowhere; "}) {
    const std::string bare = std::string("unset CLOCHE_CACHE XDG_CACHE_HOME; ") + lack;
    const Ended said = bash(bare + "$CLOCHE doctor");
    EXPECT_EQ(said.status, 0) << said.said;
    EXPECT_THAT(said.said, ::testing::HasSubstr("note     cache folder"));
    EXPECT_THAT(said.said, ::testing::HasSubstr("a command ran in "));
    const Ended ran = bash(bare + "$CLOCHE run 'echo hello'");
    EXPECT_THAT(ran.said, ::testing::EndsWith("\nhello\n"));
    EXPECT_EQ(lines_of(ran.said), 2U) << ran.said;
  }
  // One that was named is wanted.
  const Ended named = bash("CLOCHE_CACHE=/dev/null/nowhere $CLOCHE doctor");
  EXPECT_EQ(named.status, 1);
  EXPECT_THAT(named.said, ::testing::HasSubstr("problem  cache folder"));
}

TEST(CliProgram, MachineCodeIsShippedIntoNobodyElsesFolder) {
  const TempDir made;
  const std::string folder = made.path() / "ship";
  const Ended ended = bash("mkdir -p '" + folder + "' && echo mine >'" + folder +
                           "/notes' && $CLOCHE prepare --ship '" + folder + "'");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.said, ::testing::HasSubstr("has other things than machine code"));
  EXPECT_EQ(bash("cat '" + folder + "/notes'").said, "mine\n");
}

TEST(CliProgram, ATimeLimitOverTenYearsIsRefusedWithTheRange) {
  EXPECT_EQ(cloche("run --timeout 3650d 'echo hello'").said, "hello\n");
  const Ended ended = cloche("run --timeout 9223372036854775807 'echo hello'");
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.said.find("milliseconds from 0 to 315360000000"), std::string::npos)
      << ended.said;
}

}  // namespace
}  // namespace cloche::testing
