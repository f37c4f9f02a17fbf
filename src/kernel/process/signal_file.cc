// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/signal_file.h"

#include <cstring>

#include "kernel/files/pipe.h"
#include "kernel/process/process.h"
#include "kernel/process/task.h"

namespace cloche::kernel {
namespace {

struct SignalfdSiginfo {
  std::uint32_t signo;
  std::int32_t error;
  std::int32_t code;
  std::uint32_t pid;
  std::uint32_t uid;
  std::int32_t fd;
  std::uint32_t tid;
  std::uint32_t band;
  std::uint32_t overrun;
  std::uint32_t trapno;
  std::int32_t status;
  std::int32_t integer;
  std::uint64_t pointer;
  std::uint64_t utime;
  std::uint64_t stime;
  std::uint64_t address;
  std::uint8_t pad[48];
};
static_assert(sizeof(SignalfdSiginfo) == 128);

SignalfdSiginfo encode(const SignalInfo& info) {
  SignalfdSiginfo out{};
  out.signo = static_cast<std::uint32_t>(info.signo);
  out.code = info.code;
  if (info.code == si_timer) {
    out.tid = static_cast<std::uint32_t>(info.status);
  } else {
    out.pid = static_cast<std::uint32_t>(info.pid);
    out.uid = info.uid;
    out.status = info.status;
  }
  out.integer = static_cast<std::int32_t>(info.value);
  out.pointer = info.value;
  return out;
}

}  // namespace

SignalFile::SignalFile(std::uint64_t id, Process& maker, SignalSet wanted,
                       std::uint32_t status_flags)
    : File(o_rdwr | status_flags),
      id_(id),
      maker_(maker.weak_from_this()),
      wanted_(wanted & ~unblockable) {}

void SignalFile::set_wanted(SignalSet wanted) {
  wanted_ = wanted & ~unblockable;
  changed_.wake_all();
}

Result<std::size_t> SignalFile::read(Task& task, std::span<std::byte> to) {
  if (to.size() < sizeof(SignalfdSiginfo)) return Errno::inval;
  Process& process = task.process();
  std::size_t done = 0;
  for (;;) {
    while (to.size() - done >= sizeof(SignalfdSiginfo)) {
      const std::optional<SignalInfo> info = process.signals.dequeue(wanted_);
      if (!info) break;
      const SignalfdSiginfo out = encode(*info);
      std::memcpy(to.data() + done, &out, sizeof(out));
      done += sizeof(out);
    }
    if (done != 0) return done;
    if (nonblocking()) return Errno::again;
    CLOCHE_TRY(task.block({&process.signals_changed, &changed_}));
  }
}

PollEvents SignalFile::poll() {
  const std::shared_ptr<Process> maker = maker_.lock();
  return maker && !(maker->signals.pending() & wanted_).empty() ? pollin | pollrdnorm : 0U;
}

void SignalFile::poll_sources(PollSources& sources) {
  sources.add(changed_);
  if (const std::shared_ptr<Process> maker = maker_.lock()) {
    sources.add(maker->signals_changed);
    sources.holders.push_back(maker);
  }
}

Result<vfs::Stat> SignalFile::stat() { return anonymous_stat(vfs::FileType::regular, id_); }

}  // namespace cloche::kernel
