// SPDX-License-Identifier: Apache-2.0
// Deadline: when its owner is late, for who has many deadlines and meets nearly all of them: to
// move one into the future costs no call of the system. Used on the owner's loop; the owner may end
// on any thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

namespace cloche::http {

// `Owner` is held by shared_ptr, has the deadline as a member, and is told by late().
template <typename Owner>
class Deadline {
  using Time = std::chrono::steady_clock::time_point;

 public:
  Deadline(Owner& owner, const boost::asio::any_io_executor& executor)
      : owner_(owner), timer_(executor) {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void expires_after(std::chrono::milliseconds time) {
    when_ = std::chrono::steady_clock::now() + time;
    if (when_ < armed_) arm();
  }
  void expires_never() noexcept { when_ = Time::max(); }

 private:
  void arm() {
    armed_ = when_;
    timer_.expires_at(when_);
    timer_.async_wait([this, weak = owner_.weak_from_this()](boost::system::error_code error) {
      const auto owner = weak.lock();
      if (error || !owner) return;
      armed_ = Time::max();
      if (when_ <= std::chrono::steady_clock::now()) {
        when_ = Time::max();
        owner->late();
      } else if (when_ != Time::max()) {
        arm();
      }
    });
  }

  Owner& owner_;
  boost::asio::steady_timer timer_;
  Time when_ = Time::max();
  Time armed_ = Time::max();  // until when the timer waits; max: it does not
};

}  // namespace cloche::http
