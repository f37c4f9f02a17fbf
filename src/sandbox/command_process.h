// SPDX-License-Identifier: Apache-2.0
// What an engine gives HostCommands: a call's process, and the files that make names into programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/host_command.h"

namespace cloche::sandbox {

// The process of a call, for the thread that serves it; wake() for any. See CommandCall.
class CommandProcess {
 public:
  virtual ~CommandProcess() = default;
  // As it was executed; NAME=value.
  virtual const std::vector<std::string>& argv() const = 0;
  virtual const std::vector<std::string>& environment() const = 0;
  virtual const std::string& directory() const = 0;

  virtual Result<std::size_t> read(std::span<char> to) = 0;
  virtual Result<void> write(Stream stream, std::string_view bytes) = 0;
  virtual Result<CommandCall::Ready> wait(const CommandCall::Ready& wanted) = 0;
  virtual void wake() = 0;
};

// Files of the sandbox, by absolute paths, with the rights of root.
class CommandFiles {
 public:
  virtual ~CommandFiles() = default;
  virtual bool has(std::string_view path) = 0;  // anything of that name, also a link
  // How it begins; empty where it is no regular file.
  virtual std::string head(std::string_view path, std::size_t size_bytes) = 0;
  virtual Result<void> write(std::string_view path, std::string_view content) = 0;  // a program
  virtual void remove(std::string_view path) = 0;
};

}  // namespace cloche::sandbox
