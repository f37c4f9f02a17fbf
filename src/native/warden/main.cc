// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <string_view>

#include "native/warden/inside.h"
#include "native/warden/machine_filter.h"
#include "native/warden/starter.h"
#include "native/warden/warden.h"
#include "native/warden/wire.h"

// Its first argument, where there is one, says that this is the init behind gVisor, or what begins
// wardens; or it is a folder of control groups to use.
int main(int count, char** arguments) {
  using namespace cloche::warden;
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first == inside_word) return serve_inside();
  (void)leave_the_machine_alone();  // without any filter no box is made
  if (first == starter_word) return serve_starts(socket_fd, count > 2 ? arguments[2] : nullptr);
  return serve_boxes(socket_fd, count > 1 ? arguments[1] : nullptr, ::getppid());
}
