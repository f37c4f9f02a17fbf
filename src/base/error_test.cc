// SPDX-License-Identifier: Apache-2.0
// What the doors make of an Error; and docs/errors.md, which is that in words. CLOCHE_WRITE_DOCS=1 in
// the environment writes the page anew.
#include "base/error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/errno.h"
#include "base/host_error.h"
#include "base/result.h"

namespace cloche {
namespace {

constexpr std::string_view page_head = R"page(# Errors

Made from the table in `src/base/errno.cc` and the mapping in `src/base/error.cc`; a test holds them
together (`CLOCHE_WRITE_DOCS=1` writes this page anew).

Whatever is asked of Cloche and cannot be done is one `cloche::Error`: a kind, an errno and a
sentence. Functions of the C++ API that may fail return it in a `Result<T, Error>`, or the errno
alone in a `Result<T>` where that says it all; constructors and `Engine::create` throw it. How a
command ended is no error: that is its exit status.

## Kinds

- **request**: what was asked for makes no sense, or is not there. Ask for something else.
- **sandbox**: an operation in a sandbox failed, as a program in it would have seen it fail.
- **host**: the machine or the build of Cloche lacks or refuses something; its operator can help.

## What a door makes of one

| kind | JSON-RPC | HTTP | SFTP | exit status of `cloche` |
|---|---|---|---|---|
)page";

constexpr std::string_view page_middle = R"page(
The message of JSON-RPC is the errno's name and the sentence:
`ENOENT: No such file or directory: /tmp/x`. The REST API has fewer statuses than this table: a full
disk (507) of a session is 413 there, `ENOTDIR` 404, an error of the server 500, and what is left
400. A parameter that is missing or of another type is a request's `EINVAL` with codes of its own:
-32602 of JSON-RPC, `INVALID_PARAMETER` of REST. What a command line gets wrong ends `cloche` with
2, as every other error does; a command of the sandbox that cannot be started gives 127 (`ENOENT`)
or 126, as in a shell. `cloche serve` and `sbs run` end with 1 where the machine does not give what
their options name (an address, a file, a folder): it may later.

## Errnos

The number is that of Linux's system calls, WASI that of preview1.

| errno | number | meaning | WASI | HTTP | SFTP |
|---|---|---|---|---|---|
)page";

std::string page() {
  std::string text(page_head);
  for (const ErrorKind kind : {ErrorKind::request, ErrorKind::sandbox, ErrorKind::host}) {
    const DoorCodes codes = door_codes(kind, Errno::io);
    const bool is_host = kind == ErrorKind::host;
    text += fmt::format("| {} | {} | {} | {} | {} |\n", kind_name(kind), codes.rpc,
                        is_host ? "as below, 500 at least" : "as below",
                        is_host ? fmt::format("{}", codes.sftp) : "as below", codes.exit);
  }
  text += page_middle;
  for (const ErrnoInfo& info : errno_table()) {
    if (info.code == Errno::restart) continue;  // nobody sees it
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", info.name,
                        static_cast<int>(info.code), info.message, info.wasi, info.http, info.sftp);
  }
  return text;
}

TEST(ErrorsPage, SaysWhatTheTablesSay) {
  const std::string path = CLOCHE_SOURCE_DIR "/docs/errors.md";
  if (std::getenv("CLOCHE_WRITE_DOCS") != nullptr) std::ofstream(path) << page();
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, page())
      << "write it anew: CLOCHE_WRITE_DOCS=1 base_test --gtest_filter=ErrorsPage.*";
}

TEST(Error, OfAnErrnoSaysWhatItWasAbout) {
  const Error error(Errno::noent, "/tmp/x");
  EXPECT_EQ(error.kind(), ErrorKind::sandbox);
  EXPECT_EQ(error.sentence(), "No such file or directory: /tmp/x");
  EXPECT_EQ(named_sentence(error), "ENOENT: No such file or directory: /tmp/x");
  EXPECT_EQ(Error(Errno::noent).sentence(), "No such file or directory");
}

TEST(Error, OfTheHostIsNeverTheClientsFault) {
  for (const ErrnoInfo& info : errno_table()) {
    const DoorCodes host = door_codes(ErrorKind::host, info.code);
    EXPECT_GE(host.http, 500) << info.name;
    EXPECT_EQ(host.sftp, 4U) << info.name;
    const DoorCodes asked = door_codes(ErrorKind::request, info.code);
    EXPECT_EQ(asked.http, info.http) << info.name;
    EXPECT_EQ(asked.sftp, info.sftp) << info.name;
  }
}

TEST(Error, OfTheHostKeepsTheErrno) {
  const HostError error = HostError::from_errno("cannot read /nonesuch", ENOENT);
  EXPECT_EQ(error, Errno::noent);
  EXPECT_EQ(error.kind(), ErrorKind::host);
  EXPECT_EQ(error.sentence(), "cannot read /nonesuch: No such file or directory");
}

Result<int> by_errno(bool good) {
  if (good) return 7;
  return Errno::perm;
}

Result<std::string, Error> by_error(bool good) {
  CLOCHE_ASSIGN(const int value, by_errno(good));
  if (value != 7) return HostError("there is no seven", Errno::range);
  return std::string("seven");
}

Result<std::unique_ptr<int>, Error> passed_on(bool good) {
  CLOCHE_TRY(by_error(good));
  return std::make_unique<int>(1);
}

TEST(ResultOfError, TakesErrnosAndErrorsAndPassesThemOn) {
  EXPECT_EQ(**passed_on(true), 1);
  EXPECT_EQ(passed_on(false).error(), Errno::perm);
  EXPECT_EQ(by_error(false).error().sentence(), "Operation not permitted");
  const Result<void, Error> failed = HostError("it is broken");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorKind::host);
  EXPECT_TRUE((Result<void, Error>()));
}

TEST(ResultOfError, DeathOfWhoReadsWhatIsNotThere) {
  EXPECT_DEATH((void)by_error(true).error(), "the error of a result that has none");
  EXPECT_DEATH((void)by_error(false).value(), "the value of a result that has none");
}

}  // namespace
}  // namespace cloche
