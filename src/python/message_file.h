// SPDX-License-Identifier: Apache-2.0
// MessageFile: what a program of ours says while it is prepared, for the sentence that tells why
// that failed. Reads are empty.
#pragma once

#include <string>

#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::python {

class MessageFile final : public kernel::File {
 public:
  MessageFile() : File(kernel::o_rdwr) {}

  Result<std::size_t> read(kernel::Task&, std::span<std::byte>) override
      REQUIRES(kernel::kernel_lock) {
    return 0;
  }
  Result<std::size_t> write(kernel::Task&, std::span<const std::byte> from) override
      REQUIRES(kernel::kernel_lock) {
    constexpr std::size_t kept = 16384;
    const std::size_t room = kept - std::min(kept, text_.size());
    text_.append(reinterpret_cast<const char*>(from.data()), std::min(room, from.size()));
    return from.size();
  }
  Result<vfs::Stat> stat() override REQUIRES(kernel::kernel_lock) {
    vfs::Stat stat{};
    stat.type = vfs::FileType::fifo;
    return stat;
  }
  std::string description() const override REQUIRES(kernel::kernel_lock) { return "pipe:[0]"; }

  // Once the program has ended.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace cloche::python
