// SPDX-License-Identifier: Apache-2.0
#include "python/host_door.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernel/host/host_entry.h"
#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/linux/socket_messages.h"
#include "kernel/linux/trace.h"
#include "kernel/process/vectored_io.h"
#include "python/frames.h"
#include "python/interpreter_threads.h"
#include "python/own_requests.h"

namespace cloche::python {
namespace {

using kernel::Task;
using kernel::lnx::Call;
using kernel::lnx::SysResult;

constexpr std::int32_t bad_frame = -2;
constexpr std::uint32_t max_array = 65536;  // strings of one argv or environment
constexpr std::uint32_t array_end = 0xffffffff;

struct Header {
  Magic magic;
  std::uint32_t number;
  std::uint32_t marks;
  std::array<std::uint32_t, 6> words;
};
static_assert(sizeof(Header) == 36);

// Numbers that this guest may use, ascending. What is left out: memory (the guest's allocator owns
// it), clone and set_tid_address, reads and writes and paths that WASI has already.
constexpr std::array<std::uint16_t, 103> allowed{
    5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  17,  19,  20,  21,  22,  23,
    24,  25,  29,  32,  33,  34,  43,  44,  45,  46,  47,  48,  49,  50,  52,  53,  54,  55,
    56,  57,  59,  71,  76,  77,  81,  85,  94,  95,  98,  102, 103, 119, 120, 121, 122, 123,
    125, 126, 129, 134, 135, 136, 140, 141, 143, 144, 145, 146, 147, 148, 149, 150, 153, 154,
    155, 156, 157, 158, 159, 160, 165, 166, 172, 173, 174, 175, 176, 177, 179, 198, 199, 200,
    201, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 221, 242};
constexpr std::array<std::uint16_t, 11> allowed_high{261, 279, 285, 291, 410,   411,
                                                     414, 421, 436, 439, 0x1004};
static_assert(std::is_sorted(allowed.begin(), allowed.end()));

constexpr std::uint32_t rt_sigaction = 134;

bool is_allowed(std::uint32_t number) {
  return std::binary_search(allowed.begin(), allowed.end(), number) ||
         std::binary_search(allowed_high.begin(), allowed_high.end(), number);
}

// Handlers are functions of a Linux guest; this one may ignore a signal, take the default, or say
// with 2 that the interpreter handles it.
bool is_plain_action(const Call& call) REQUIRES(kernel::kernel_lock) {
  if (call.u32(1) == 0) return true;
  const Result<std::uint32_t> handler = call.memory.read<std::uint32_t>(call.u32(1));
  return handler && *handler <= (call.task.has_interpreter_signals() ? 2U : 1U);
}

struct Frame {
  Header header;
  std::uint32_t data;  // guest address
  std::uint32_t data_length;
};

Result<Frame> read_frame(const wasm::GuestMemory& memory, std::uint32_t address,
                         std::uint32_t length) {
  if (length < sizeof(Header) || !memory.holds(address, length)) return Errno::fault;
  CLOCHE_ASSIGN(const Header header, memory.read<Header>(address));
  if (header.magic != request::system_call) return Errno::inval;
  return Frame{header, address + static_cast<std::uint32_t>(sizeof(Header)),
               length - static_cast<std::uint32_t>(sizeof(Header))};
}

Result<void> make_addresses(const Frame& frame, const wasm::GuestMemory& memory,
                            std::uint32_t offset) {
  for (std::uint32_t i = 0; i < max_array; ++i) {
    const std::uint64_t at = std::uint64_t{offset} + std::uint64_t{i} * 4;
    if (at + 4 > frame.data_length) return Errno::fault;
    const std::uint32_t address = frame.data + static_cast<std::uint32_t>(at);
    CLOCHE_ASSIGN(const std::uint32_t word, memory.read<std::uint32_t>(address));
    if (word == array_end) return memory.write(address, std::uint32_t{0});
    if (word >= frame.data_length) return Errno::fault;
    CLOCHE_TRY(memory.write(address, frame.data + word));
  }
  return Errno::toobig;
}

// An offset becomes an address, all ones become null.
Result<void> make_address(const Frame& frame, std::uint32_t& word) {
  if (word == array_end) {
    word = 0;
    return {};
  }
  if (word >= frame.data_length) return Errno::fault;
  word += frame.data;
  return {};
}

Result<void> make_message_addresses(const Frame& frame, const wasm::GuestMemory& memory,
                                    std::uint32_t offset) {
  kernel::lnx::GuestMsghdr header{};
  if (frame.data_length - offset < sizeof(header)) return Errno::fault;
  CLOCHE_ASSIGN(header, memory.read<kernel::lnx::GuestMsghdr>(frame.data + offset));
  if (header.iov_count > kernel::iov_max) return Errno::msgsize;
  const std::uint64_t buffers_end = std::uint64_t{header.iov} + std::uint64_t{header.iov_count} * 8;
  if (header.iov_count > 0 && buffers_end > frame.data_length) return Errno::fault;
  for (std::uint32_t i = 0; i < header.iov_count; ++i) {
    const std::uint32_t at = frame.data + header.iov + i * 8;
    CLOCHE_ASSIGN(std::uint32_t buffer, memory.read<std::uint32_t>(at));
    CLOCHE_TRY(make_address(frame, buffer));
    CLOCHE_TRY(memory.write(at, buffer));
  }
  CLOCHE_TRY(make_address(frame, header.name));
  CLOCHE_TRY(make_address(frame, header.iov));
  CLOCHE_TRY(make_address(frame, header.control));
  return memory.write(frame.data + offset, header);
}

Result<std::array<std::uint32_t, 6>> arguments(const Frame& frame,
                                               const wasm::GuestMemory& memory) {
  std::array<std::uint32_t, 6> words = frame.header.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t bit = std::uint32_t{1} << i;
    if ((frame.header.marks & bit) == 0) continue;
    if (words[i] >= frame.data_length) return Errno::fault;
    if ((frame.header.marks & (bit << 8)) != 0) CLOCHE_TRY(make_addresses(frame, memory, words[i]));
    if ((frame.header.marks & (bit << 16)) != 0)
      CLOCHE_TRY(make_message_addresses(frame, memory, words[i]));
    words[i] += frame.data;
  }
  return words;
}

SysResult perform(Task& task, const wasm::GuestMemory& memory, const Frame& frame)
    REQUIRES(kernel::kernel_lock) {
  const kernel::lnx::Entry* entry = kernel::lnx::find_call(frame.header.number);
  if (entry == nullptr || !is_allowed(frame.header.number)) return Errno::nosys;
  CLOCHE_ASSIGN(const auto words, arguments(frame, memory));
  Call call{task, task.kernel(), task.process(), memory, words};
  if (frame.header.number == rt_sigaction && !is_plain_action(call)) return Errno::inval;
  for (;;) {
    SysResult result = entry->handler(call);
    if (result || result.error() != Errno::restart) {
      if (task.kernel().options().trace_syscalls) kernel::lnx::trace_call(call, *entry, result);
      return result;
    }
    if (task.attend()) return Errno::intr;
  }
}

// "imm0" and addresses of objects: their reference counts become the one that the interpreter never
// changes. It is the guest's own memory, and nobody else's.
Result<void> make_immortal(const wasm::GuestMemory& memory, std::uint32_t request,
                           std::uint32_t length) {
  constexpr std::uint32_t immortal = 5U << 28;
  constexpr std::uint32_t immortal_from = 1U << 30;
  constexpr std::uint32_t max_bytes = 1U << 16;  // nothing interrupts this loop
  if (length > max_bytes) return Errno::inval;
  std::uint32_t at = request + static_cast<std::uint32_t>(request::make_immortal.size());
  for (auto left = static_cast<std::uint32_t>(length / sizeof(std::uint32_t)); left > 1;
       --left, at += sizeof(std::uint32_t)) {
    CLOCHE_ASSIGN(const std::uint32_t object, memory.read<std::uint32_t>(at));
    CLOCHE_ASSIGN(const std::uint32_t count, memory.read<std::uint32_t>(object));
    if (count > 0 && count < immortal_from) CLOCHE_TRY(memory.write(object, immortal));
  }
  return {};
}

// "pek0", an address, then room: the room gets what is in the guest's own memory there. "pok0", an
// address, then bytes: the guest's own memory gets them there.
enum class Copy : std::uint8_t { into_frame, out_of_frame };
Result<void> copy(const wasm::GuestMemory& memory, std::uint32_t request, std::uint32_t length,
                  Copy how) {
  constexpr std::uint32_t head = 8;
  if (length < head) return Errno::inval;
  if (length == head) return {};
  CLOCHE_ASSIGN(const std::uint32_t address, memory.read<std::uint32_t>(request + 4));
  CLOCHE_ASSIGN(const auto there, memory.slice(address, length - head));
  CLOCHE_ASSIGN(const auto frame, memory.slice(request + head, length - head));
  const bool is_into = how == Copy::into_frame;
  std::memmove(is_into ? frame.data() : there.data(), is_into ? there.data() : frame.data(),
               frame.size());
  return {};
}

// "sgn0" and kernel::InterpreterSignals.
Result<void> take_signal_words(wasm::HostCall& host, std::uint32_t request) {
  static_assert(sizeof(kernel::InterpreterSignals) == 20);
  CLOCHE_ASSIGN(const auto words, host.memory().read<kernel::InterpreterSignals>(request + 4));
  return kernel::enter_kernel(host,
                              [&](Task& task, const wasm::GuestMemory&)
                                  REQUIRES(kernel::kernel_lock) -> Result<void> {
                                    task.set_interpreter_signals(words);
                                    return {};
                                  });
}

// Requests that are no system calls; nothing for one that is.
std::optional<Result<void>> perform_own(wasm::HostCall& host, std::uint32_t request,
                                        std::uint32_t length) {
  const wasm::GuestMemory memory = host.memory();
  if (!memory.holds(request, length) || length < sizeof(Header::magic)) return Errno::fault;
  const auto magic = memory.read<Magic>(request);
  if (!magic || *magic == request::system_call) return std::nullopt;
  if (*magic == request::make_immortal) return make_immortal(memory, request, length);
  if (*magic == request::peek) return copy(memory, request, length, Copy::into_frame);
  if (*magic == request::poke) return copy(memory, request, length, Copy::out_of_frame);
  if (*magic == request::signal_words) return take_signal_words(host, request);
  if (*magic == request::change_package) return change_package(host, request, length);
  if (*magic == request::open_wheel) return open_wheel(host, request, length);
  if (*magic == request::show_figure) return show_figure(host, request, length);
  if (*magic == request::begin_thread) return begin_thread(host, request);
  if (*magic == request::run_thread) return run_thread(host, request);
  if (*magic == request::yield_thread) return yield_thread(host, request);
  if (*magic == request::end_thread) return end_thread(host);
  if (*magic == request::tick) return tick(host, request);
  return std::nullopt;
}

std::int32_t call(wasm::HostCall& host, std::uint32_t request, std::uint32_t length,
                  std::uint32_t answer_out, std::uint32_t answer_length_out) noexcept {
  const wasm::GuestMemory memory = host.memory();
  if (!memory.write(answer_out, std::uint32_t{0}) ||
      !memory.write(answer_length_out, std::uint32_t{0}))
    return bad_frame;
  if (const auto done = perform_own(host, request, length)) return *done ? 0 : bad_frame;
  const Result<Frame> frame = read_frame(memory, request, length);
  if (!frame) return bad_frame;
  const SysResult result = kernel::enter_kernel(
      host,
      [&](Task& task, const wasm::GuestMemory& now)
          REQUIRES(kernel::kernel_lock) -> SysResult { return perform(task, now, *frame); });
  const std::int64_t value = result ? *result : -static_cast<std::int64_t>(result.error());
  (void)memory.write(request, value);
  return 0;
}

}  // namespace

void define_host_door(wasm::Linker& linker) {
  linker.define(wasm::host_function<call>("host", "call"));
}

}  // namespace cloche::python
