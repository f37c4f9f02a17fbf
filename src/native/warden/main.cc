// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <string_view>

#include "native/warden/inside.h"
#include "native/warden/machine_filter.h"
#include "native/warden/starter.h"
#include "native/warden/warden.h"
#include "native/warden/wire.h"

namespace {

// Moves it away from where /proc/PID/cmdline shows it: a guest reads that of its pid 1, which begins
// as a copy of this process.
const char* take(char* argument) noexcept {
  static std::array<char, PATH_MAX> taken{};
  std::size_t size = 0;
  for (; argument[size] != 0; ++size) {
    if (size + 1 < taken.size()) taken[size] = argument[size];
    argument[size] = 0;
  }
  return taken.data();
}

}  // namespace

// Its first argument, where there is one, says that this is the init behind gVisor, or what begins
// wardens; or it is a folder of control groups to use.
int main(int count, char** arguments) {
  using namespace cloche::warden;
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first == inside_word) return serve_inside();
  (void)leave_the_machine_alone();  // without any filter no box is made
  if (first == starter_word)
    return serve_starts(socket_fd, count > 2 ? take(arguments[2]) : nullptr);
  return serve_boxes(socket_fd, count > 1 ? take(arguments[1]) : nullptr, ::getppid());
}
