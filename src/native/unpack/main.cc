// SPDX-License-Identifier: Apache-2.0
#include "native/unpack/unpack_program.h"

int main(int argc, char** argv) { return cloche::unpack::unpack_main(argc, argv); }
