// SPDX-License-Identifier: Apache-2.0
// SignalFile: signalfd(2). A read takes pending signals of whoever reads; poll tells of those of
// the process that made it. Kernel lock held.
#pragma once

#include <cstdint>
#include <memory>

#include "kernel/files/file.h"
#include "kernel/process/signal.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Process;

class SignalFile : public File {
 public:
  SignalFile(std::uint64_t id, Process& maker, SignalSet wanted, std::uint32_t status_flags);

  void set_wanted(SignalSet wanted) REQUIRES(kernel_lock);

  // Whole signalfd_siginfo structures of 128 bytes; EINVAL when there is no room for one.
  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  PollEvents poll() override REQUIRES(kernel_lock);
  void poll_sources(PollSources& sources) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  std::string description() const override REQUIRES(kernel_lock) { return "anon_inode:[signalfd]"; }

 private:
  std::uint64_t id_;
  std::weak_ptr<Process> maker_;
  SignalSet wanted_;
  WaitQueue changed_;
};

}  // namespace cloche::kernel
