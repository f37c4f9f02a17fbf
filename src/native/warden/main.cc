// SPDX-License-Identifier: Apache-2.0
#include "native/warden/warden.h"
#include "native/warden/wire.h"

int main() { return cloche::warden::serve_boxes(cloche::warden::socket_fd); }
