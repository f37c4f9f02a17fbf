// SPDX-License-Identifier: Apache-2.0
#include "native/warden/warden.h"
#include "native/warden/wire.h"

// Its argument, where there is one, is a folder of control groups to use.
int main(int count, char** arguments) {
  return cloche::warden::serve_boxes(cloche::warden::socket_fd, count > 1 ? arguments[1] : nullptr);
}
