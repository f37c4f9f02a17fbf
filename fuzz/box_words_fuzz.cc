// SPDX-License-Identifier: Apache-2.0
// What comes out of a box of the linux engine: what its file server answers, and what a program says
// that calls a command of the host, which may be a guest's. The first byte chooses; the rest is
// records, each with its size before it, or one stream.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/unique_fd.h"
#include "native/host/file_client.h"
#include "native/warden/wire.h"
#include "sandbox/native/native_call.h"

namespace {

using namespace cloche;

struct Ends {
  UniqueFd own, theirs;

  explicit Ends(int kind) {
    std::array<int, 2> ends{};
    CLOCHE_CHECK(::socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends.data()) == 0);
    own.reset(ends[0]);
    theirs.reset(ends[1]);
  }
};

void say(const UniqueFd& to, std::string_view bytes) {
  (void)::send(to.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// One answer: which of its head's members it has, in a byte, then what is behind it.
void say_answer(const UniqueFd& to, std::string_view input) {
  const std::uint8_t how = input.empty() ? 0 : static_cast<std::uint8_t>(input[0]);
  if ((how & 0x40) != 0) return say(to, input);  // as it is
  input.remove_prefix(std::min<std::size_t>(input.size(), 1));
  warden::FileAnswer answer{};
  answer.error = (how & 1) != 0 ? how : 0;
  answer.last = (how & 2) == 0 ? 1 : how;
  answer.made = how;
  answer.handle = how;
  answer.bytes = static_cast<std::uint32_t>(input.size());
  std::string record(reinterpret_cast<const char*>(&answer), sizeof answer);
  say(to, record.append(input));
}

void use_file(native::FileClient& files, native::FileClient::Handle file) {
  constexpr std::size_t count = 3000;
  if (const auto read = files.read(file, 0, count)) CLOCHE_CHECK(read->size() <= count);
  const std::string bytes(count, 'x');
  (void)files.write(file, 1, bytes);
  (void)files.append(file, bytes);
  (void)files.fill_holes(file, 2 * count);
  (void)files.stat(file);
  (void)files.truncate(file, count);
}

void ask_files(std::string_view input) {
  const std::uint8_t which = input.empty() ? 0 : static_cast<std::uint8_t>(input[0]);
  input.remove_prefix(std::min<std::size_t>(input.size(), 1));
  Ends first(SOCK_SEQPACKET);
  while (input.size() >= 2) {
    const std::size_t size = static_cast<std::uint8_t>(input[0]) +
                             std::size_t{256} * (static_cast<std::uint8_t>(input[1]) & 3U);
    input.remove_prefix(2);
    say_answer(first.theirs, input.substr(0, size));
    input.remove_prefix(std::min(size, input.size()));
  }
  // It ends after that; the next one does at once.
  (void)::shutdown(first.theirs.get(), SHUT_WR);
  native::FileClient files(
      [&]() -> Result<UniqueFd> {
        if (first.own) return std::move(first.own);
        Ends next(SOCK_SEQPACKET);
        return std::move(next.own);
      },
      std::chrono::milliseconds(20));
  constexpr std::size_t most = 20;
  switch (which % 6) {
    case 0:
      if (const auto all = files.list("/", most)) CLOCHE_CHECK(all->size() <= 1000);
      break;
    case 1: (void)files.stat("/f"); break;
    case 2:
      if (const auto file = files.open("/f", 0, 0)) {
        use_file(files, file->handle);
        files.close(file->handle);
      }
      break;
    case 3: (void)files.attribute_names("/f"); break;
    case 4: (void)files.resolve("/f"); break;
    default:
      (void)files.link_stat("/f");
      (void)files.attribute("/f", "user.a");
      (void)files.rename("/f", "/g", native::FileClient::Target::kept);
      (void)files.make_folders("/a/b");
      (void)files.remove_all("/a");
      (void)files.set_attribute("/f", "user.a", "b");
      break;
  }
}

void answer_call(std::string_view input) {
  Ends ends(SOCK_STREAM);
  warden::CallHead head{};
  std::memcpy(&head, input.data(), std::min(input.size(), sizeof head));
  if (input.size() > sizeof head && (head.version & 1) != 0) {  // a head that nearly is one
    const std::string_view text = input.substr(sizeof head);
    head.version = warden::call_version;
    head.bytes = static_cast<std::uint32_t>(text.size()) - (head.bytes & 0x1fU);
    head.arguments &= 7;
    head.variables &= 7;
    say(ends.theirs, {reinterpret_cast<const char*>(&head), sizeof head});
    say(ends.theirs, text);
  } else {
    say(ends.theirs, input);
  }
  (void)::shutdown(ends.theirs.get(), SHUT_WR);
  sandbox::CallRoom room;
  sandbox::NativeCall call(ends.own.get(), room);
  if (!call.begin()) return;
  CLOCHE_CHECK(call.argv().size() + call.environment().size() < input.size());
  std::array<char, 100> piece{};
  for (int turns = 0; turns < 10; ++turns) {
    const auto got = call.read(piece);
    if (!got) break;
    CLOCHE_CHECK(*got <= piece.size());
    (void)call.write(Stream::out, "x");
    call.wake();
    (void)call.wait({.input = true, .out = true, .err = false});
  }
  call.leave(7);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 15;
  if (size < 1 || size > most) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    ask_files(input);
  } else {
    answer_call(input);
  }
  return 0;
}
