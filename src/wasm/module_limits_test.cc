// SPDX-License-Identifier: Apache-2.0
#include "wasm/module_limits.h"

#include <gmock/gmock.h>

#include <tuple>
#include <vector>

namespace cloche::wasm {
namespace {

using Bytes = std::vector<std::byte>;

void put_number(Bytes& to, std::uint64_t value) {
  do {
    const auto low = static_cast<std::uint8_t>(value & 0x7F);
    value >>= 7;
    to.push_back(std::byte(value != 0 ? low | 0x80 : low));
  } while (value != 0);
}

// A module with nothing but a code section of functions of these sizes.
Bytes module_of(const std::vector<std::size_t>& sizes) {
  Bytes section;
  put_number(section, sizes.size());
  for (const std::size_t size : sizes) {
    put_number(section, size);
    section.insert(section.end(), size, std::byte{0});
  }
  Bytes module;
  for (const char byte : {'\0', 'a', 's', 'm', '\1', '\0', '\0', '\0'})
    module.push_back(static_cast<std::byte>(byte));
  for (const char byte : {'\1', '\1', '\0'})  // no types
    module.push_back(static_cast<std::byte>(byte));
  module.push_back(std::byte{10});
  put_number(module, section.size());
  module.insert(module.end(), section.begin(), section.end());
  return module;
}

TEST(ModuleLimits, UsualFunctionsPass) {
  EXPECT_FALSE(beyond_limits(module_of({1, 500, max_guest_function_bytes})));
}

TEST(ModuleLimits, OneLongFunctionIsRefused) {
  const auto problem = beyond_limits(module_of({3, max_guest_function_bytes + 1}));
  ASSERT_TRUE(problem);
  EXPECT_THAT(*problem, testing::HasSubstr("524289 bytes"));
}

TEST(ModuleLimits, ManyFunctionsAreRefused) {
  const auto problem = beyond_limits(module_of(std::vector<std::size_t>(max_guest_functions + 1)));
  ASSERT_TRUE(problem);
  EXPECT_THAT(*problem, testing::HasSubstr("200001 functions"));
}

TEST(ModuleLimits, ManyImportsAndExportsAreRefused) {
  for (const auto& [section, most, what] :
       {std::tuple(2, max_guest_imports, "imports"), std::tuple(7, max_guest_exports, "exports")}) {
    for (const std::uint32_t count : {most, most + 1}) {
      Bytes module = module_of({1});
      Bytes content;
      put_number(content, count);
      module.push_back(static_cast<std::byte>(section));
      put_number(module, content.size());
      module.insert(module.end(), content.begin(), content.end());
      const auto problem = beyond_limits(module);
      EXPECT_EQ(problem.has_value(), count > most) << what;
      EXPECT_THAT(problem.value_or(what), testing::HasSubstr(what));
    }
  }
}

TEST(ModuleLimits, DamagedBytesAreLeftToTheCompiler) {
  const Bytes whole = module_of({max_guest_function_bytes + 1});
  for (std::size_t size = 0; size < 20; ++size)
    EXPECT_FALSE(beyond_limits(std::span(whole).first(size)));
  Bytes endless{whole.begin(), whole.begin() + 12};
  endless.insert(endless.end(), 10, std::byte{0xFF});
  EXPECT_FALSE(beyond_limits(endless));
}

}  // namespace
}  // namespace cloche::wasm
