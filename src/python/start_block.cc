// SPDX-License-Identifier: Apache-2.0
#include "python/start_block.h"

#include <fmt/format.h>

#include "kernel/kernel.h"

namespace cloche::python {

std::string start_block(Turn turn, const kernel::Process& process, std::string_view host_name) {
  const Result<std::string> cwd = process.kernel().files().path_of(process.cwd);
  std::string block = fmt::format("{}{} {} {} {} {} {}", static_cast<char>(turn), process.pid(),
                                  process.ppid, process.credentials.uid, process.credentials.gid,
                                  process.words->argv.size(), process.words->environment.size());
  const auto add = [&](std::string_view text) {
    block.push_back('\0');
    block.append(text);
  };
  add(cwd ? std::string_view(*cwd) : std::string_view("/"));
  add(host_name);
  add(process.exe);
  for (const std::string& text : process.words->argv) add(text);
  for (const std::string& text : process.words->environment) add(text);
  block.push_back('\0');
  return block;
}

std::string code_frame(Turn turn, std::string_view source) {
  std::string frame(1, static_cast<char>(turn));
  frame.append(source);
  return frame;
}

}  // namespace cloche::python
