// SPDX-License-Identifier: Apache-2.0
#include "native/images/oci_layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/hex.h"
#include "base/sha256.h"
#include "base/temp_dir_testing.h"

namespace cloche::images {
namespace {

class OciLayout : public ::testing::Test {
 protected:
  OciLayout() { std::filesystem::create_directories(folder_.path() / "blobs/sha256"); }

  std::string add_blob(const std::string& text) const {
    const std::string hex = to_hex(sha256(text));
    folder_.write("blobs/sha256/" + hex, text);
    return hex;
  }
  std::optional<ImageSource> read() const {
    const UniqueFd folder(::open(folder_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return read_image_folder(folder.get());
  }
  // How many bytes this process has read so far.
  static std::uint64_t bytes_read() {
    std::ifstream io("/proc/self/io");
    std::string name;
    std::uint64_t count = 0;
    io >> name >> count;
    EXPECT_EQ(name, "rchar:");
    return count;
  }

  const TempDir folder_;
};

constexpr int many = 200;
constexpr std::size_t layer_bytes = 1 << 20;

std::string of_many(const std::string& one) {
  std::string list = one;
  for (int i = 1; i < many; ++i) list += "," + one;
  return list;
}

TEST_F(OciLayout, ABlobThatManyLayersNameIsReadOnce) {
  const std::string layer = add_blob(std::string(layer_bytes, 'x'));
  const std::string config = add_blob("{}");
  const std::string manifest =
      add_blob(fmt::format(R"({{"config":{{"digest":"sha256:{}"}},"layers":[{}]}})", config,
                           of_many(fmt::format(R"({{"digest":"sha256:{}"}})", layer))));
  folder_.write("index.json",
                fmt::format(R"({{"manifests":[{{"digest":"sha256:{}"}}]}})", manifest));
  const std::uint64_t before = bytes_read();
  const auto image = read();
  EXPECT_LT(bytes_read() - before, 2 * layer_bytes);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->layers.size(), many);
}

TEST_F(OciLayout, AFileThatManyLayersOfDockersAreIsReadOnce) {
  const std::string layer = add_blob(std::string(layer_bytes, 'x'));
  folder_.write("config.json", fmt::format(R"({{"rootfs":{{"diff_ids":[{}]}}}})",
                                           of_many("\"sha256:" + layer + "\"")));
  folder_.write("manifest.json", fmt::format(R"([{{"Config":"config.json","Layers":[{}]}}])",
                                             of_many("\"blobs/sha256/" + layer + "\"")));
  const std::uint64_t before = bytes_read();
  const auto image = read();
  EXPECT_LT(bytes_read() - before, 2 * layer_bytes);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->layers.size(), many);
}

}  // namespace
}  // namespace cloche::images
