// SPDX-License-Identifier: Apache-2.0
// A store of images for a test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cloche::sandbox {

// While it lives, the store of images is a new folder.
class ImageStoreForTests {
 public:
  ImageStoreForTests() {
    std::string name = (std::filesystem::temp_directory_path() / "cloche-store-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    ::setenv("CLOCHE_IMAGES", name.c_str(), 1);
  }
  ~ImageStoreForTests() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  ImageStoreForTests(const ImageStoreForTests&) = delete;
  ImageStoreForTests& operator=(const ImageStoreForTests&) = delete;

 private:
  std::filesystem::path folder_;
};

}  // namespace cloche::sandbox
