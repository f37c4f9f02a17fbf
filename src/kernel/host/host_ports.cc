// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/host_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "kernel/files/devices.h"
#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/terminals/terminal.h"
#include "kernel/terminals/terminal_table.h"
#include "wasm/guest_memory.h"

namespace cloche::kernel {
namespace {

// Repeats `attempt` while it is EAGAIN; sleeps on `queue` in between. Lock held.
template <typename Attempt>
Result<std::size_t> wait_for(Kernel& kernel, Attempt attempt, WaitQueue& queue,
                             WaitQueue& canceled_changed, const bool& canceled, Deadline deadline)
    REQUIRES(kernel_lock) {
  Waiter waiter;
  WaitQueue* const queues[] = {&queue, &canceled_changed};
  for (bool timed_out = false;;) {
    if (canceled) return Errno::canceled;
    Result<std::size_t> done = attempt();
    if (done || done.error() != Errno::again) return done;
    if (timed_out) return Errno::timedout;
    timed_out = !waiter.sleep(kernel.mutex(), queues, deadline);
  }
}

}  // namespace

// --- HostCapture ---

struct HostCapture::State {
  Kernel& kernel;
  const std::uint64_t limit_bytes;
  const Sink sink;
  Output output GUARDED_BY(kernel_lock){};
  std::uint64_t kept GUARDED_BY(kernel_lock) = 0;  // of the limit, since the last take()
  bool passing_on GUARDED_BY(kernel_lock) = false;
  bool finished GUARDED_BY(kernel_lock) = false;
  bool is_open GUARDED_BY(kernel_lock) = true;
  WaitQueue idle GUARDED_BY(kernel_lock){};
  WaitQueue closed GUARDED_BY(kernel_lock){};
};

class HostCapture::GuestEnd final : public File {
 public:
  explicit GuestEnd(std::shared_ptr<State> state) : File(o_wronly), state_(std::move(state)) {}
  ~GuestEnd() override {
    state_->is_open = false;
    state_->closed.wake_all();
  }

  Result<std::size_t> write(Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel_lock) {
    State& state = *state_;
    // One at a time, so that the sink gets the bytes in the order in which they were written.
    while (state.passing_on) CLOCHE_TRY(task.block({&state.idle}));
    if (state.finished) return from.size();
    const auto kept = static_cast<std::size_t>(
        std::min<std::uint64_t>(from.size(), state.limit_bytes - state.kept));
    state.output.bytes.append(reinterpret_cast<const char*>(from.data()), kept);
    state.output.written_bytes += from.size();
    state.kept += kept;
    if (state.sink && !from.empty()) {
      const PassingOn passing(state.passing_on, state.idle);
      const KernelUnlocked unlocked(state.kernel.mutex());
      state.sink(from);
    }
    return from.size();
  }

  WaitQueue* poll_queue() override REQUIRES(kernel_lock) { return &state_->idle; }

  Result<vfs::Stat> stat() override REQUIRES(kernel_lock) {
    if (id_ == 0) id_ = state_->kernel.next_file_id();
    return anonymous_stat(vfs::FileType::fifo, id_);
  }

  std::string description() const override REQUIRES(kernel_lock) {
    return fmt::format("pipe:[{}]", id_);
  }

 private:
  const std::shared_ptr<State> state_;
  std::uint64_t id_ = 0;
};

HostCapture::HostCapture(Kernel& kernel, std::uint64_t limit_bytes, Sink sink)
    : kernel_(kernel),
      state_(new State{.kernel = kernel, .limit_bytes = limit_bytes, .sink = std::move(sink)}),
      guest_(kernel.mutex(), std::make_shared<GuestEnd>(state_)) {}

HostCapture::~HostCapture() { (void)finish(); }

HostCapture::Output HostCapture::take() {
  const KernelLock lock(kernel_.mutex());
  state_->kept = 0;
  return std::exchange(state_->output, {});
}

HostCapture::Output HostCapture::finish() {
  const KernelLock lock(kernel_.mutex());
  state_->finished = true;
  Waiter waiter;
  WaitQueue* const queues[] = {&state_->idle};
  while (state_->passing_on) (void)waiter.sleep(kernel_.mutex(), queues, std::nullopt);
  return std::exchange(state_->output, {});
}

bool HostCapture::is_open() const noexcept { return state_->is_open; }
WaitQueue& HostCapture::closed() const noexcept { return state_->closed; }

// --- BytesFile ---

Result<std::size_t> BytesFile::read(Task&, std::span<std::byte> to) {
  const std::span<const std::byte> left = std::as_bytes(std::span(bytes_)).subspan(position_);
  const std::size_t count = std::min(to.size(), left.size());
  std::ranges::copy(left.first(count), to.begin());
  position_ += count;
  return count;
}

Result<std::uint64_t> BytesFile::seek(std::int64_t offset, std::uint32_t whence) {
  if (bytes_.empty()) return std::uint64_t{0};
  return File::seek(offset, whence);
}

PollEvents BytesFile::poll() {
  if (bytes_.empty()) return File::poll();
  return position_ < bytes_.size() ? pollin | pollrdnorm | pollhup : pollhup;
}

Result<std::int32_t> BytesFile::ioctl(Task&, wasm::GuestMemory& memory, std::uint32_t request,
                                      std::uint32_t argument) {
  constexpr std::uint32_t fionread = 0x541B;
  if (request != fionread) return Errno::notty;
  constexpr std::size_t most = 0x7fffffff;
  CLOCHE_TRY(
      memory.write(argument, static_cast<std::int32_t>(std::min(bytes_.size() - position_, most))));
  return 0;
}

Result<vfs::Stat> BytesFile::stat() {
  if (id_ == 0) id_ = kernel_.next_file_id();
  vfs::Stat stat =
      anonymous_stat(bytes_.empty() ? vfs::FileType::character : vfs::FileType::fifo, id_);
  if (bytes_.empty()) {
    stat.rdev = device::null;
    stat.mode = 0666;
    stat.uid = stat.gid = 0;
  }
  return stat;
}

std::string BytesFile::description() const {
  return bytes_.empty() ? "/dev/null" : fmt::format("pipe:[{}]", id_);
}

// --- HostPipe ---

HostPipe::HostPipe(Kernel& kernel, Flow flow)
    : kernel_(kernel), flow_(flow), pipe_(kernel.mutex()), guest_(kernel.mutex()) {
  const KernelLock lock(kernel_.mutex());
  pipe_.hold(std::make_shared<Pipe>(kernel_.buffers(), kernel_.next_file_id()));
  if (flow_ == Flow::to_guest) {
    pipe_->open_writer();
    guest_.hold(std::make_shared<PipeFile>(pipe_.get(), o_rdonly));
  } else {
    pipe_->open_reader();
    guest_.hold(std::make_shared<PipeFile>(pipe_.get(), o_wronly));
  }
}

HostPipe::~HostPipe() {
  release_guest_end();
  close();
}

void HostPipe::close() {
  const KernelLock lock(kernel_.mutex());
  if (!std::exchange(open_, false)) return;
  if (flow_ == Flow::to_guest) {
    pipe_->close_writer();
  } else {
    pipe_->close_reader();
  }
}

void HostPipe::cancel() {
  const KernelLock lock(kernel_.mutex());
  canceled_ = true;
  canceled_changed_.wake_all();
}

Result<std::size_t> HostPipe::read(std::span<std::byte> to, Deadline deadline) {
  const KernelLock lock(kernel_.mutex());
  if (flow_ != Flow::from_guest || !open_) return Errno::badf;
  return wait_for(
      kernel_, [&]() REQUIRES(kernel_lock) { return pipe_->try_read(to); }, pipe_->readable,
      canceled_changed_, canceled_, deadline);
}

Result<std::size_t> HostPipe::write(std::span<const std::byte> from, Deadline deadline) {
  const KernelLock lock(kernel_.mutex());
  std::size_t written = 0;
  while (written < from.size()) {
    if (flow_ != Flow::to_guest || !open_) return Errno::badf;
    const Result<std::size_t> done = wait_for(
        kernel_, [&]() REQUIRES(kernel_lock) { return pipe_->try_write(from.subspan(written)); },
        pipe_->writable, canceled_changed_, canceled_, deadline);
    if (!done) {
      if (written != 0) return written;
      return done;
    }
    written += *done;
  }
  return written;
}

Result<void> HostPipe::wait_until_wanted() {
  const KernelLock lock(kernel_.mutex());
  Waiter waiter;
  WaitQueue* const queues[] = {&pipe_->wanted, &pipe_->writable, &canceled_changed_};
  for (;;) {
    if (canceled_) return Errno::canceled;
    if (pipe_->is_wanted()) return {};
    if (pipe_->readers() == 0) return Errno::pipe;
    (void)waiter.sleep(kernel_.mutex(), queues, std::nullopt);
  }
}

// --- HostTerminal ---

Result<std::unique_ptr<HostTerminal>> HostTerminal::create(Kernel& kernel, tty::WindowSize size) {
  const KernelLock lock(kernel.mutex());
  CLOCHE_ASSIGN(std::shared_ptr<Terminal> terminal, kernel.terminals().create());
  terminal->set_window_size(size);
  FilePtr guest = kernel.terminals().open_slave(terminal, o_rdwr);
  return std::unique_ptr<HostTerminal>(
      new HostTerminal(kernel, std::move(terminal), std::move(guest)));
}

HostTerminal::HostTerminal(Kernel& kernel, std::shared_ptr<Terminal> terminal, FilePtr guest)
    : kernel_(kernel),
      terminal_(kernel.mutex(), std::move(terminal)),
      guest_(kernel.mutex(), std::move(guest)) {}

HostTerminal::~HostTerminal() {
  release_guest_end();
  hang_up();
}

Result<std::size_t> HostTerminal::read(std::span<std::byte> to, Deadline deadline) {
  const KernelLock lock(kernel_.mutex());
  Result<std::size_t> done = wait_for(
      kernel_, [&]() REQUIRES(kernel_lock) { return terminal_->take_screen(to); },
      terminal_->master_changed, canceled_changed_, canceled_, deadline);
  if (!done && done.error() == Errno::io) return std::size_t{0};
  return done;
}

Result<std::size_t> HostTerminal::write(std::span<const std::byte> typed, Deadline deadline) {
  const KernelLock lock(kernel_.mutex());
  std::size_t written = 0;
  while (written < typed.size()) {
    const Result<std::size_t> done = wait_for(
        kernel_, [&]() REQUIRES(kernel_lock) { return terminal_->type(typed.subspan(written)); },
        terminal_->master_changed, canceled_changed_, canceled_, deadline);
    if (!done) {
      if (written != 0) return written;
      return done;
    }
    written += *done;
  }
  return written;
}

void HostTerminal::resize(tty::WindowSize size) {
  const KernelLock lock(kernel_.mutex());
  terminal_->set_window_size(size);
}

void HostTerminal::hang_up() {
  const KernelLock lock(kernel_.mutex());
  terminal_->master_closed();
}

void HostTerminal::cancel() {
  const KernelLock lock(kernel_.mutex());
  canceled_ = true;
  canceled_changed_.wake_all();
}

}  // namespace cloche::kernel
