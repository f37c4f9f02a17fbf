// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/host_process.h"

#include <new>
#include <type_traits>
#include <utility>

#include "kernel/files/pipe.h"
#include "kernel/files/poll_set.h"
#include "kernel/kernel.h"
#include "kernel/process/process_files.h"
#include "kernel/process/task.h"
#include "kernel/process/vectored_io.h"

namespace cloche::kernel {

// Ready once it was rung, until somebody has heard it.
class HostProcess::Alarm final : public File {
 public:
  Alarm() : File(o_rdonly) {}

  void ring() REQUIRES(kernel_lock) {
    rung_ = true;
    changed_.wake_all();
  }
  void hear() { rung_ = false; }

  PollEvents poll() override REQUIRES(kernel_lock) { return rung_ ? pollin : 0; }
  WaitQueue* poll_queue() override REQUIRES(kernel_lock) { return &changed_; }
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock) {
    return anonymous_stat(vfs::FileType::fifo, 0);
  }
  std::string description() const override REQUIRES(kernel_lock) { return "anon_inode:[alarm]"; }

 private:
  bool rung_ = false;
  WaitQueue changed_;
};

HostProcess::HostProcess(Task& task) : task_(task), alarm_(std::make_shared<Alarm>()) {
  const KernelLock lock(task_.kernel().mutex());
  Process& process = task_.owner();
  argv_ = process.words->argv;
  environment_ = process.words->environment;
  if (Result<std::string> directory = process_files::current_directory(process))
    directory_ = *std::move(directory);
}

HostProcess::~HostProcess() = default;

// A system call of the process: signals are looked at before and after it, and where a signal that
// is dealt with has interrupted it, it is issued again.
template <typename Body>
auto HostProcess::call(Body&& body) {
  using R = std::invoke_result_t<Body>;
  const KernelLock lock(task_.kernel().mutex());
  for (;;) {
    (void)task_.attend();
    if (task_.unwinding()) return R(Errno::canceled);
    R result = body();
    if (task_.attention()) (void)task_.attend();
    if (task_.unwinding()) return R(Errno::canceled);
    if (result || result.error() != Errno::restart) return result;
  }
}

Result<std::size_t> HostProcess::read(std::int32_t fd, std::span<std::byte> to) {
  return call([&]() REQUIRES(kernel_lock) -> Result<std::size_t> {
    CLOCHE_ASSIGN(const FilePtr file, task_.owner().fds.get_readable(fd));
    CLOCHE_ASSIGN(const std::size_t count, file->read(task_, to));
    count_read(task_.owner(), count);
    return count;
  });
}

Result<std::size_t> HostProcess::write(std::int32_t fd, std::span<const std::byte> from) {
  return call([&]() REQUIRES(kernel_lock) -> Result<std::size_t> {
    CLOCHE_ASSIGN(const FilePtr file, task_.owner().fds.get_writable(fd));
    CLOCHE_ASSIGN(const std::size_t count, file->write(task_, from));
    count_written(task_.owner(), count);
    return count;
  });
}

Result<HostProcess::Ready> HostProcess::wait(const Ready& wanted) {
  return call([&]() REQUIRES(kernel_lock) -> Result<Ready> {
    const FdTable& fds = task_.owner().fds;
    PollSet set;
    set.add(alarm_, pollin);
    Ready ready;
    std::vector<bool Ready::*> waited;
    const auto add = [&](bool Ready::* which, const Result<FilePtr>& file, PollEvents events) {
      if (!(wanted.*which)) return;
      if (!file) {
        ready.*which = true;
        return;
      }
      set.add(*file, events);
      waited.push_back(which);
    };
    add(&Ready::input, fds.get_readable(0), pollin);
    add(&Ready::output, fds.get_writable(1), pollout);
    add(&Ready::errors, fds.get_writable(2), pollout);
    const bool some = ready.input || ready.output || ready.errors;
    // A file that cannot be waited for is ready now.
    const Deadline deadline = some ? Deadline(SteadyTime::min()) : std::nullopt;
    CLOCHE_TRY(set.wait(task_, deadline));
    alarm_->hear();
    for (std::size_t i = 0; i < waited.size(); ++i) ready.*waited[i] = set.ready(i + 1) != 0;
    return ready;
  });
}

void HostProcess::wake() {
  const KernelLock lock(task_.kernel().mutex());
  alarm_->ring();
}

Program host_program() {
  constexpr int cannot_execute = 126;
  Program program;
  program.startup.run = [](Task& task) {
    wasm::Outcome outcome;
    outcome.result = wasm::Value::i32(cannot_execute);
    try {
      HostProcess process(task);
      if (const auto& body = task.kernel().options().host_program)
        outcome.result = wasm::Value::i32(body(process));
    } catch (const std::bad_alloc&) {  // no memory for its arguments
    }
    return outcome;
  };
  return program;
}

}  // namespace cloche::kernel
