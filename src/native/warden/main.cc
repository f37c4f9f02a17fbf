// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "native/warden/inside.h"
#include "native/warden/warden.h"
#include "native/warden/wire.h"

// Its argument, where there is one, is a folder of control groups to use, or says that this is the
// init behind gVisor.
int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == cloche::warden::inside_word)
    return cloche::warden::serve_inside();
  return cloche::warden::serve_boxes(cloche::warden::socket_fd, count > 1 ? arguments[1] : nullptr);
}
