// SPDX-License-Identifier: Apache-2.0
// docs/python-frames.md is the table of frames in words, and the interpreter's modules know each
// mark. CLOCHE_WRITE_DOCS=1 in the environment writes the page anew.
#include "python/frames.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cloche::python {
namespace {

constexpr std::string_view page_head = R"page(# Frames between the host and Python

Made from the table in `src/python/frames.cc`; a test holds the two together (`CLOCHE_WRITE_DOCS=1`
writes this page anew). It is a contract between `src/python` and `userland/python/lib/_cloche`, of
one build: nothing outside of them speaks it. What comes from the interpreter is a guest's word.

A **turn** is a call of the interpreter by the host; a **word** what the interpreter of a session
writes to its descriptor 201, one write each; a **reply** is the host's answer there, after its
length and number (4 bytes each); a **request** goes through the interpreter's one import,
`host.call`. Each begins with its mark. A start block is the process's numbers, names, argv and
environment.

| what | mark | content | meaning |
|---|---|---|---|
)page";

template <typename Mark>
std::string rows(std::string_view what) {
  std::string text;
  for (int letter = 1; letter < 128; ++letter) {
    const auto mark = static_cast<char>(letter);
    if (const auto info = frame_info(static_cast<Mark>(mark)))
      text += fmt::format("| {} | `{}` | {} | {} |\n", what, mark, info->content, info->meaning);
  }
  return text;
}

std::string page() {
  std::string text(page_head);
  text += rows<Turn>("turn") + rows<SessionWord>("word") + rows<HostReply>("reply");
  for (const Magic& magic : request::all) {
    const auto info = frame_info(magic);
    text += fmt::format("| request | `{}` | {} | {} |\n",
                        std::string_view(magic.data(), magic.size()), info->content, info->meaning);
  }
  return text;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::filesystem::path source = CLOCHE_SOURCE_DIR;

TEST(FramesPage, SaysWhatTheTableSays) {
  const auto path = source / "docs/python-frames.md";
  if (std::getenv("CLOCHE_WRITE_DOCS") != nullptr) std::ofstream(path) << page();
  EXPECT_EQ(content_of(path), page())
      << "write it anew: CLOCHE_WRITE_DOCS=1 python_test --gtest_filter=FramesPage.*";
}

// What the interpreter's modules hold of the marks: as a bytes literal, `b"C"`.
TEST(FramesPage, TheInterpretersModulesKnowEachMark) {
  std::string modules;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source / "userland/python")) {
    if (entry.path().extension() == ".py") modules += content_of(entry.path());
  }
  const auto is_known = [&](std::string_view mark) {
    return modules.find(fmt::format("b\"{}", mark)) != std::string::npos;
  };
  for (int letter = 1; letter < 128; ++letter) {
    const auto mark = static_cast<char>(letter);
    // A turn of another mark is an image's.
    const bool is_turn =
        frame_info(static_cast<Turn>(mark)) && mark != static_cast<char>(Turn::image);
    if (is_turn || frame_info(static_cast<SessionWord>(mark))) {
      EXPECT_TRUE(is_known({&mark, 1})) << mark;
    }
  }
  for (const Magic& magic : request::all)
    EXPECT_TRUE(is_known({magic.data(), magic.size()})) << std::string_view(magic.data(), 4);
  EXPECT_FALSE(is_known("zzz0"));
}

}  // namespace
}  // namespace cloche::python
