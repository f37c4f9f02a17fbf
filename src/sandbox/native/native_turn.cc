// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_turn.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "native/host/guest_socket.h"
#include "native/host/patience.h"
#include "python/session_port.h"
#include "python/stop_patience.h"

namespace cloche::sandbox {
namespace {

using std::chrono::milliseconds;

// How often one that is to stop, and the computing time of one that has a limit, is looked at.
constexpr milliseconds look_at_stop{20};
constexpr milliseconds shortest_look{5}, longest_look{100};

constexpr std::size_t packet_head_bytes = sizeof(std::uint32_t) + 1;
constexpr std::size_t most_open_frames = 64;
constexpr std::size_t mail_packet_bytes = 32 << 10;  // the session reads 64 KiB at once
constexpr int most_packets_after = 1024;             // as many as fit in a socket

}  // namespace

NativeTurn::NativeTurn(native::Box& box, NativeInterpreter& interpreter, Mailbox* mail, Plan plan)
    : box_(box),
      interpreter_(interpreter),
      mail_(mail),
      plan_(std::move(plan)),
      input_(std::move(plan_.request)) {}

NativeTurn::End NativeTurn::perform() {
  interpreter_.begin_turn();
  if (plan_.cpu.count() > 0) cpu_at_start_ = cpu_time();
  if (plan_.deadline && plan_.timers != nullptr) {
    const MutexLock lock(mutex_);
    alarm_.emplace(*plan_.timers);
    set_alarm(*plan_.deadline + python::to_leave);
  }
  while (!end_.answer && !over_) {
    look();
    if (over_) break;
    (void)step(patience_ms());
  }
  {
    const MutexLock lock(mutex_);
    has_ended_ = true;
  }
  read_rest();
  return end_;
}

void NativeTurn::call(const std::function<void()>& what) {
  {
    const MutexLock lock(mutex_);
    is_away_ = true;
  }
  what();
  const MutexLock lock(mutex_);
  is_away_ = false;
}

// The callback looks again and again, for as long as the turn goes on.
void NativeTurn::set_alarm(Clock::time_point when) {
  alarm_->set(when, [this, when] { be_overdue(when); });
}

// One that has answered is not: the answer waits until what it wrote was taken.
void NativeTurn::be_overdue(Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (has_ended_ || is_overdue_) return;
  if (!is_away_) return set_alarm(now + python::to_leave);
  if (interpreter_.has_answered()) return;
  is_overdue_ = true;
  interpreter_.command().kill();
}

void NativeTurn::stop(python::StopReason reason) {
  const MutexLock lock(mutex_);
  if (stop_wanted_ != python::StopReason::none) return;
  stop_wanted_ = reason;
  if (mail_ != nullptr) (void)::eventfd_write(mail_->wake.get(), 1);
}

void NativeTurn::acknowledge() {
  const MutexLock lock(mutex_);
  acknowledged_ = true;
}

void NativeTurn::repeat() {
  const MutexLock lock(mutex_);
  repeat_wanted_ = true;
}

// --- Limits and stops

std::chrono::nanoseconds NativeTurn::cpu_time() {
  const int pid = interpreter_.command().pid();
  const Result<std::vector<warden::ProcessRecord>> all = box_.processes();
  if (!all || pid == 0) return {};
  for (const warden::ProcessRecord& one : *all) {
    if (one.pid == pid) return std::chrono::nanoseconds(one.cpu_ns);
  }
  return {};
}

void NativeTurn::look() {
  const Clock::time_point now = Clock::now();
  if (killed_at_) {
    if (now < *killed_at_ + native::patience) return;
    box_.give_up();
    over_ = true;
    return;
  }
  if (end_.stopped == python::StopReason::none) {
    if (plan_.deadline && now >= *plan_.deadline && !interpreter_.has_answered())
      stop(python::StopReason::time);
    if (plan_.cpu.count() > 0 && now >= cpu_due_) look_at_cpu(now);
  }
  bool begins = false, is_heard = false, is_repeated = false;
  {
    const MutexLock lock(mutex_);
    if (is_overdue_) {
      end_.stopped = stop_wanted_ = python::StopReason::time;
      end_.is_killed = true;
      killed_at_ = now;
      return;
    }
    begins = end_.stopped == python::StopReason::none && stop_wanted_ != end_.stopped;
    end_.stopped = stop_wanted_;
    is_heard = acknowledged_ && is_told_;
    is_repeated = std::exchange(repeat_wanted_, false) && !acknowledged_ &&
                  stop_wanted_ != python::StopReason::none;
  }
  if (end_.stopped == python::StopReason::none) return;
  if (begins && !plan_.is_told) return kill();
  if (begins || is_heard) {
    stopped_at_ = now;
    cpu_at_stop_ = cpu_time();
    is_told_ = begins;
  }
  if (begins || is_repeated) tell_stop();
  if (does_not_stop(now)) kill();
}

// The box is asked for it, so not oftener than it can matter.
void NativeTurn::look_at_cpu(Clock::time_point now) {
  const auto left = plan_.cpu - (cpu_time() - cpu_at_start_);
  if (left <= std::chrono::nanoseconds(0)) return stop(python::StopReason::cpu);
  cpu_due_ = now + std::clamp<std::chrono::nanoseconds>(left, shortest_look, longest_look);
}

bool NativeTurn::does_not_stop(Clock::time_point now) {
  const auto since = now - stopped_at_;
  const std::chrono::nanoseconds cpu = cpu_time() - cpu_at_stop_;
  return python::has_had_its_time(is_told_ ? python::Heard::no : python::Heard::yes, since, cpu);
}

void NativeTurn::tell_stop() {
  (void)box_.signal(interpreter_.command().pid(), static_cast<int>(end_.stopped));
}

void NativeTurn::kill() {
  interpreter_.command().kill();
  end_.is_killed = true;
  killed_at_ = Clock::now();
}

int NativeTurn::patience_ms() {
  const Clock::time_point now = Clock::now();
  std::optional<Clock::time_point> until = plan_.deadline;
  if (killed_at_) {
    until = *killed_at_ + native::patience;
  } else if (end_.stopped != python::StopReason::none) {
    until = now + look_at_stop;
  } else if (plan_.cpu.count() > 0) {
    until = until ? std::min(*until, cpu_due_) : cpu_due_;
  }
  if (!until) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*until - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

// --- What comes and goes

// False: nothing came in time.
bool NativeTurn::step(int wait_ms) {
  short port_events = 0;
  if (mail_ != nullptr) {
    const MutexLock lock(mail_->mutex);
    if (mail_->unsent.size() < python::SessionPort::max_unread_bytes) port_events |= POLLIN;
    if (!mail_->unsent.empty()) port_events |= POLLOUT;
  }
  std::array<pollfd, 7> waiting{
      {{interpreter_.command().channel(), POLLIN, 0},
       {interpreter_.out().get(), POLLIN, 0},
       {interpreter_.err().get(), POLLIN, 0},
       {interpreter_.answers(), POLLIN, 0},
       {input_.empty() ? -1 : interpreter_.requests(), POLLOUT, 0},
       {port_events == 0 || is_port_over_ ? -1 : interpreter_.port(), port_events, 0},
       {mail_ == nullptr ? -1 : mail_->wake.get(), POLLIN, 0}}};
  const int ready = ::poll(waiting.data(), waiting.size(), wait_ms);
  if (ready <= 0) return ready < 0 && errno == EINTR;
  if (mail_ != nullptr && waiting[6].revents != 0) {
    std::uint64_t times = 0;
    (void)::eventfd_read(mail_->wake.get(), &times);
  }
  if (waiting[1].revents != 0) (void)read_output(interpreter_.out(), Stream::out);
  if (waiting[2].revents != 0) (void)read_output(interpreter_.err(), Stream::err);
  if (waiting[4].revents != 0) {
    const ssize_t done =
        ::send(interpreter_.requests(), input_.data(), input_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno != EAGAIN && errno != EINTR) input_.clear();
    if (done > 0) input_.erase(0, static_cast<std::size_t>(done));
  }
  if ((waiting[5].revents & POLLOUT) != 0) send_mail();
  if ((waiting[5].revents & ~POLLOUT) != 0) (void)read_port();
  if (waiting[3].revents != 0) end_.answer = interpreter_.read_answer();
  if (waiting[0].revents != 0) hear();
  return true;
}

void NativeTurn::hear() {
  for (;;) {
    const Result<std::optional<warden::Answer>> heard = interpreter_.command().receive();
    if (heard && !*heard) return;
    if (heard && (*heard)->tell == warden::Tell::started) continue;
    // One that was leaving by itself as it was killed: how it has ended comes after that.
    if (heard && (*heard)->tell == warden::Tell::killed) continue;
    over_ = true;
    if (!heard) {
      end_.wait_status = SIGKILL;
    } else if ((*heard)->tell == warden::Tell::not_started) {
      end_.not_started = **heard;
    } else if ((*heard)->tell == warden::Tell::ended) {
      end_.wait_status = (*heard)->value;
      end_.memory_exceeded = (*heard)->memory_exceeded;
      end_.memory_bytes = (*heard)->memory_bytes;
    }
    return;
  }
}

bool NativeTurn::read_output(UniqueFd& fd, Stream stream) {
  std::array<char, 65536> piece;
  const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    fd.reset();
    return false;
  }
  call(
      [&] { plan_.output(stream, std::string_view(piece.data(), static_cast<std::size_t>(got))); });
  return true;
}

// A packet. What is none, or too much, ends the interpreter.
bool NativeTurn::read_port() {
  std::array<char, NativeInterpreter::packet_bytes> packet;
  const ssize_t got = native::receive_bytes(interpreter_.port(), packet.data(), packet.size(),
                                            MSG_DONTWAIT | MSG_TRUNC);
  if (got == 0) is_port_over_ = true;
  if (got <= 0) return false;
  const auto size = static_cast<std::size_t>(got);
  std::uint32_t number = 0;
  if (size < packet_head_bytes || size > packet.size() ||
      frame_bytes_ + size > python::SessionPort::max_frame_bytes + packet_head_bytes) {
    if (!killed_at_) kill();
    return false;
  }
  std::memcpy(&number, packet.data(), sizeof number);
  // One that was broken off by a signal is never ended.
  if (frames_.size() == most_open_frames && !frames_.contains(number)) {
    frame_bytes_ -= frames_.begin()->second.size();
    frames_.erase(frames_.begin());
  }
  std::string& frame = frames_[number];
  frame.append(packet.data() + packet_head_bytes, size - packet_head_bytes);
  frame_bytes_ += size - packet_head_bytes;
  if (packet[sizeof number] == 0) return true;
  const std::string whole = std::move(frame);
  frames_.erase(number);
  frame_bytes_ -= whole.size();
  if (plan_.listen) call([&] { plan_.listen(whole); });
  return true;
}

void NativeTurn::send_mail() {
  const MutexLock lock(mail_->mutex);
  std::size_t sent = 0;
  while (sent < mail_->unsent.size()) {
    const ssize_t done = ::send(interpreter_.port(), mail_->unsent.data() + sent,
                                std::min(mail_packet_bytes, mail_->unsent.size() - sent),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno != EAGAIN && errno != EINTR) is_port_over_ = true;
    if (done <= 0) break;
    sent += static_cast<std::size_t>(done);
  }
  mail_->unsent.erase(0, sent);
}

// What was written and said before the answer is in the pipes by now.
void NativeTurn::read_rest() {
  for (int i = 0; i < most_packets_after && mail_ != nullptr && read_port(); ++i) continue;
  constexpr int pieces = 16;  // what a pipe holds
  for (UniqueFd* fd : {&interpreter_.out(), &interpreter_.err()}) {
    const Stream stream = fd == &interpreter_.out() ? Stream::out : Stream::err;
    for (int i = 0; i < pieces && *fd && read_output(*fd, stream); ++i) continue;
  }
}

}  // namespace cloche::sandbox
