// SPDX-License-Identifier: Apache-2.0
// The program that a command of the host is in a box of the linux engine: it tells Cloche how it was
// called, and does what it is asked: reads its standard input, writes to its standard output and
// error, leaves. So a command takes part in pipes and jobs, is killed and waited for as any other
// program, and Cloche touches no descriptor of a guest.
//
// Without a C library: it is written into each sandbox that has commands, and counts there.
#include <cerrno>

#include "native/caller/memory_calls.h"
#include "native/caller/system.h"
#include "native/warden/call_wire.h"

__asm__(".globl _start\n_start:\n" CLOCHE_CALLER_START);

namespace cloche::caller {
namespace {

using warden::CallAsk;
using warden::CallHead;
using warden::CallOrder;
using warden::CallReply;

constexpr int status_lost = 1, status_cannot_execute = 126;
constexpr int family_unix = 1, kind_stream = 1, close_on_exec = 02000000, no_signal = 0x4000;
constexpr std::size_t most_directory = 4096;

struct UnixName {
  unsigned short family = family_unix;
  char path[108] = {};
};

char piece[warden::most_call_piece];
char directory[most_directory];

std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

[[noreturn]] void complain(const char* name, const char* what) {
  (void)write(2, name, length_of(name));
  (void)write(2, what, length_of(what));
  leave(status_cannot_execute);
}

// The socket to Cloche. Without Cloche there is no call.
class Line {
 public:
  explicit Line(int socket) : socket_(socket) {}
  int get() const { return socket_; }

  void send(const void* bytes, std::size_t size) const {
    const auto* from = static_cast<const char*>(bytes);
    while (size > 0) {
      const long done = system_call(SYS_sendto, socket_, address_of(from), static_cast<long>(size),
                                    no_signal, 0, 0);
      if (done == -EINTR) continue;
      if (done <= 0) leave(status_lost);
      from += done;
      size -= static_cast<std::size_t>(done);
    }
  }
  void receive(void* bytes, std::size_t size) const {
    auto* to = static_cast<char*>(bytes);
    while (size > 0) {
      const long done = read(socket_, to, size);
      if (done == -EINTR) continue;
      if (done <= 0) leave(status_lost);
      to += done;
      size -= static_cast<std::size_t>(done);
    }
  }
  void reply(long value) const {
    const CallReply said{static_cast<std::int32_t>(value)};
    send(&said, sizeof said);
  }

 private:
  const int socket_;
};

int connect_to_host() {
  UnixName name;
  constexpr std::size_t size = sizeof warden::call_socket_name - 1;
  for (std::size_t i = 0; i < size; ++i) name.path[i + 1] = warden::call_socket_name[i];
  const long socket = system_call(SYS_socket, family_unix, kind_stream | close_on_exec, 0);
  if (socket < 0) return -1;
  const long done =
      system_call(SYS_connect, socket, address_of(&name), sizeof name.family + 1 + size);
  return done == 0 ? static_cast<int>(socket) : -1;
}

void send_strings(const Line& line, char** strings, unsigned count) {
  for (unsigned i = 0; i < count; ++i) line.send(strings[i], length_of(strings[i]) + 1);
}

void introduce(const Line& line, char** arguments, unsigned argument_count, char** variables) {
  if (system_call(SYS_getcwd, address_of(directory), sizeof directory) < 0) directory[0] = '\0';
  CallHead head;
  head.arguments = argument_count;
  std::size_t bytes = length_of(directory) + 1;
  for (unsigned i = 0; i < argument_count; ++i) bytes += length_of(arguments[i]) + 1;
  for (; variables[head.variables] != nullptr; ++head.variables)
    bytes += length_of(variables[head.variables]) + 1;
  if (bytes > warden::most_call_bytes) complain(arguments[0], ": Argument list too long\n");
  head.bytes = static_cast<std::uint32_t>(bytes);
  line.send(&head, sizeof head);
  line.send(directory, length_of(directory) + 1);
  send_strings(line, arguments, argument_count);
  send_strings(line, variables, head.variables);
}

// Of a descriptor that does not block.
void wait_for(int fd, short events) {
  pollfd file{fd, events, 0};
  (void)poll(&file, 1);
}

void answer_read(const Line& line, std::size_t most) {
  long got = -EINTR;
  while (got == -EINTR || got == -EAGAIN) {
    if ((got = read(0, piece, most)) == -EAGAIN) wait_for(0, POLLIN);
  }
  line.reply(got);
  if (got > 0) line.send(piece, static_cast<std::size_t>(got));
}

void answer_write(const Line& line, int stream, std::size_t size) {
  line.receive(piece, size);
  long done = 0;
  for (std::size_t at = 0; at < size;) {
    done = write(stream, piece + at, size - at);
    if (done == -EAGAIN) wait_for(stream, POLLOUT);
    if (done > 0) at += static_cast<std::size_t>(done);
    if (done < 0 && done != -EINTR && done != -EAGAIN) break;
  }
  line.reply(done < 0 ? done : 0);
}

void answer_wait(const Line& line, unsigned wanted) {
  pollfd files[] = {{line.get(), POLLIN, 0},
                    {(wanted & warden::call_ready::input) != 0 ? 0 : -1, POLLIN, 0},
                    {(wanted & warden::call_ready::out) != 0 ? 1 : -1, POLLOUT, 0},
                    {(wanted & warden::call_ready::err) != 0 ? 2 : -1, POLLOUT, 0}};
  while (poll(files, 4) < 0) continue;
  if (files[0].revents != 0) {  // enough, or the end
    CallAsk ask;
    line.receive(&ask, sizeof ask);
  }
  unsigned ready = 0;
  for (unsigned i = 1; i < 4; ++i) {
    if (files[i].revents != 0) ready |= 1U << (i - 1);
  }
  line.reply(static_cast<long>(ready));
}

[[noreturn]] void serve(const Line& line) {
  for (;;) {
    CallAsk ask;
    line.receive(&ask, sizeof ask);
    const std::size_t size = ask.number < sizeof piece ? ask.number : sizeof piece;
    switch (ask.order) {
      case CallOrder::read: answer_read(line, size); break;
      case CallOrder::write: answer_write(line, static_cast<int>(ask.stream), size); break;
      case CallOrder::wait: answer_wait(line, ask.number); break;
      case CallOrder::enough: break;  // the waiting was over before
      case CallOrder::leave: leave(static_cast<int>(ask.number));
    }
  }
}

}  // namespace

extern "C" [[noreturn]] void cloche_caller_main(char** stack) {
  const auto count = static_cast<unsigned>(address_of(stack[0]));
  char** const arguments = stack + 1;
  const int socket = connect_to_host();
  if (socket < 0)
    complain(count > 1 ? arguments[1] : "host-command",
             ": nobody serves this command of the host: give the sandbox its commands again\n");
  const Line line(socket);
  introduce(line, arguments, count, arguments + count + 1);
  serve(line);
}

}  // namespace cloche::caller
