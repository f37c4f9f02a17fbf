// SPDX-License-Identifier: Apache-2.0
// Preemption: how a guest is interrupted whose machine code checks nothing (Interruption::signals).
// For this layer.
//
// Who interrupts sends the guest's thread a real-time signal. Its handler looks where the thread
// was. In one of the program's own functions no code of the host is under way on that thread: no
// lock is held, no allocation half done. So the guest's answer is asked for right there, on the
// guest's stack, as an epoch check would have called it. A guest that goes on returns from the
// signal; one that must end goes on at an instruction that traps, and wasmtime unwinds it as it
// does for any trap. Anywhere else (a host function, a trampoline, memory.copy) nothing is done:
// host functions look for themselves before they return, and who has not answered gets the signal
// again, at growing intervals.
//
// A guest with handlers of signals of its own (a C program) is called right there too, within the
// handler of the host's signal: that is what happens to a native program. An exception that comes
// out of it is raised where the guest stands, for the frames that called the function in which it
// was stopped (stopped_guest.h). A function that catches exceptions itself would not get it, so a
// guest in one is asked a little later, when it is most likely in another.
//
// That a thread stops anywhere in a function asks some things of a program: no tail calls, whose
// moving of arguments overwrites the frame that wasmtime walks; no start function, which runs
// outside of a call; and what make_preemptible says of handlers.
#pragma once

#include <atomic>
#include <cstdint>

#include "wasm/native_code.h"
#include "wasm/stopped_guest.h"

namespace cloche::wasm {

// What a guest's call does about an interruption, on its own thread.
enum class Answer : std::uint8_t {
  go_on,
  ask_again,  // goes on, and wants to be asked again some milliseconds later
  raise,      // an exception comes out of the guest's handler
  end,        // the guest must not go on
};

class Preemption {
 public:
  // False where it cannot be: another CPU, a sanitizer that delays signals, no signal that is free,
  // no thread. Takes the signal, and begins the thread that repeats it, at the first call.
  static bool available() noexcept;

  // Asks each guest of this owner that computes in such code, or of all where it is null. One that
  // is in a host function is asked when that returns, one that begins before it does. Any thread.
  static void interrupt(const void* owner) noexcept;

  // How often there was an interruption: what a new guest has seen.
  static std::uint64_t count() noexcept;
};

// A call into a guest, on its thread. They nest: in a host function, or where the guest was asked.
class PreemptedCall {
 public:
  using Ask = Answer (*)(void* whom) noexcept;

  // `seen`: of the guest, kept between its calls, as `code` is. Host code runs until `begin`.
  PreemptedCall(const NativeCode& code, const GuestContext& context, std::uint64_t& seen,
                const void* owner, Ask ask, void* whom) noexcept;
  ~PreemptedCall();
  PreemptedCall(const PreemptedCall&) = delete;
  PreemptedCall& operator=(const PreemptedCall&) = delete;

  // The guest's code runs from now on where it answers `go_on`.
  Answer begin() noexcept;

  // The innermost call of this thread is asked when its host function returns, whatever comes.
  static void ask_self() noexcept;

 private:
  friend struct GuestRunner;

  const NativeCode& code_;
  const GuestContext context_;
  std::uint64_t& seen_;
  const Ask ask_;
  void* const whom_;
  // Of the thread before.
  PreemptedCall* const outer_;
  const void* const outer_owner_;
  const std::uint64_t outer_seen_;
  const bool outer_answers_signal_;
};

// A host function that the guest has called.
class HostSection {
 public:
  // For a guest of epochs it does nothing.
  explicit HostSection(bool is_preempted) noexcept;
  HostSection(const HostSection&) = delete;
  HostSection& operator=(const HostSection&) = delete;

  // The guest's code goes on where it answers `go_on`.
  Answer leave() noexcept;

  // It goes on where it catches what this host function raises, or not at all.
  void leave_raising() noexcept;

 private:
  const bool is_preempted_;
};

// Whether this thread answers in a signal's handler, and is in no guest that was called there.
bool is_answering_signal() noexcept;

}  // namespace cloche::wasm
