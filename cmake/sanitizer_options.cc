// SPDX-License-Identifier: Apache-2.0
// The options every sanitized program of ours starts with, whoever starts it. wasmtime turns
// SIGSEGV, SIGBUS, SIGILL and SIGFPE of a guest into traps and keeps signal stacks of its own, so
// the sanitizers leave both alone. It is not compiled for ThreadSanitizer, which sees its
// allocations but not what orders them: reports from inside it say nothing. Its handler of a trap
// allocates, which is safe there, as the signal comes from compiled guest code only. A server that
// ends while it compiles leaves that thread behind on purpose (RunningServer::run), and with it
// guests' threads that have ended and whom their pool joins when it wants the next one. Tests fork
// processes that begin threads, which it forbids where there were threads before.

#define CLOCHE_SIGNALS \
  "handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:use_sigaltstack=0"

extern "C" {
const char* __asan_default_options();
const char* __ubsan_default_options();
const char* __tsan_default_options();
const char* __tsan_default_suppressions();

const char* __asan_default_options() {
  return CLOCHE_SIGNALS ":strict_string_checks=1:detect_stack_use_after_return=0";
}
const char* __ubsan_default_options() { return "print_stacktrace=1:halt_on_error=1"; }
const char* __tsan_default_options() {
  return CLOCHE_SIGNALS ":halt_on_error=1:report_signal_unsafe=0:die_after_fork=0";
}
const char* __tsan_default_suppressions() {
  return "called_from_lib:libwasmtime.so\nrace:libwasmtime.so\n"
         "thread:cloche::serve::RunningServer::run\n"
         "thread:cloche::wasm::GuestThreads::create_here\n";
}
}
