// SPDX-License-Identifier: Apache-2.0
// Who is ended first where there is no memory, of the machine or of a control group: guests,
// however little they have themselves of what they keep the kernel busy with, then the rest of a
// box, and Cloche last.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string_view>

#include "native/warden/fd.h"

namespace cloche::warden {

inline constexpr std::string_view score_of_guests = "750";
// Of the file server, packers and relays.
inline constexpr std::string_view score_of_helpers = "600";
// Of pid 1, at whose end a box ends.
inline constexpr std::string_view score_of_boxes = "500";
// Of the warden, at whose end all boxes do. Where it has the privilege to say so, nobody below gets
// less.
inline constexpr std::string_view score_of_warden = "400";

// Into a file oom_score_adj.
inline void set_score(const Fd& file, std::string_view score) noexcept {
  if (file) (void)!::write(file.get(), score.data(), score.size());
}

// Of a guest's process, which may have given itself less. False: it lets nobody give it more.
bool hold_score_of_guest(pid_t pid) noexcept;

}  // namespace cloche::warden
