// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/event_stream.h"

#include <utility>

namespace cloche::e2b {
namespace {

constexpr std::size_t unsent_max_bytes = 1 << 20;
constexpr std::chrono::seconds patience{5};  // in which something must be read

}  // namespace

StreamForm process_form() {
  StreamForm form = connect_form();
  form.pulse = frame_of(R"({"event":{"keepalive":{}}})");
  return form;
}

StreamForm connect_form() {
  return {std::string(stream_type), frame_of(R"({"keepalive":{}})"),
          end_frame({"resource_exhausted", "the client reads too slowly"})};
}

std::shared_ptr<EventStream> EventStream::begin(http::Exchange& exchange,
                                                std::chrono::seconds silence, StreamForm form) {
  std::shared_ptr<EventStream> stream(new EventStream(std::move(form)));
  const std::weak_ptr<EventStream> weak = stream;
  const MutexLock lock(stream->mutex_);
  // The second field: a proxy passes on what comes as it comes.
  stream->answer_ =
      exchange.begin({200, {{"Content-Type", stream->form_.type}, {"X-Accel-Buffering", "no"}}, {}},
                     {.changed =
                          [weak] {
                            if (const auto strong = weak.lock()) strong->changed();
                          },
                      .silence = silence,
                      .pulse = stream->form_.pulse});
  return stream;
}

void EventStream::changed() {
  std::function<void()> leave, woken;
  {
    const MutexLock lock(mutex_);
    changed_.notify_all();
    if (!answer_) return;
    if (answer_->gone()) {
      answer_.reset();
      leave = std::exchange(leave_, {});
    } else {
      if (awaits_room_ && answer_->unsent_bytes() <= unsent_max_bytes) {
        awaits_room_ = false;
        is_awake_ = true;
      }
      if (std::exchange(is_awake_, false)) woken = woken_;
    }
  }
  if (leave) leave();
  if (woken) woken();
}

void EventStream::wake() {
  const MutexLock lock(mutex_);
  if (!answer_ || std::exchange(is_awake_, true)) return;
  answer_->call_changed();
}

void EventStream::on_wake(std::function<void()> woken) {
  const MutexLock lock(mutex_);
  woken_ = std::move(woken);
}

void EventStream::on_leave(std::function<void()> leave) {
  {
    const MutexLock lock(mutex_);
    if (answer_) {
      leave_ = std::move(leave);
      return;
    }
  }
  leave();
}

bool EventStream::has_room() {
  const MutexLock lock(mutex_);
  awaits_room_ = answer_ && answer_->unsent_bytes() > unsent_max_bytes;
  return !awaits_room_;
}

bool EventStream::send(const std::string& frame) {
  std::function<void()> leave;
  ReleasableMutexLock lock(mutex_);
  while (answer_ && answer_->unsent_bytes() > unsent_max_bytes) {
    const std::size_t before = answer_->unsent_bytes();
    if (changed_.wait_until(mutex_, std::chrono::steady_clock::now() + patience) ==
        std::cv_status::no_timeout)
      continue;
    if (!answer_ || answer_->unsent_bytes() < before) continue;
    if (form_.too_slow.empty()) {
      answer_->break_off();
    } else {
      answer_->write(form_.too_slow);
      answer_->end();
    }
    answer_.reset();
    leave = std::exchange(leave_, {});
  }
  if (answer_) {
    answer_->write(frame);
    return true;
  }
  lock.unlock();
  if (leave) leave();
  return false;
}

void EventStream::end(const std::string& frame) {
  const MutexLock lock(mutex_);
  if (!answer_) return;
  answer_->write(frame);
  answer_->end();
  answer_.reset();
  leave_ = nullptr;
  changed_.notify_all();
}

void EventStream::break_off() {
  const MutexLock lock(mutex_);
  if (!answer_) return;
  answer_->break_off();
  answer_.reset();
  leave_ = nullptr;
  changed_.notify_all();
}

bool EventStream::is_over() const {
  const MutexLock lock(mutex_);
  return answer_ == nullptr;
}

}  // namespace cloche::e2b
