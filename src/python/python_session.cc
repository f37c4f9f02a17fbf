#include "python/python_session.h"

#include "kernel/task.h"
#include "python/start_block.h"

namespace cloche::python {

// What the session and its process say to each other; members are guarded by the kernel lock.
struct PythonSession::Shared {
  enum class Request : std::uint8_t { none, execute, capture };

  PythonRuntime* runtime = nullptr;
  std::shared_ptr<const wasm::MemoryImage> image;  // to start from; null: the boot image
  bool is_fork = false;

  Request request = Request::none;
  std::string source;
  bool answered = false;
  bool gone = false;
  bool has_run = false;
  // What the first code of this session's forks writes; they learn it together.
  std::shared_ptr<HotPages> fork_pages = std::make_shared<HotPages>();
  // The same for this session itself, shared with the other forks of its parent; null for one that
  // is no fork.
  std::shared_ptr<HotPages> own_pages;
  wasm::Outcome outcome;  // of the turn
  Errno capture_error = Errno::io;
  kernel::WaitQueue asked;   // the process sleeps here
  kernel::WaitQueue answer;  // the session sleeps here

  HotPages& hot_pages() const { return own_pages ? *own_pages : runtime->session_pages(); }
  wasm::Outcome serve(kernel::Task& task);
  wasm::Outcome begin(kernel::Task& task);
  wasm::Outcome take_requests(kernel::Task& task);
  void perform(kernel::Task& task, Request what, const std::string& text);
};

namespace {

constexpr std::int32_t turn_exited = 2;      // session.py: the code called sys.exit
constexpr std::int32_t asked_to_exit = 256;  // + its status, in Shared::outcome

}  // namespace

// The process's life, on its task's thread.
wasm::Outcome PythonSession::Shared::serve(kernel::Task& task) {
  wasm::Outcome end = begin(task);
  if (end.returned()) end = take_requests(task);
  const std::lock_guard lock(task.kernel().mutex());
  gone = true;
  answer.wake_all();
  return end;
}

wasm::Outcome PythonSession::Shared::begin(kernel::Task& task) {
  wasm::Outcome failed;
  failed.ending = wasm::Ending::trapped;
  failed.trap = wasm::Trap::other;
  if (!image) image = runtime->boot_image(&failed.message);
  if (!image) return failed;
  if (!image->map_into(task.instance())) return failed;
  // A session is likely to be forked, with much state.
  if (!wasm::prepare_for_capture(task.instance())) return failed;
  image.reset();
  hot_pages().prepare(task.instance());
  std::string frame;
  {
    const std::lock_guard lock(task.kernel().mutex());
    if (!task.account_memory(task.instance().memory().size())) return failed;
    frame = start_block(is_fork ? Turn::resume : Turn::session, task.process(),
                        task.kernel().options().host_name);
  }
  return take_turn(task.instance(), frame);
}

wasm::Outcome PythonSession::Shared::take_requests(kernel::Task& task) {
  kernel::Kernel& kernel = task.kernel();
  std::unique_lock lock(kernel.mutex());
  for (;;) {
    while (request == Request::none) {
      if (!task.block({&asked}) && task.attend() && task.unwinding()) {
        wasm::Outcome ended;
        ended.ending = wasm::Ending::exited;
        return ended;
      }
    }
    const Request what = std::exchange(request, Request::none);
    const std::string text = std::move(source);
    lock.unlock();
    perform(task, what, text);
    lock.lock();
    answered = true;
    answer.wake_all();
    if (!outcome.returned() || task.unwinding()) return outcome;
  }
}

void PythonSession::Shared::perform(kernel::Task& task, Request what, const std::string& text) {
  if (what == Request::execute) {
    // A turn's result is a byte: the status of a sys.exit is a second one.
    outcome = take_turn(task.instance(), code_frame(Turn::execute, text));
    if (!std::exchange(has_run, true)) hot_pages().learn(task.instance());
    if (!outcome.returned() || outcome.result.as_i32() != turn_exited) return;
    outcome = take_turn(task.instance(), code_frame(Turn::exit_status, {}));
    if (outcome.returned())
      outcome.result = wasm::Value::i32(asked_to_exit + outcome.result.as_i32());
    return;
  }
  auto captured = wasm::MemoryImage::capture(task.instance());
  if (captured) {
    image = *std::move(captured);
  } else {
    capture_error = captured.error();
  }
}

Result<std::unique_ptr<PythonSession>> PythonSession::spawn(PythonRuntime& runtime,
                                                            kernel::Kernel& kernel,
                                                            const SessionOptions& options,
                                                            std::shared_ptr<Shared> shared) {
  CLOCHE_ASSIGN(const std::shared_ptr<const kernel::Program> python,
                kernel.services().programs.load(runtime.tag()));
  shared->runtime = &runtime;
  auto program = std::make_shared<kernel::Program>(*python);
  program->startup.run = [shared](kernel::Task& task) { return shared->serve(task); };
  kernel::SpawnRequest request;
  request.path = "/usr/bin/python3";
  request.program = std::move(program);
  request.argv = {"python3"};
  request.environment = options.environment;
  request.cwd = options.cwd;
  request.files = options.files;
  Result<kernel::ProcessPtr> process = kernel.spawn(request);
  {
    const std::lock_guard lock(kernel.mutex());
    request.files.clear();
  }
  if (!process) return process.error();
  return std::unique_ptr<PythonSession>(
      new PythonSession(runtime, kernel, std::move(shared), *std::move(process)));
}

Result<std::unique_ptr<PythonSession>> PythonSession::start(PythonRuntime& runtime,
                                                            kernel::Kernel& kernel,
                                                            const SessionOptions& options) {
  return spawn(runtime, kernel, options, std::make_shared<Shared>());
}

Result<std::unique_ptr<PythonSession>> PythonSession::start_from(
    PythonRuntime& runtime, kernel::Kernel& kernel, const SessionOptions& options,
    std::shared_ptr<const wasm::MemoryImage> image, std::shared_ptr<HotPages> hot_pages) {
  auto shared = std::make_shared<Shared>();
  shared->image = std::move(image);
  shared->is_fork = true;
  shared->own_pages = std::move(hot_pages);
  return spawn(runtime, kernel, options, std::move(shared));
}

PythonSession::PythonSession(PythonRuntime& runtime, kernel::Kernel& kernel,
                             std::shared_ptr<Shared> shared, kernel::ProcessPtr process)
    : runtime_(runtime),
      kernel_(kernel),
      shared_(std::move(shared)),
      process_(std::move(process)) {}

PythonSession::~PythonSession() {
  kernel_.kill_job(process_->job);
  (void)kernel_.wait_for(process_, std::nullopt);
  const std::lock_guard lock(kernel_.mutex());
  process_.reset();
}

bool PythonSession::wait_for_answer(kernel::Deadline deadline) {
  kernel::Waiter waiter;
  kernel::WaitQueue* const queues[] = {&shared_->answer};
  while (!shared_->answered && !shared_->gone) {
    if (!waiter.sleep(kernel_.mutex(), queues, deadline)) return shared_->answered || shared_->gone;
  }
  return true;
}

TurnResult PythonSession::execute(std::string_view source, kernel::Deadline deadline) {
  TurnResult result;
  std::unique_lock lock(kernel_.mutex());
  shared_->answered = false;
  if (!shared_->gone) {
    shared_->source = source;
    shared_->request = Shared::Request::execute;
    shared_->asked.wake_all();
  }
  if (!wait_for_answer(deadline)) {
    lock.unlock();
    kernel_.kill_job(process_->job);
    return {TurnStatus::overdue, 0,
            "the code was stopped at its time limit, and the session with it"};
  }
  if (!shared_->answered || !shared_->outcome.returned()) {
    result.status = TurnStatus::ended;
    result.reason = "the session has ended";
    if (!shared_->outcome.message.empty()) result.reason += ": " + shared_->outcome.message;
    return result;
  }
  const std::int32_t code = shared_->outcome.result.as_i32();
  if (code >= asked_to_exit) {
    result.status = TurnStatus::exited;
    result.exit_code = code - asked_to_exit;
  } else if (code != 0) {
    result.status = TurnStatus::raised;
  }
  return result;
}

Result<std::shared_ptr<const wasm::MemoryImage>> PythonSession::capture() {
  const std::lock_guard lock(kernel_.mutex());
  if (shared_->gone) return Errno::srch;
  shared_->answered = false;
  shared_->image.reset();
  shared_->request = Shared::Request::capture;
  shared_->asked.wake_all();
  (void)wait_for_answer(std::nullopt);
  if (!shared_->image) return shared_->gone ? Errno::srch : shared_->capture_error;
  return std::exchange(shared_->image, nullptr);
}

Result<std::unique_ptr<PythonSession>> PythonSession::fork(kernel::Kernel& kernel,
                                                           const SessionOptions& options) {
  CLOCHE_ASSIGN(std::shared_ptr<const wasm::MemoryImage> image, capture());
  return start_from(runtime_, kernel, options, std::move(image), shared_->fork_pages);
}

}  // namespace cloche::python
