// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/wasm_interpreter.h"

#include <utility>

#include "base/host_error.h"
#include "kernel/kernel.h"
#include "kernel/process/exec.h"
#include "sandbox/backend.h"
#include "sandbox/python/interpreter.h"

namespace cloche::sandbox {
WasmInterpreter::WasmInterpreter(SandboxState& state, std::filesystem::path image)
    : state_(state),
      image_file_(std::move(image)),
      port_(state.kernel().mutex()),
      out_(state.kernel().mutex()),
      err_(state.kernel().mutex()) {}

WasmInterpreter::~WasmInterpreter() { drop(); }

python::SessionOptions WasmInterpreter::session_options() {
  kernel::Kernel& kernel = state_.kernel();
  {
    const kernel::KernelLock lock(kernel.mutex());
    port_.hold(std::make_shared<python::SessionPort>(
        kernel, [this](std::string_view frame) { return listener_(frame); }));
    out_.hold(std::make_shared<python::SessionOutput>(kernel));
    err_.hold(std::make_shared<python::SessionOutput>(kernel));
  }
  python::SessionOptions options = interpreter_options(state_, out_.get(), err_.get());
  options.files[python::SessionPort::descriptor] = port_.get();
  return options;
}

Result<SessionInterpreter::Began, Error> WasmInterpreter::start() try {
  if (interpreter_) return Began::before;
  std::shared_ptr<python::OwnImage> image = state_.image();
  if (!image_file_.empty()) image = runtime().open_image(image_file_);
  // Made before the clock of an execution runs: it takes its time once per machine. Meanwhile who
  // stops the turn ends the wait.
  const std::uint64_t stops = this->stops();
  if (const auto program = kernel::load_for_host(state_.kernel(), runtime().tag(),
                                                 [&] { return this->stops() != stops; });
      !program)
    return session_failed("cannot start Python", program.error());
  if (!image) (void)runtime().prepare({});
  CLOCHE_TRY(start_from(std::move(image)));
  return Began::now;
} catch (const Error& problem) {
  return problem;
}

python::PythonRuntime& WasmInterpreter::runtime() const {
  python::PythonRuntime* runtime = state_.engine().python().runtime();
  if (runtime == nullptr) throw HostError("this system has no Python", Errno::noent);
  return *runtime;
}

Result<void, Error> WasmInterpreter::start_from(std::shared_ptr<python::OwnImage> image,
                                                const std::string& folder) {
  python::SessionOptions options = session_options();
  if (python::has_folder(state_.kernel(), folder)) options.cwd = folder;
  auto session = start_interpreter(state_, runtime(), std::move(options), image);
  if (!session) {
    drop();
    return session_failed("cannot start Python", session.error());
  }
  const MutexLock lock(interpreter_mutex_);
  interpreter_ = *std::move(session);
  interpreter_->begin();
  return {};
}

void WasmInterpreter::drop() {
  std::unique_ptr<python::PythonSession> old;
  {
    const MutexLock lock(interpreter_mutex_);
    old = std::move(interpreter_);
  }
  old.reset();
  port_.reset();
  out_.reset();
  err_.reset();
}

python::SessionOutput& WasmInterpreter::output_of(Stream stream) const {
  return stream == Stream::out ? *out_ : *err_;
}

void WasmInterpreter::begin_output(Stream stream, python::SessionOutput::Plan plan) {
  output_of(stream).begin(std::move(plan));
}

python::SessionOutput::Written WasmInterpreter::take_output(Stream stream) {
  return output_of(stream).take();
}

CleanOutput WasmInterpreter::clean_output() const { return state_.clean_output(); }

python::TurnResult WasmInterpreter::take(python::Turn what, std::string_view payload,
                                         const python::TurnLimits& limits) {
  return interpreter_->take(what, payload, limits);
}

std::uint64_t WasmInterpreter::stops() const {
  const MutexLock lock(interpreter_mutex_);
  return stops_;
}

void WasmInterpreter::stop(python::StopReason reason) {
  const MutexLock lock(interpreter_mutex_);
  ++stops_;
  if (interpreter_) interpreter_->stop(reason);
}

void WasmInterpreter::acknowledge_stop() {
  const MutexLock lock(interpreter_mutex_);
  if (interpreter_) interpreter_->acknowledge_stop();
}

void WasmInterpreter::repeat_stop() {
  const MutexLock lock(interpreter_mutex_);
  if (interpreter_) interpreter_->repeat_stop();
}

void WasmInterpreter::reply(std::uint32_t number, python::HostReply kind,
                            std::string_view payload) {
  port_->post(number, kind, payload);
}

Result<std::unique_ptr<SessionInterpreter>> WasmInterpreter::fork(Backend& twin) {
  auto made = std::make_unique<WasmInterpreter>(twin.wasm(), image_file_);
  if (!interpreter_) return std::unique_ptr<SessionInterpreter>(std::move(made));
  auto fork = interpreter_->fork(made->state_.kernel(), made->session_options());
  // One that was killed between two executions: the next one begins anew, and so does a fork's.
  if (!fork && fork.error() == Errno::srch)
    return std::unique_ptr<SessionInterpreter>(std::move(made));
  if (!fork) return fork.error();
  {
    const MutexLock lock(made->interpreter_mutex_);
    made->interpreter_ = *std::move(fork);
  }
  return std::unique_ptr<SessionInterpreter>(std::move(made));
}

void WasmInterpreter::save_image(const std::filesystem::path& file, CheckpointFile kind,
                                 const CheckpointLimits& limits) {
  const python::TurnResult turn =
      interpreter_->take(python::Turn::settle, {}, {.time = limits.time});
  if (turn.status != python::TurnStatus::finished) {
    const bool is_gone =
        turn.status == python::TurnStatus::ended || turn.status == python::TurnStatus::overdue;
    if (is_gone) drop();
    throw Error(ErrorKind::sandbox, Errno::io,
                "the session cannot be made an image: " +
                    (turn.reason.empty() ? "it does not come to rest" : turn.reason));
  }
  const auto image = interpreter_->capture();
  if (!image) throw session_failed("the session cannot be made an image", image.error());
  using enum python::PythonRuntime::ImageParts;
  runtime().save_image(file, *image,
                       {.packages = state_.packages(),
                        .folder = interpreter_->working_folder().value_or(""),
                        .limit_bytes = limits.bytes},
                       kind == CheckpointFile::whole ? whole : over_boot_image);
}

void WasmInterpreter::load_image(const std::filesystem::path& file) {
  std::shared_ptr<python::OwnImage> image = runtime().open_image(file);
  const std::string folder = image->folder;
  drop();
  if (const Result<void, Error> started = start_from(std::move(image), folder); !started)
    throw Error(started.error());
  // It begins by itself, and whether it could is known once it has answered something.
  const python::TurnResult first =
      interpreter_->take(python::Turn::exit_status, {}, {.time = state_.options().timeout});
  if (first.status != python::TurnStatus::ended && first.status != python::TurnStatus::overdue)
    return;
  drop();
  throw Error(ErrorKind::sandbox, Errno::io, "Python cannot go on from that file: " + first.reason);
}

kernel::TimerThread& WasmInterpreter::timers() noexcept {
  return state_.kernel().services().timers;
}

}  // namespace cloche::sandbox
