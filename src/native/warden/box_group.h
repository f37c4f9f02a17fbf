// SPDX-License-Identifier: Apache-2.0
// BoxGroup: the control group of a box, as its pid 1 has it, who is in it with all others. No guest
// can reach its files: they are in no mount of the box.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "native/warden/fd.h"

namespace cloche::warden {

class BoxGroup {
 public:
  // None, of which nothing holds.
  BoxGroup() noexcept = default;
  // For the warden: a file is written as whoever has opened it may, and from within the group's own
  // namespace nobody may.
  explicit BoxGroup(const Fd& folder) noexcept;

  static constexpr std::size_t file_count = 5;
  std::array<Fd, file_count>& files() noexcept { return files_; }

  struct Limits {
    std::uint64_t memory_bytes = 0;  // 0: none
    std::uint32_t processes = 0;     // with pid 1
    std::uint32_t cpus = 0;
  };
  // Those whose controllers are there. False with errno.
  bool limit(const Limits& to) const noexcept;

  // Whether it can hold how many processes there are.
  bool holds_processes() const noexcept { return static_cast<bool>(files_[processes]); }

  // How many processes the kernel has ended because of the limit of memory since this was asked
  // last.
  std::uint64_t killed() noexcept;

 private:
  enum File : std::uint8_t { swap, memory, processes, weight, events };
  bool write(File file, std::uint64_t value) const noexcept;

  std::array<Fd, file_count> files_;  // none: its controller is not there
  std::uint64_t known_killed_ = 0;
};

}  // namespace cloche::warden
