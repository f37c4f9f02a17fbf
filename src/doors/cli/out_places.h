// SPDX-License-Identifier: Apache-2.0
// OutPlaces: where the files go that are copied out of a sandbox. They are found before anything
// runs in it, and held: a guest that has the folder by a mount may put a link in the place of the
// file, or of the folder, and is not to say where on this machine its bytes are written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cloche/sandbox.h"
#include "doors/cli/options.h"

namespace cloche::cli {

class OutPlaces {
 public:
  // Throws HostError where a file cannot be written: who has waited an hour for it is not to hear
  // then that there is no such folder.
  explicit OutPlaces(const std::vector<CopyOut>& copies);

  // By which this process reaches them, for its jail: the folders of the files, and what takes the
  // bytes itself.
  std::vector<std::filesystem::path> paths() const;

  // False, and a sentence on standard error, when one of them cannot be copied.
  bool copy_all(Sandbox& sandbox) const;

 private:
  struct Place {
    CopyOut copy;
    UniqueFd held;     // the folder of the file, or what takes the bytes itself; none: `-`
    std::string name;  // in that folder; "" where there is none
  };
  static Place find(const CopyOut& copy);
  static Result<void> write(const Place& place, std::string_view content);
  static bool is_where_wanted(const Place& place);

  std::vector<Place> places_;
};

}  // namespace cloche::cli
