// SPDX-License-Identifier: Apache-2.0
// Random scripts: every seed is one script, the same for ever. They end, print what they did, use
// builtins and a few plain tools, and depend on nothing but their text.
#pragma once

#include <cstdint>
#include <string>

namespace cloche::differential {

// A program that is right, of all constructs of the language: most of it runs.
std::string random_program(std::uint64_t seed);

// Tokens in no sensible order: what a shell says of it, and when, is compared.
std::string random_tokens(std::uint64_t seed);

}  // namespace cloche::differential
