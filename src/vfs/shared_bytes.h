// SPDX-License-Identifier: Apache-2.0
// SharedBytes: immutable bytes with many owners: file content that any number of trees refer to
// without a copy. The last owner frees it. Thread-safe (atomic reference count).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace cloche::vfs {

class SharedBytes {
 public:
  // Bytes at `data` for as long as `owner` lives.
  SharedBytes(std::span<const std::byte> data, std::shared_ptr<const void> owner)
      : data_(data), owner_(std::move(owner)) {}
  SharedBytes() = default;

  // Takes the string over.
  static SharedBytes from_string(std::string content);

  // A private read-only mapping of a host file; the host must not truncate it while it is mapped.
  // Throws HostError. An empty file is an empty SharedBytes.
  static SharedBytes map_file(const std::string& host_path);

  // A part of this, which keeps the whole alive. `offset + size` must be within it.
  SharedBytes part(std::size_t offset, std::size_t size) const;

  std::span<const std::byte> bytes() const { return data_; }
  const std::byte* data() const { return data_.data(); }
  std::size_t size() const { return data_.size(); }
  bool empty() const { return data_.empty(); }

 private:
  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;
};

}  // namespace cloche::vfs
