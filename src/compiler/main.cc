// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile_main.h"

int main(int argc, char** argv) { return cloche::compiler::compile_main(argc, argv); }
