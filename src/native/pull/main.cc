// SPDX-License-Identifier: Apache-2.0
#include "native/pull/pull_program.h"

int main(int argc, char** argv) { return cloche::pull::pull_main(argc, argv); }
