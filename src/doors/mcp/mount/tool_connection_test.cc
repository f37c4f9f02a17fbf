// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/refused_threads_testing.h"

namespace cloche::mcp::mount {
namespace {

#if !defined(CLOCHE_SANITIZED)

TEST(ToolConnection, WithoutAThreadOfTheHostThereIsNone) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
  UniqueFd far(pipe[0]);
  {
    const RefusedThreads none;
    EXPECT_THROW(ToolConnection("files", ToolRun({}, UniqueFd(pipe[1]), {})), Error);
  }
  char byte = 0;
  EXPECT_EQ(::read(far.get(), &byte, 1), 0) << "the program's pipes are closed";
}

#endif

}  // namespace
}  // namespace cloche::mcp::mount
