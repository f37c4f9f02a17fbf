// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/code_context.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "base/json.h"
#include "base/random.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t waiting_max = 64;
constexpr std::size_t mark_bytes = 16;
constexpr std::chrono::seconds interrupt_patience{5};
constexpr std::chrono::milliseconds interrupt_again{100};
constexpr JsonBounds record_bounds{.depth = 64, .values = 1'000'000, .repeated = {}};

std::string line_of(const OrderedJson& event) { return write_json(event) + "\n"; }

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string written_line(Stream stream, std::string text) {
  return line_of({{"type", stream == Stream::out ? "stdout" : "stderr"},
                  {"text", std::move(text)},
                  {"timestamp", now_ns()}});
}

std::string ending_of(const RunResult& result) {
  if (!result.reason.empty()) return result.reason;
  if (result.status == RunStatus::signaled) return fmt::format("signal {}", result.signal);
  return fmt::format("exit status {}", result.exit_code);
}

std::size_t index_of(Stream stream) { return stream == Stream::out ? 0 : 1; }

}  // namespace

bool CodeContext::has_room() const {
  const MutexLock lock(mutex_);
  return waiting_.size() < waiting_max;
}

void CodeContext::run(Cell cell) {
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(cell));
  if (!std::exchange(is_busy_, true)) {
    workers_.post([self = shared_from_this()] { self->start_next(); }, owner_);
  } else if (running_ && running_->stream->is_over()) {
    // It was broken off, and has not heard it.
    workers_.post(
        [self = shared_from_this(), which = std::weak_ptr(running_)] { self->interrupt(which); });
  }
}

// Only while is_busy_: one at a time.
void CodeContext::start_next() {
  Cell cell;
  KernelPtr kernel;
  RunningPtr running;
  const std::string mark = random_hex(mark_bytes);
  std::uint64_t number = 0;
  std::deque<Cell> left;  // by their clients; they go without the lock
  {
    const MutexLock lock(mutex_);
    while (!waiting_.empty() && waiting_.front().stream->is_over()) {
      left.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    if (waiting_.empty()) {
      is_busy_ = false;
      return;
    }
    cell = std::move(waiting_.front());
    waiting_.pop_front();
    running = std::make_shared<Running>(mark);
    running->stream = cell.stream;
    running_ = running;
    kernel = kernel_;
    number = ++count_of_cells_;
  }
  changed_.notify_all();
  (void)cell.stream->send(line_of({{"type", "number_of_executions"}, {"execution_count", number}}));
  const std::string request = kernel_request(language_, mark, cell.code, cell.environment);
  if (kernel && !give(running, kernel, request)) kernel = nullptr;  // it has ended between cells
  if (!kernel) {
    try {
      kernel = start_kernel(std::move(cell.use));
    } catch (const Error& problem) {
      RunResult none;
      none.status = RunStatus::not_started;
      none.reason = problem.what();
      return fail(running, none);
    }
    if (!give(running, kernel, request)) return fail(running, kernel->live->wait());
  }
  cell.stream->on_leave([weak = weak_from_this(), which = std::weak_ptr(running)] {
    if (const auto self = weak.lock())
      self->workers_.post([self, which] { self->interrupt(which); });
  });
}

// Whether the kernel has taken the cell; where it has not, its end is not the cell's.
bool CodeContext::give(const RunningPtr& running, const KernelPtr& kernel,
                       const std::string& request) {
  const bool is_taken = kernel->live->write_all(request).ok();
  ReleasableMutexLock lock(mutex_);
  if (!is_taken) {
    changed_.wait(mutex_, [&]() REQUIRES(mutex_) { return kernel_ != kernel; });
    return false;
  }
  running->is_given = true;
  const bool has_ended = running_ == running && kernel_ != kernel;
  lock.unlock();
  if (has_ended) fail(running, kernel->live->wait());
  return true;
}

CodeContext::KernelPtr CodeContext::start_kernel(session::Session::Use use) {
  LiveRunOptions options;
  options.command.argv = kernel_command(language_);
  options.command.cwd = folder_;
  options.command.output = [weak = weak_from_this()](Stream stream, std::string_view bytes) {
    if (const auto self = weak.lock()) self->take(stream, bytes);
  };
  options.on_end = [self = shared_from_this()](const RunResult& result) {
    self->kernel_ended(result);
  };
  count_->add();
  auto kernel = std::make_shared<Kernel>();
  kernel->use = std::move(use);
  // Its end may come before it is known here: kernel_ended waits for the lock.
  const MutexLock lock(mutex_);
  try {
    kernel->live = kernel->use->start(std::move(options));
  } catch (const Error&) {
    count_->remove();
    throw;
  }
  kernel_ = kernel;
  return kernel;
}

void CodeContext::take(Stream stream, std::string_view bytes) {
  RunningPtr running;
  {
    const MutexLock lock(mutex_);
    running = running_;
    // What a cell's threads and programs write after its end belongs to no cell.
    if (!running || running->has_ended[index_of(stream)]) return;
  }
  running->output[index_of(stream)].take(
      bytes, {[&](std::string text) {
                (void)running->stream->send(written_line(stream, std::move(text)));
              },
              [&](std::string_view record) { take_record(running, stream, record); }});
}

void CodeContext::take_record(const RunningPtr& running, Stream stream, std::string_view record) {
  const auto read = read_json<OrderedJson>(record, record_bounds);
  const auto* event = std::get_if<OrderedJson>(&read);
  if (!event || !event->is_object() || !event->contains("type")) {
    const std::string_view lost =
        "a result of this cell is left out: it is too long, or nothing that JSON has\n";
    (void)running->stream->send(written_line(Stream::err, std::string(lost)));
    return;
  }
  const OrderedJson& type = (*event)["type"];
  if (type == "result" || type == "error") {
    (void)running->stream->send(line_of(*event));
    return;
  }
  if (type != "end") return;
  {
    const MutexLock lock(mutex_);
    running->has_ended[index_of(stream)] = true;
    if (running_ != running || !running->has_ended[0] || !running->has_ended[1]) return;
    running_ = nullptr;
  }
  changed_.notify_all();
  finish(running);
}

void CodeContext::finish(const RunningPtr& running) {
  running->stream->end(line_of({{"type", "end_of_execution"}}));
  workers_.post([self = shared_from_this()] { self->start_next(); }, owner_);
}

void CodeContext::fail(const RunningPtr& running, const RunResult& result) {
  {
    const MutexLock lock(mutex_);
    if (running_ == running) running_ = nullptr;
  }
  const std::string why = fmt::format(
      "the kernel of this context has ended ({}): its names are gone, and the next cell has a new "
      "one",
      ending_of(result));
  (void)running->stream->send(line_of(
      {{"type", "error"}, {"name", "KernelEnded"}, {"value", why}, {"traceback", why + "\n"}}));
  finish(running);
}

void CodeContext::kernel_ended(const RunResult& result) {
  RunningPtr running;
  KernelPtr kernel;
  {
    const MutexLock lock(mutex_);
    // One that it was not given yet has another kernel.
    if (running_ && running_->is_given) running = std::exchange(running_, nullptr);
    kernel = std::exchange(kernel_, nullptr);
  }
  changed_.notify_all();
  if (running) fail(running, result);
  // It does not go on its own thread.
  workers_.post([kernel = std::move(kernel)]() mutable { kernel.reset(); });
  count_->remove();
}

void CodeContext::interrupt(const std::weak_ptr<Running>& which) {
  const RunningPtr running = which.lock();
  ReleasableMutexLock lock(mutex_);
  if (!running || running_ != running || !kernel_) return;
  const KernelPtr kernel = kernel_;
  // Again and again: one that comes between two commands of a shell is heard by neither.
  const auto give_up = std::chrono::steady_clock::now() + interrupt_patience;
  while (running_ == running && std::chrono::steady_clock::now() < give_up) {
    lock.unlock();
    (void)kernel->live->signal(SIGINT);
    lock.lock();
    changed_.wait_for(mutex_, interrupt_again,
                      [&]() REQUIRES(mutex_) { return running_ != running; });
  }
  const bool has_ended = running_ != running;
  lock.unlock();
  if (!has_ended) kernel->live->kill();
}

void CodeContext::restart() {
  KernelPtr kernel;
  {
    const MutexLock lock(mutex_);
    kernel = kernel_;
    count_of_cells_ = 0;
  }
  if (!kernel) return;
  kernel->live->kill();
  const MutexLock lock(mutex_);
  changed_.wait_for(mutex_, interrupt_patience,
                    [&]() REQUIRES(mutex_) { return kernel_ != kernel; });
}

void CodeContext::break_off() {
  std::deque<Cell> waiting;
  RunningPtr running;
  KernelPtr kernel;
  {
    const MutexLock lock(mutex_);
    waiting = std::exchange(waiting_, {});
    running = running_;
    kernel = kernel_;
  }
  if (running) {
    running->stream->break_off();
    // One that stands still hears it when it goes on.
    if (kernel) workers_.post([kernel] { (void)kernel->live->signal(SIGINT); });
  }
  for (const Cell& cell : waiting) cell.stream->break_off();
}

}  // namespace cloche::e2b
