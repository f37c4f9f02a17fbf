// SPDX-License-Identifier: Apache-2.0
#include "python/layer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/faulty_files_testing.h"
#include "base/temp_dir_testing.h"
#include "wasm/page_sums.h"
#include "wasm/wat_testing.h"

namespace cloche::python {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view guest_text = R"((module
  (memory (export "memory") 40)
  (data (i32.const 5000) "what was")
  (data (i32.const 2000000) "said before")
  (global (export "__stack_pointer") (mut i32) (i32.const 1000))
  (func (export "_start"))))";

class LayerFile : public ::testing::Test {
 protected:
  std::shared_ptr<BootImage> boot_image(std::uint32_t word) {
    const auto guest = guests_.make(module_);
    EXPECT_TRUE(guest->memory().write(300'000, word));
    auto image = std::make_shared<BootImage>();
    image->memory = *wasm::MemoryImage::capture(*guest);
    return image;
  }
  std::shared_ptr<const wasm::MemoryImage> image_with(std::uint32_t word) {
    const auto guest = guests_.make(module_, {.image = base_->memory});
    EXPECT_TRUE(guest->memory().write(70'000, word));
    EXPECT_TRUE(guest->set_global("__stack_pointer", wasm::Value::i32(77)));
    return *wasm::MemoryImage::capture(*guest);
  }
  void write(std::uint32_t word, HostFiles& files = host_files()) {
    const auto image = image_with(word);
    (void)write_layer_file(file_, *image, *image->pages_over(*base_->memory), {.build = build_},
                           {"the key", base_}, files);
  }
  std::unique_ptr<wasm::Instance> loaded(const std::shared_ptr<BootImage>& base) {
    const auto image =
        load_layer_file(file_, open_image_file(file_), build_, module_->module(),
                        [&](const std::string& key) { return key == "the key" ? base : nullptr; });
    return guests_.make(module_, {.image = image});
  }
  std::uint32_t word() { return *loaded(base_)->memory().read<std::uint32_t>(70'000); }
  std::string why_not(const std::shared_ptr<BootImage>& base) {
    try {
      (void)loaded(base);
    } catch (const Error& error) {
      return error.what();
    }
    return "it was taken";
  }
  // The file with another content, whose checksum is right.
  void forge(const std::string& description, const std::string& table) {
    std::string content = description;
    content.resize(65536, '\0');
    content += table;
    content.resize(std::size_t{2} * 65536, '\0');
    content += std::string(4096, 'p');
    ImageHeader header{.build = build_,
                       .content_bytes = content.size(),
                       .content_hash = wasm::sum_of(std::as_bytes(std::span(content))),
                       .base = ImageBase{"the key", "no sum"}};
    std::ofstream(file_, std::ios::binary) << image_header_text(header) << content;
  }

  wasm::GuestMaker guests_;
  const std::shared_ptr<const wasm::LinkedModule> module_ = guests_.link(guest_text);
  const std::shared_ptr<BootImage> base_ = boot_image(1);
  const TempDir folder_;
  const std::filesystem::path file_ = folder_.path() / "a.image";
  const ImageBuild build_{.program = "program", .library = "library"};
};

TEST_F(LayerFile, HasWhatTheMemoryHad) {
  write(7);
  const auto guest = loaded(base_);
  EXPECT_EQ(*guest->memory().read<std::uint32_t>(70'000), 7U);
  EXPECT_EQ(*guest->memory().read<std::uint32_t>(300'000), 1U);
  EXPECT_EQ(*guest->memory().read_string(2'000'000, 20), "said before");
  EXPECT_EQ(guest->global("__stack_pointer"), wasm::Value::i32(77));
  // Header, description and table take 64 KiB each; of the memory there is what was written.
  EXPECT_LT(std::filesystem::file_size(file_), 3U * 65536 + 10U * 4096);
}

TEST_F(LayerFile, FitsABootImageThatIsTheSameOutside) {
  write(7);
  EXPECT_EQ(why_not(boot_image(1)), "it was taken");
  EXPECT_THAT(why_not(boot_image(2)), HasSubstr("another machine's Python"));
  EXPECT_THAT(why_not(nullptr), HasSubstr("has not prepared"));
}

TEST_F(LayerFile, DamageIsFound) {
  write(7);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file_));
  for (std::streamoff at = 65536; at < size; at += 3001) {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int before = file.get();
    file.seekp(at);
    file.put(static_cast<char>(before + 1));
    file.close();
    ASSERT_THAT(why_not(base_), HasSubstr("checksum is wrong")) << at;
    write(7);
  }
  std::filesystem::resize_file(file_, static_cast<std::uintmax_t>(size) - 1);
  EXPECT_THAT(why_not(base_), HasSubstr("another length"));
}

TEST_F(LayerFile, AContentThatLiesIsRefused) {
  const auto table = [](std::uint64_t start, std::uint64_t length) {
    std::string text(2 * sizeof start, '\0');
    std::memcpy(text.data(), &start, sizeof start);
    std::memcpy(text.data() + sizeof start, &length, sizeof length);
    return text;
  };
  const std::string good = R"({"memory_bytes": 2621440, "run_count": 1, "globals": []})";
  forge(good + "\n", table(0, 4096));
  EXPECT_THAT(why_not(base_), HasSubstr("another machine's Python"));  // but for its sum
  for (const auto& [start, length] : {std::pair<std::uint64_t, std::uint64_t>{1, 4096},
                                      {2621440, 4096},
                                      {0, 8192},
                                      {0, 0},
                                      {~std::uint64_t{0} - 4095, 4096},
                                      {4096, ~std::uint64_t{0} - 4095}}) {
    forge(good + "\n", table(start, length));
    EXPECT_THAT(why_not(base_), HasSubstr("is damaged")) << start << " " << length;
  }
  for (
      const char* text :
      {"", "[]", "{}", R"({"memory_bytes": 2621440, "run_count": 1, "globals": {}})",
       R"({"memory_bytes": 2621440, "run_count": 1, "globals": [1]})",
       R"({"memory_bytes": 2621440, "run_count": 1, "globals": [{"name": "a", "type": 9, "bits": 0}]})",
       R"({"memory_bytes": 2621440, "run_count": 18446744073709551615, "globals": []})",
       R"({"memory_bytes": 65536, "run_count": 1, "globals": []})",
       R"({"memory_bytes": 2621440, "run_count": 1000000, "globals": []})"}) {
    forge(std::string(text) + "\n", table(0, 4096));
    EXPECT_THAT(why_not(base_), HasSubstr("is damaged")) << text;
  }
}

TEST_F(LayerFile, WhateverFailsTheOldOneIsThereAndNothingElse) {
  write(1);
  FaultyFiles files;
  files.write_max = 40'000;
  bool failed = true;
  for (std::size_t call = 0; failed; ++call) {
    ASSERT_LT(call, 100U);
    files.fail_at(call, FaultyFiles::Fault::error, Errno::nospc);
    try {
      write(2, files);
      failed = false;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errno::nospc);
    }
    EXPECT_EQ(word(), failed ? 1U : 2U) << call;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << call;
  }
}

}  // namespace
}  // namespace cloche::python
