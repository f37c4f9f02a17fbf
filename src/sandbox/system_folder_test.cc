// SPDX-License-Identifier: Apache-2.0
#include "sandbox/system_folder.h"

#include <gmock/gmock.h>

#include "base/host_error.h"
#include "base/temp_dir_testing.h"

namespace cloche::sandbox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SystemFolder : public testing::Test {
 protected:
  void write(std::string_view index) { folder_.write("system.index", std::string(index)); }

  std::vector<std::string> entries() {
    std::vector<std::string> lines;
    for_each_entry(folder_.path(), [&](const SystemEntry& entry) {
      lines.push_back(std::to_string(static_cast<int>(entry.kind)) + " " +
                      std::to_string(entry.mode) + " " + std::to_string(entry.offset) + "+" +
                      std::to_string(entry.size) + " " + std::string(entry.target) + ">" +
                      std::string(entry.path));
    });
    return lines;
  }

  std::string error() {
    try {
      entries();
    } catch (const HostError& error) {
      return error.what();
    }
    return "";
  }

  const TempDir folder_;
};

TEST_F(SystemFolder, EveryKindOfEntryIsRead) {
  write("cloche-system 2\nl\tusr/bin\tbin\nd\t755\tusr\nf\t644\t7\t12\tusr/a b\np\t755\tusr/ls\n");
  EXPECT_THAT(entries(), ElementsAre("1 0 0+0 usr/bin>bin", "0 493 0+0 >usr", "2 420 7+12 >usr/a b",
                                     "3 493 0+0 >usr/ls"));
}

TEST_F(SystemFolder, WhatIsNoWholeSystemIsToldSo) {
  EXPECT_THAT(error(), HasSubstr("run `make` to build"));
  for (const char* index :
       {"", "cloche-system 1\n", "cloche-system 2\nd\t755\tusr", "cloche-system 2\nx\t755\tusr\n",
        "cloche-system 2\nd\t799\tusr\n", "cloche-system 2\nd\t77777\tusr\n",
        "cloche-system 2\nf\t644\t1\tusr\n", "cloche-system 2\nf\t644\t-1\t1\ta\n",
        "cloche-system 2\nf\t644\t1\t99999999999999999999\ta\n", "cloche-system 2\nd\t755\t\n",
        "cloche-system 2\nl\t\tbin\n", "cloche-system 2\n\n"}) {
    write(index);
    EXPECT_THAT(error(), HasSubstr("is damaged or of another version")) << index;
  }
}

}  // namespace
}  // namespace cloche::sandbox
