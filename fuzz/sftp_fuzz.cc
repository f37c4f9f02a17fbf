// SPDX-License-Identifier: Apache-2.0
// What SFTP and scp clients send, over the files of a sandbox. The first byte chooses the protocol,
// the second how the bytes are cut into pieces.
#include "base/check.h"
#include "cloche/engine.h"
#include "doors/ssh/scp_server.h"
#include "doors/ssh/sftp_server.h"

namespace {

cloche::Sandbox& fuzzed_sandbox() {
  static cloche::Engine engine({});
  static const std::unique_ptr<cloche::Sandbox> one = engine.create({.file_limit_bytes = 1 << 20});
  return *one;
}

void talk(cloche::ssh::FileProtocol& protocol, std::string_view input, std::size_t piece) {
  // What goes out is bounded by what came in, but for reads and listings.
  constexpr std::size_t out_max = 64 << 20;
  std::string out;
  protocol.feed({}, out);
  while (!input.empty() && !protocol.done() && out.size() < out_max) {
    protocol.feed(input.substr(0, piece), out);
    input.remove_prefix(std::min(piece, input.size()));
  }
  protocol.end_input();
  protocol.feed({}, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = data[1] == 0 ? input.size() + 1 : data[1];
  Files& files = fuzzed_sandbox().files();
  const auto folders = std::make_shared<ssh::OpenFolders>();
  (void)files.make_directories("/workspace/d");
  (void)files.write("/workspace/d/f", "content");
  if (data[0] % 3 == 0) {
    ssh::SftpServer sftp(
        fuzzed_sandbox(), *folders,
        input.size() % 2 == 0 ? ssh::SymlinkOrder::target_first : ssh::SymlinkOrder::link_first);
    talk(sftp, input, piece);
  } else {
    ssh::ScpOptions options;
    options.role = data[0] % 3 == 1 ? ssh::ScpOptions::Role::sink : ssh::ScpOptions::Role::source;
    options.recursive = options.keep_times = true;
    options.paths = {"/workspace/d"};
    ssh::ScpServer scp(fuzzed_sandbox(), *folders, options);
    talk(scp, input, piece);
  }
  (void)files.remove_all("/workspace/d");
  return 0;
}
