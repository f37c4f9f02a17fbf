// SPDX-License-Identifier: Apache-2.0
// Owner: whose sandboxes are counted together in what this process has once for all of them
// (mappings of memory, places for compilers, descriptors), so that nobody has all of it.
//
// The counts are for who limits them. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace cloche {

class Owner {
 public:
  // The one of that name; there is one as long as somebody holds it.
  static std::shared_ptr<Owner> named(const std::string& name);

  std::atomic<std::size_t> instances = 0;    // of wasm::MappingShare
  std::atomic<std::size_t> compilers = 0;    // of wasm::GuestCompiler
  std::atomic<std::size_t> descriptors = 0;  // of DescriptorShare
};

}  // namespace cloche
