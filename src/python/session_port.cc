// SPDX-License-Identifier: Apache-2.0
#include "python/session_port.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"

namespace cloche::python {

SessionPort::SessionPort(kernel::Kernel& kernel, Listener listener)
    : File(kernel::o_rdwr), kernel_(kernel), listener_(std::move(listener)) {}

void SessionPort::post(std::uint32_t number, HostReply kind, std::string_view payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::string reply(sizeof length + sizeof number + 1, '\0');
  std::memcpy(reply.data(), &length, sizeof length);
  std::memcpy(reply.data() + sizeof length, &number, sizeof number);
  reply.back() = static_cast<char>(kind);
  reply.append(payload);
  const kernel::KernelLock lock(kernel_.mutex());
  unread_bytes_ += reply.size();
  replies_.push_back(std::move(reply));
  changed_.wake_all();
}

void SessionPort::clear() {
  const kernel::KernelLock lock(kernel_.mutex());
  replies_.clear();
  taken_ = 0;
  unread_bytes_ = 0;
}

Result<std::size_t> SessionPort::read(kernel::Task& task, std::span<std::byte> to) {
  while (replies_.empty()) {
    if (nonblocking()) return Errno::again;
    CLOCHE_TRY(task.block({&changed_}));
  }
  std::size_t count = 0;
  while (count < to.size() && !replies_.empty()) {
    const std::string& first = replies_.front();
    const std::size_t some = std::min(to.size() - count, first.size() - taken_);
    std::memcpy(to.data() + count, first.data() + taken_, some);
    count += some;
    taken_ += some;
    if (taken_ < first.size()) break;
    unread_bytes_ -= first.size();
    replies_.pop_front();
    taken_ = 0;
  }
  return count;
}

Result<std::size_t> SessionPort::write(kernel::Task&, std::span<const std::byte> from) {
  if (from.size() > max_frame_bytes) return Errno::msgsize;
  if (replies_.size() >= max_unread || unread_bytes_ >= max_unread_bytes) return Errno::nobufs;
  const std::string frame(reinterpret_cast<const char*>(from.data()), from.size());
  const kernel::KernelUnlocked unlocked(kernel_.mutex());
  if (!listener_(frame)) return Errno::inval;
  return from.size();
}

kernel::PollEvents SessionPort::poll() {
  const kernel::PollEvents out = kernel::pollout | kernel::pollwrnorm;
  return replies_.empty() ? out : out | kernel::pollin | kernel::pollrdnorm;
}

Result<vfs::Stat> SessionPort::stat() {
  if (id_ == 0) id_ = kernel_.next_file_id();
  return kernel::anonymous_stat(vfs::FileType::fifo, id_);
}

}  // namespace cloche::python
