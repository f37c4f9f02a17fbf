// SPDX-License-Identifier: Apache-2.0
#include "python/session_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "kernel/files/pipe.h"
#include "kernel/host/host_ports.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"

namespace cloche::python {

void SessionOutput::begin(Plan plan) {
  const kernel::KernelLock lock(kernel_.mutex());
  plan_ = std::move(plan);
  written_ = output_.bytes.size();
}

SessionOutput::Written SessionOutput::take() {
  const kernel::KernelLock lock(kernel_.mutex());
  plan_.sink = {};
  plan_.over_limit = {};
  written_ = 0;
  return std::exchange(output_, {});
}

Result<std::size_t> SessionOutput::write(kernel::Task& task, std::span<const std::byte> from) {
  // One at a time, so that the sink gets the bytes in the order in which they were written.
  while (passing_on_) CLOCHE_TRY(task.block({&idle_}));
  const std::uint64_t room = plan_.limit_bytes - std::min(plan_.limit_bytes, written_);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(from.size(), room));
  const std::string_view text(reinterpret_cast<const char*>(from.data()), count);
  written_ += from.size();
  const bool over = count < from.size() && !std::exchange(output_.truncated, true);
  if (!plan_.sink) output_.bytes.append(text);
  if ((plan_.sink && count > 0) || (over && plan_.over_limit)) {
    const Plan plan = plan_;
    const kernel::PassingOn passing(passing_on_, idle_);
    const kernel::KernelUnlocked unlocked(kernel_.mutex());
    if (plan.sink && count > 0) plan.sink(text);
    if (over && plan.over_limit) plan.over_limit();
  }
  return from.size();
}

Result<vfs::Stat> SessionOutput::stat() {
  if (id_ == 0) id_ = kernel_.next_file_id();
  return kernel::anonymous_stat(vfs::FileType::fifo, id_);
}

std::string SessionOutput::description() const { return fmt::format("pipe:[{}]", id_); }

}  // namespace cloche::python
