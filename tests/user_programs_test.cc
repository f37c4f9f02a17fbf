// SPDX-License-Identifier: Apache-2.0
// Programs that a user brings, as docs/user-programs.md tells it: by a folder of the host, and by a
// file that is written in the sandbox.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "sandbox_testing.h"

namespace cloche {
namespace {

using ::testing::HasSubstr;
using testing::make_sandbox;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::filesystem::path guests = CLOCHE_GUESTS_DIR;

RunResult sh(Sandbox& sandbox, const std::string& script) {
  return sandbox.run({.script = script});
}

// A module with so much code that compiling it takes a while, and that no cache has yet.
std::string big_module() {
  const auto number = [](std::uint64_t value) {
    std::string text;
    do {
      const auto low = static_cast<char>(value & 0x7F);
      value >>= 7;
      text += static_cast<char>(value != 0 ? low | '\x80' : low);
    } while (value != 0);
    return text;
  };
  const auto section = [&](char id, const std::string& body) {
    return std::string(1, id) + number(body.size()) + body;
  };
  // (func (param i32 i32) (result i32)): many operations on its parameters.
  std::string code = std::string(1, '\0');  // no locals
  code += std::string("\x20\x00", 2);
  for (unsigned i = 0; i < 20'000; ++i) {
    code += std::string("\x20\x01\x41", 3) + number(i & 0x3F);
    code += "\x6C\x6A";  // * +
  }
  code += '\x0B';
  constexpr unsigned functions = 20;
  std::string types, bodies = number(functions);
  types = number(functions);
  for (unsigned i = 0; i < functions; ++i) {
    types += '\0';
    bodies += number(code.size()) + code;
  }
  std::string module("\0asm\1\0\0\0", 8);
  module += section(1, std::string("\x01\x60\x02\x7F\x7F\x01\x7F", 7));
  module += section(3, types);
  module += section(10, bodies);
  std::random_device random;
  std::string note("\4note");
  for (int i = 0; i < 16; ++i) note += static_cast<char>(random());
  module += section(0, note);
  return module;
}

class UserPrograms : public ::testing::Test {
 protected:
  std::unique_ptr<Sandbox> sandbox_ = make_sandbox({.program_folder = guests});

  void put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(sandbox_->files().write(path, content));
  }
};

TEST_F(UserPrograms, TheDocumentedProgramsRunByName) {
  RunResult result = sh(*sandbox_, "greet Ada | tr a-z A-Z");
  EXPECT_EQ(result.stdout_data, "HELLO, ADA, IN /WORKSPACE\n") << result.stderr_data;
  result = sh(*sandbox_, "greet");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.stderr_data, "usage: greet NAME\n");
  result = sh(*sandbox_, "echo the cat and the dog | count_words");
  EXPECT_EQ(result.stdout_data, "2 times 'the', 4 different words\n") << result.stderr_data;
  EXPECT_EQ(sh(*sandbox_, "command -v greet").stdout_data, "/usr/local/bin/greet\n");
}

TEST_F(UserPrograms, ThePageHasTheSourcesThatAreCompiledHere) {
  const std::string page = content_of(CLOCHE_SOURCE_DIR "/docs/user-programs.md");
  for (const char* name : {"greet.c", "count_words.cc"}) {
    const std::string source = content_of(CLOCHE_SOURCE_DIR "/tests/guests/" + std::string(name));
    // Without its first line, which names the licence.
    EXPECT_THAT(page, HasSubstr(source.substr(source.find('\n') + 1)));
  }
}

TEST_F(UserPrograms, AFileOfTheSandboxRunsOnceItIsExecutable) {
  put("/workspace/mine", content_of(guests / "greet.wasm"));
  RunResult result = sh(*sandbox_, "./mine x");
  EXPECT_EQ(result.exit_code, 126);
  EXPECT_THAT(result.stderr_data, HasSubstr("Permission denied"));
  result =
      sh(*sandbox_, "chmod +x mine; ./mine Bo; mkdir bin; mv mine bin; PATH=$PATH:bin; mine Cy");
  EXPECT_EQ(result.stdout_data, "Hello, Bo, in /workspace\nHello, Cy, in /workspace\n");
}

TEST_F(UserPrograms, WhatIsNoProgramIsAnExecFormatError) {
  const std::string program = content_of(guests / "greet.wasm");
  put("/workspace/cut", program.substr(0, program.size() / 2));
  put("/workspace/magic", std::string("\0asm", 4));
  put("/workspace/noise", std::string("\0asm\1\0\0\0", 8) + std::string(100, '\xFF'));
  put("/workspace/bytes", std::string("\x7F"
                                      "ELF\0\1\2\3",
                                      8));
  for (const char* name : {"cut", "magic", "noise", "bytes"}) {
    const RunResult result =
        sh(*sandbox_, std::string("chmod +x ") + name + "; ./" + name + "; echo status $?");
    EXPECT_EQ(result.stdout_data, "status 126\n") << name;
    EXPECT_THAT(result.stderr_data, HasSubstr("xec format error")) << name;
  }
}

TEST_F(UserPrograms, AFunctionThatIsTooLongIsRefused) {
  std::string module = big_module();
  // The same code as one function.
  const auto number = [](std::uint64_t value) {
    std::string text;
    for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7F) | 0x80);
    return text + static_cast<char>(value);
  };
  std::string body(1, '\0');
  while (body.size() < 600'000) body += "\x01";  // nop
  body += "\x0B";
  const std::string code = number(1) + number(body.size()) + body;
  module = std::string("\0asm\1\0\0\0", 8) + std::string("\1\4\1\x60\0\0\3\2\1\0", 10) + "\x0A" +
           number(code.size()) + code;
  put("/workspace/long", module);
  EXPECT_EQ(sh(*sandbox_, "chmod +x long; ./long").exit_code, 126);
}

TEST_F(UserPrograms, ATimeLimitEndsACommandThatWaitsForTheCompiler) {
  put("/workspace/first", big_module());
  put("/workspace/second", big_module());
  const RunResult whole = sh(*sandbox_, "chmod +x first second; ./first");
  EXPECT_EQ(whole.exit_code, 126);  // it is valid, and has no _start
  const RunResult cut = sandbox_->run(
      {.script = "./second",
       .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(whole.duration / 20)});
  EXPECT_EQ(cut.status, RunStatus::timed_out);
  EXPECT_LT(cut.duration, whole.duration / 2);
}

TEST_F(UserPrograms, ManyRunsOfTheSameBytesShareOneCompile) {
  put("/workspace/a", content_of(guests / "greet.wasm"));
  const RunResult result =
      sh(*sandbox_, "chmod +x a; cp a b; for i in 1 2 3 4 5 6; do ./a $i & ./b $i & done; wait");
  EXPECT_EQ(std::count(result.stdout_data.begin(), result.stdout_data.end(), '\n'), 12);
}

}  // namespace
}  // namespace cloche
