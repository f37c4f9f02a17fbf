// SPDX-License-Identifier: Apache-2.0
#include "python/image_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/faulty_files_testing.h"
#include "base/temp_dir_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::python {
namespace {

constexpr std::string_view guest_text = R"((module
  (memory (export "memory") 40)
  (data (i32.const 5000) "what was")
  (data (i32.const 2000000) "said before")
  (global (export "__stack_pointer") (mut i32) (i32.const 1000))
  (func (export "_start"))))";

class ImageFile : public ::testing::Test {
 protected:
  std::shared_ptr<const wasm::MemoryImage> image_with(std::uint32_t word) {
    const auto guest = guests_.make(module_);
    EXPECT_TRUE(guest->memory().write(70000, word));
    auto image = wasm::MemoryImage::capture(*guest);
    EXPECT_TRUE(image);
    return *image;
  }
  void write(std::uint32_t word, HostFiles& files = host_files()) {
    write_image_file(file_, *image_with(word), {.build = build_}, files);
  }
  std::uint32_t word() {
    const auto image =
        load_image_file(file_, open_image_file(file_), build_, module_->module(), {});
    const auto guest = guests_.make(module_, {.image = image});
    return *guest->memory().read<std::uint32_t>(70000);
  }
  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  wasm::GuestMaker guests_;
  const std::shared_ptr<const wasm::LinkedModule> module_ = guests_.link(guest_text);
  const TempDir folder_;
  const std::filesystem::path file_ = folder_.path() / "a.image";
  const ImageBuild build_{.program = "program", .library = "library"};
};

TEST_F(ImageFile, HasWhatTheMemoryHad) {
  write(7);
  EXPECT_EQ(read_image_header(file_).build, build_);
  EXPECT_EQ(word(), 7U);
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(ImageFile, OneThatIsNotThereIsToldFromTheOtherEngines) {
  try {
    (void)read_image_header("debian");
    FAIL();
  } catch (const HostError& error) {
    EXPECT_EQ(error.code(), Errno::noent);
    EXPECT_NE(error.sentence().find("is for the linux engine"), std::string_view::npos);
  }
}

// Each call that changes something fails once.
class ImageFileFaults : public ImageFile, public ::testing::WithParamInterface<Errno> {};

TEST_P(ImageFileFaults, WhateverFailsTheOldOneIsThereAndNothingElse) {
  write(1);
  FaultyFiles files;
  files.write_max = 40'000;
  bool failed = true;
  for (std::size_t call = 0; failed; ++call) {
    ASSERT_LT(call, 100U);
    files.fail_at(call, FaultyFiles::Fault::error, GetParam());
    try {
      write(2, files);
      failed = false;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), GetParam());
    }
    EXPECT_EQ(word(), failed ? 1U : 2U) << call;
    EXPECT_TRUE(!failed || files_in_folder() == 1U) << call;
  }
}
// As by `kill -9`, at each of its calls.
TEST_F(ImageFile, WhoeverIsKilledWhileWritingLeavesNothing) {
  struct Deadly final : HostFiles {
    std::size_t left = 0;
    Result<std::size_t> write(int fd, std::span<const std::byte> bytes) override {
      if (left-- == 0) (void)::raise(SIGKILL);
      return HostFiles::write(fd, bytes);
    }
  };
  write(1);
  const auto image = image_with(2);
  Deadly files;
  bool killed = true;
  for (; killed; ++files.left) {
    const pid_t child = ::fork();
    if (child == 0) {
      write_image_file(file_, *image, {.build = build_}, files);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed = WIFSIGNALED(status);
    EXPECT_EQ(word(), killed ? 1U : 2U) << files.left;
    EXPECT_EQ(files_in_folder(), 1U) << files.left;
    ASSERT_LT(files.left, 100U);
  }
  EXPECT_GT(files.left, 3U);
}

// As a guest can that has the folder, where a file has a name from its beginning.
TEST_F(ImageFile, OneThatIsCutShortWhileItIsWrittenEndsNobody) {
  const auto large = guests_.link(R"((module (memory (export "memory") 2000)
    (data (i32.const 131000000) "its end") (func (export "_start"))))");
  const auto image = wasm::MemoryImage::capture(*guests_.make(large));
  ASSERT_TRUE(image);
  FaultyFiles files;
  files.wants_names = true;
  std::atomic<bool> is_written = false;
  std::thread cutter([&] {
    while (!is_written) {
      std::error_code gone;
      for (const auto& entry : std::filesystem::directory_iterator(folder_.path(), gone))
        std::filesystem::resize_file(entry.path(), 0, gone);
    }
  });
  for (int times = 0; times < 5; ++times) {
    try {
      write_image_file(file_, **image, {.build = build_}, files);
    } catch (const Error&) {
      // Which it is says the moment.
    }
  }
  is_written = true;
  cutter.join();
  EXPECT_LE(files_in_folder(), 1U);
}

// Nothing but holes, which cost nobody anything but whoever reads them.
TEST_F(ImageFile, OneOfNoSuchSizeIsNotRead) {
  write(7);
  ImageHeader header = read_image_header(file_);
  header.content_bytes = max_image_bytes + 1;
  const std::string text = image_header_text(header);
  std::ofstream(file_, std::ios::binary) << text;
  std::filesystem::resize_file(file_, text.size() + header.content_bytes);
  try {
    (void)word();
    FAIL();
  } catch (const HostError& error) {
    EXPECT_NE(error.sentence().find("no such size"), std::string_view::npos) << error.sentence();
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, ImageFileFaults, ::testing::Values(Errno::nospc, Errno::io));

}  // namespace
}  // namespace cloche::python
