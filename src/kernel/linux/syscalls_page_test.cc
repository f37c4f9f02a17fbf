// SPDX-License-Identifier: Apache-2.0
// docs/syscalls.md is the table of system calls in words. CLOCHE_WRITE_DOCS=1 in the environment
// writes the page anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::string_view head =
    "# System calls of Linux guests\n\n"
    "Made from the table in `src/kernel/linux/`; a test holds the two together "
    "(`CLOCHE_WRITE_DOCS=1`\nwrites this page anew). Numbers and structures are those of riscv32 "
    "Linux, see\n[guest-abi.md](guest-abi.md). A number that is not listed is `ENOSYS`.\n\n"
    "- **full**: as on Linux, within the limits of the sandbox and the rights of its user\n"
    "- **partial**: what the note says differs\n"
    "- **accepted**: succeeds and changes nothing\n"
    "- **refused**: always the error that the note names\n"
    "- **own**: a call of this kernel's, for its C library\n\n"
    "| number | call | support | note |\n|---|---|---|---|\n";

std::string_view word(Support support) {
  switch (support) {
    case Support::full: return "full";
    case Support::partial: return "partial";
    case Support::accepted: return "accepted";
    case Support::refused: return "refused";
    case Support::own: return "own";
  }
  return {};
}

std::string page() {
  std::string text(head);
  for (const Entry* entry : all_calls()) {
    const std::string number = entry->support == Support::own ? fmt::format("{:#x}", entry->number)
                                                              : fmt::format("{}", entry->number);
    text += fmt::format("| {} | `{}` | {} | {} |\n", number, entry->name, word(entry->support),
                        entry->note);
  }
  return text;
}

TEST(SyscallsPage, SaysWhatTheTableSays) {
  const std::string path = CLOCHE_SOURCE_DIR "/docs/syscalls.md";
  if (std::getenv("CLOCHE_WRITE_DOCS") != nullptr) std::ofstream(path) << page();
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, page())
      << "write it anew: CLOCHE_WRITE_DOCS=1 kernel_test --gtest_filter=SyscallsPage.*";
}

TEST(SyscallsPage, WhatIsNotFullSaysWhy) {
  for (const Entry* entry : all_calls()) {
    if (entry->support == Support::partial || entry->support == Support::refused) {
      EXPECT_NE(std::string_view(entry->note), "") << entry->name;
    }
  }
}

}  // namespace
}  // namespace cloche::kernel::lnx
