// SPDX-License-Identifier: Apache-2.0
#include "python/frames.h"

namespace cloche::python {

// A kind without a case is a warning of the compiler.
std::optional<FrameInfo> frame_info(Turn turn) noexcept {
  switch (turn) {
    case Turn::process:
      return FrameInfo{"start block",
                       "be the process of the start block; the result is its exit status"};
    case Turn::session:
      return FrameInfo{"start block", "adopt the start block, then wait for code"};
    case Turn::execute: return FrameInfo{"source text", "run it in the session"};
    case Turn::exit_status:
      return FrameInfo{"", "the result is the status that the last sys.exit of the session gave"};
    case Turn::resume:
      return FrameInfo{"start block", "be the process of the start block, as a fork of a session"};
    case Turn::join:
      return FrameInfo{
          "start block",
          "the same from an image of the user's: another sandbox, with its environment"};
    case Turn::image: return FrameInfo{"source text", "run it while a boot image is made"};
    case Turn::evaluate:
      return FrameInfo{"options as JSON, NUL, source text",
                       "run it in the session; the outcome comes as a record"};
    case Turn::snapshot:
      return FrameInfo{"options as JSON", "send the user's names, in pieces, and a record"};
    case Turn::restore: return FrameInfo{"a snapshot", "take names from it, and send a record"};
    case Turn::clear: return FrameInfo{"", "forget the user's names"};
    case Turn::settle:
      return FrameInfo{
          "", "let go of what belongs to this process, before its memory becomes an image"};
  }
  return std::nullopt;
}

std::optional<FrameInfo> frame_info(SessionWord word) noexcept {
  switch (word) {
    case SessionWord::call:
      return FrameInfo{"number (4 bytes, little endian), name, NUL, arguments as JSON",
                       "calls a callback of the host"};
    case SessionWord::forget_call: return FrameInfo{"number", "the call is not wanted any more"};
    case SessionWord::stops: return FrameInfo{"", "the request to stop has arrived, and is obeyed"};
    case SessionWord::listens:
      return FrameInfo{"", "a request to stop came before the code: one that holds is said again"};
    case SessionWord::record: return FrameInfo{"JSON", "how the turn ended"};
    case SessionWord::bytes: return FrameInfo{"bytes", "a piece of the state that was asked for"};
    case SessionWord::trace:
      return FrameInfo{"JSON texts with a line feed after each", "events of a traced execution"};
  }
  return std::nullopt;
}

std::optional<FrameInfo> frame_info(HostReply reply) noexcept {
  switch (reply) {
    case HostReply::result: return FrameInfo{"JSON", "the call's result"};
    case HostReply::error:
      return FrameInfo{"JSON", "the call's error: kind, callback, message, type"};
  }
  return std::nullopt;
}

std::optional<FrameInfo> frame_info(Magic magic) noexcept {
  if (magic == request::system_call)
    return FrameInfo{"number, marks, six words (4 bytes each), data",
                     "a system call of the Linux interface, on the data in place"};
  if (magic == request::make_immortal)
    return FrameInfo{"addresses of objects", "their reference counts never change any more"};
  if (magic == request::peek)
    return FrameInfo{"address, room", "the room gets what is in the guest's own memory there"};
  if (magic == request::poke)
    return FrameInfo{"address, bytes", "the guest's own memory gets the bytes there"};
  if (magic == request::signal_words)
    return FrameInfo{"five words",
                     "where the interpreter is told of signals (kernel::InterpreterSignals)"};
  if (magic == request::change_package)
    return FrameInfo{"`i` or `u`, a name with zeros up to the end",
                     "installs or uninstalls a package of the build"};
  if (magic == request::open_wheel)
    return FrameInfo{"descriptor, size (8 bytes), SHA-256, address",
                     "opens a file of the host's cache of wheels, or one to keep there"};
  if (magic == request::show_figure)
    return FrameInfo{"path with zeros up to the end", "a figure was shown, and is in that file"};
  if (magic == request::begin_thread)
    return FrameInfo{"argument (4 bytes)",
                     "a thread with a stack of its own: its number, or 0, is put in place"};
  if (magic == request::run_thread)
    return FrameInfo{"number (4 bytes)", "that thread goes on, 0 the main one; this one waits"};
  if (magic == request::yield_thread)
    return FrameInfo{"clock, address of a moment by it or 0 (4 bytes each)",
                     "the next thread goes on; without another the process waits for a signal or "
                     "that moment"};
  if (magic == request::end_thread)
    return FrameInfo{"", "this thread is about to end: nothing more is told to it"};
  if (magic == request::tick)
    return FrameInfo{"milliseconds, signal (4 bytes each)",
                     "the interpreter is told of that signal once, so much later; 0: never"};
  return std::nullopt;
}

}  // namespace cloche::python
