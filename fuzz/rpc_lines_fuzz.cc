// SPDX-License-Identifier: Apache-2.0
// Lines of a client that is broken or hostile, to the JSON-RPC door: whatever they are, it answers
// in whole lines of valid JSON and goes on. There is no sandbox behind it, so that a search is
// fast.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "doors/lines/output.h"
#include "doors/rpc/connection.h"
#include "doors/rpc/own_sandboxes.h"
#include "pieces.h"

namespace {

using cloche::rpc::Connection;
using cloche::rpc::Json;

class Lines final : public cloche::rpc::Sink {
 public:
  explicit Lines(cloche::lines::Output& output) : output_(output) {}
  void send(Kind, std::string message) noexcept override { output_.send(std::move(message)); }
  void send_last(std::string message) noexcept override { output_.send_last(std::move(message)); }

 private:
  cloche::lines::Output& output_;
};

// Each line is an object with an id, and a result or an error.
void check_answers(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) std::abort();
    const Json answer = Json::parse(text.substr(0, end), nullptr, false);
    if (!answer.is_object() || !answer.contains("id") ||
        answer.contains("result") == answer.contains("error"))
      std::abort();
    text.remove_prefix(end + 1);
  }
}

std::string all_of(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (::pread(fd, text.data(), text.size(), 0) != size) std::abort();
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cloche::UniqueFd file(::memfd_create("answers", MFD_CLOEXEC));
  cloche::lines::Output output(file.get());
  {
    Lines lines(output);
    cloche::rpc::OwnSandboxes sandboxes([](Connection&) -> std::unique_ptr<cloche::Engine> {
      throw std::runtime_error("there is no engine here");
    });
    Connection connection(lines, sandboxes);
    std::string_view text(reinterpret_cast<const char*>(data), size);
    while (!text.empty() && !connection.is_over()) connection.take(cloche::fuzz::next_piece(text));
  }
  check_answers(all_of(file.get()));
  return 0;
}
