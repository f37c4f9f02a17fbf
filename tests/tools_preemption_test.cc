// SPDX-License-Identifier: Apache-2.0
// The shell and the tools are stopped at once, wherever they compute, and get their signals there:
// their code has no checks, and signals to their threads interrupt them (src/wasm/preemption.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "base/many_lives_testing.h"
#include "sandbox_testing.h"

namespace cloche {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::make_sandbox;
using testing::output_of;

// What computes long, each in another program or another part of one.
constexpr std::array computing{
    "while :; do :; done",
    "while ((1)); do ((x += 1)); done",
    "f() { local a=$1; f $((a + 1)); }; while :; do (f 0) 2> /dev/null; done",
    "x=abcdefgh; for ((i = 0; i < 20; i++)); do x=$x$x; done; while :; do y=${x//c/d}; done",
    "x=$(printf '%01000d' 7); while :; do [[ $x =~ ^(0*)*1$ ]]; done",
    "while :; do printf -v x %s {1..1000}; done",
    "while :; do for x in a b c; do case $x in *b*) ;; [c-z]) ;; esac; done; done",
    "while :; do x=$(echo a); done",
    "while :; do echo a | cat > /dev/null; done",
    "while :; do /usr/bin/true; done",
    "trap ':' USR1; while :; do kill -USR1 $BASHPID; done",
    "trap 'while :; do :; done' USR1; kill -USR1 $BASHPID; while :; do :; done",
    "dash -c 'while :; do :; done'",
    "yes > /dev/null",
    "yes | sort -S 4M > /dev/null",
    "yes | head -c 100000000 | sort | tail -1; while :; do :; done",
    "yes abcabcabd | grep -E '(a|b|c)*x' > /dev/null",
    "yes abcabcabd | sed -E 's/(ab|c)+/<&>/g' > /dev/null",
    "gawk 'BEGIN { while (1) x += 1 }'",
    "mawk 'BEGIN { while (1) x = x \"a\"; }'",
    "gawk 'BEGIN { for (;;) a[i++ % 1000] = sprintf(\"%d\", i) }'",
    "jq -n '[limit(1e9; repeat(1))] | length'",
    "echo '99999^999999' | bc > /dev/null",
    "cat /dev/zero | sha256sum",
    "head -c 300000000 /dev/zero | gzip -9 > /dev/null; while :; do :; done",
    "cat /dev/zero | xz -1 > /dev/null",
    "factor 170141183460469231731687303715884105727170141183460469231731687303715884105727",
    "seq 1 100000000000 > /dev/null",
    "perl -e '1 while 1'",
    "perl -e '$SIG{TERM} = sub { }; $x = \"a\" x 100000; while (1) { $x =~ s/./b/g }'",
    "lua -e 'while true do end'",
    "sqlite3 :memory: 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT count(*) FROM c'",
    "find / -regex '.*a.*b.*c.*d.*e' > /dev/null; while :; do find /usr > /dev/null; done",
    "timeout -s STOP 0.01 sh -c 'while :; do :; done'",
};

class ComputingTools : public ::testing::TestWithParam<const char*> {};

TEST_P(ComputingTools, AreStoppedByTheTimeLimit) {
  const auto sandbox = make_sandbox();
  const auto start = steady_clock::now();
  const RunResult result = sandbox->run({.script = GetParam(), .timeout = milliseconds(300)});
  const auto took = steady_clock::now() - start;
  EXPECT_EQ(result.status, RunStatus::timed_out) << result.stdout_data << result.stderr_data;
  EXPECT_LT(took, std::chrono::seconds(5));
  RecordProperty("overshoot_ms",
                 static_cast<int>(std::chrono::duration_cast<milliseconds>(took).count() - 300));
  EXPECT_EQ(sandbox->run({.script = "echo $((6 * 7)) | cat"}).stdout_data, "42\n");
}

TEST_P(ComputingTools, AreStoppedInAKeptShell) {
  const auto sandbox = make_sandbox();
  const RunResult result =
      sandbox->run({.script = GetParam(), .shell = ShellState::kept, .timeout = milliseconds(200)});
  EXPECT_EQ(result.status, RunStatus::timed_out) << result.stdout_data << result.stderr_data;
  EXPECT_EQ(
      sandbox->run({.script = "echo $((6 * 7)) | cat", .shell = ShellState::kept}).stdout_data,
      "42\n");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ComputingTools, ::testing::ValuesIn(computing));

TEST(ToolsPreemption, EachSignalEndsAToolThatComputes) {
  for (const char* tool : {"gawk \"BEGIN { while (1) x += 1 }\"", "bash -c \"while :; do :; done\"",
                           "dash -c \"while :; do :; done\"", "perl -e \"1 while 1\""}) {
    EXPECT_EQ(output_of("for s in HUP KILL TERM USR1 ALRM; do\n"
                        "  " +
                        std::string(tool) +
                        " & sleep 0.02; kill -$s $!; wait $! 2> /dev/null; echo $?\n"
                        "done 2> /dev/null"),
              "129\n137\n143\n138\n142\n")
        << tool;
  }
}

TEST(ToolsPreemption, TimeoutEndsALoop) {
  EXPECT_EQ(output_of("exec 2> /dev/null\n"
                      "timeout 0.2 sh -c 'while :; do :; done'; echo $?\n"
                      "timeout -s KILL 0.2 sh -c 'trap \"\" TERM; while :; do :; done'; echo $?\n"
                      "timeout -k 0.1 0.1 sh -c 'trap : TERM; while :; do :; done'; echo $?"),
            "124\n137\n137\n");
}

TEST(ToolsPreemption, AReaderThatIsGoneEndsAWriter) {
  EXPECT_EQ(output_of("yes | head -2; echo ${PIPESTATUS[*]}"), "y\ny\n141 0\n");
}

TEST(ToolsPreemption, TrapsRunInALoopOfTheShell) {
  EXPECT_EQ(output_of("bash -c 'trap \"n=\\$((n + 1)); echo \\$n\" USR1; trap \"exit 5\" TERM\n"
                      "echo ready; while :; do :; done' > out & p=$!\n"
                      "until grep -qs ready out; do :; done\n"
                      "for i in 1 2 3; do kill -USR1 $p\n"
                      "  until grep -qs $i out; do :; done; done\n"
                      "kill -TERM $p; wait $p; echo $?; cat out"),
            "5\nready\n1\n2\n3\n");
}

TEST(ToolsPreemption, AnAlarmIsHandledInALoop) {
  EXPECT_EQ(output_of("perl -e '$SIG{ALRM} = sub { print \"rang\\n\"; exit 3 }; alarm 1;"
                      " 1 while 1'; echo $?"),
            "rang\n3\n");
}

TEST(ToolsPreemption, SortTakesItsFilesAwayWhereverItIsStopped) {
  EXPECT_EQ(output_of("mkdir t; seq 300000 | shuf > in\n"
                      "for delay in 0.02 0.05 0.1 0.15 0.2; do\n"
                      "  sort -S 1M -T t in > /dev/null & sleep $delay; kill -TERM $!\n"
                      "  wait $! 2> /dev/null; case $? in 0|143) ;; *) echo $?;; esac\n"
                      "done 2> /dev/null; ls t"),
            "");
}

// Its handler of SIGINT jumps out of whatever it was called in. (A job of the background ignores
// that signal unless somebody takes it again.)
TEST(ToolsPreemption, AHandlerThatJumpsLeavesALoop) {
  EXPECT_EQ(output_of("mkfifo f\n"
                      "perl -e '$SIG{INT} = \"DEFAULT\"; exec qw(dash -i)' < f > out 2> err &\n"
                      "exec 3> f\n"
                      "for i in 1 2 3 4 5 6 7 8 9; do\n"
                      "  echo \"echo loop $i; while :; do :; done; echo never\" >&3\n"
                      "  until grep -qs \"loop $i\" out; do :; done\n"
                      "  kill -INT $!; echo \"echo alive $i\" >&3\n"
                      "  until grep -qs \"alive $i\" out; do :; done\n"
                      "done\n"
                      "echo exit >&3; exec 3>&-; wait $!; grep -c alive out"),
            "9\n");
}

TEST(ToolsPreemption, AToolThatComputesStopsAndGoesOn) {
  EXPECT_EQ(
      output_of("gawk 'BEGIN { while (n < 3e6) s += ++n; printf \"%d\\n\", s }' > out & p=$!\n"
                "for i in 1 2 3; do kill -STOP $p 2> /dev/null; sleep 0.02\n"
                "  kill -CONT $p 2> /dev/null; sleep 0.01; done\n"
                "wait $p; cat out"),
      "4500001500000\n");
}

TEST(ToolsPreemption, AHandlerThatComputesIsInterrupted) {
  EXPECT_EQ(output_of("bash -c 'trap \"echo in; while :; do :; done\" USR1; while :; do :; done'"
                      " > out & p=$!\n"
                      "sleep 0.05; kill -USR1 $p; until grep -qs in out; do :; done\n"
                      "kill -TERM $p; wait $p; echo $?"),
            "143\n");
}

// A copy is the user's program, and is interrupted all the same.
TEST(ToolsPreemption, ACopyOfAToolIsStopped) {
  const auto sandbox = make_sandbox();
  const RunResult result =
      sandbox->run({.script = "cp /usr/bin/mawk mine; ./mine 'BEGIN { print \"runs\" }'\n"
                              "timeout 0.2 ./mine 'BEGIN { while (1) x += 1 }'; echo $?"});
  EXPECT_EQ(result.stdout_data, "runs\n124\n") << result.stderr_data;
}

// Lives of each sort end at random moments, by the time limit, a signal from beside, the end of
// their sandbox; the next ones are well. CLOCHE_PREEMPTION_SECONDS makes it longer.
TEST(ToolsPreemption, ManyLivesEndAtRandomMoments) {
  constexpr milliseconds patience = std::chrono::minutes(10);  // that nothing hangs
  std::atomic<int> lives = 0;
  std::atomic<std::int64_t> worst_ms = 0;
  live_many_times(std::chrono::seconds(3), [&](std::minstd_rand& random) {
    auto sandbox = make_sandbox();
    for (int i = 0; i < 8; ++i) {
      const auto limit = milliseconds(2 + random() % 80);
      const std::string code = computing[random() % computing.size()];
      const bool killed = random() % 3 == 0;
      const auto start = steady_clock::now();
      // Signals with and without handlers come before the last one.
      const std::string storm = "{ " + code +
                                "; } > /dev/null 2>&1 & p=$!; for s in USR1 STOP CONT INT; do "
                                "sleep 0.00" +
                                std::to_string(random() % 9) +
                                "; kill -$s $p; done 2> /dev/null; "
                                "kill -9 $p 2> /dev/null; wait $p 2> /dev/null; echo ended";
      const RunResult result =
          sandbox->run({.script = killed ? storm : code, .timeout = killed ? patience : limit});
      const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
      if (killed) {
        EXPECT_EQ(result.stdout_data, "ended\n") << code << result.reason;
      } else {
        EXPECT_EQ(result.status, RunStatus::timed_out) << code << result.stderr_data;
        worst_ms = std::max<std::int64_t>(worst_ms, (took - limit).count());
      }
      ++lives;
    }
    const RunResult clean = sandbox->run(
        {.script = "seq 3000 | sort -R | sort -n | gawk '{ s += $1 } END { print s }'\n"
                   "seq 3000 | gzip | gunzip | grep -c 7 | sed 's/^/n /'\n"
                   "x=; for i in {1..200}; do x+=$i; done; echo ${#x}",
         .timeout = patience});
    EXPECT_EQ(clean.stdout_data, "4501500\nn 813\n492\n") << clean.stderr_data << clean.reason;
  });
  RecordProperty("lives", lives);
  RecordProperty("worst_overshoot_ms", static_cast<int>(worst_ms));
  EXPECT_GE(lives, 8);
}

}  // namespace
}  // namespace cloche
