// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_observer.h"

#include <algorithm>
#include <utility>

namespace cloche::sandbox {

void RunObserver::set(SandboxObserver observer) {
  auto set = std::make_shared<const SandboxObserver>(std::move(observer));
  const MutexLock lock(mutex_);
  observer_.swap(set);
}

std::shared_ptr<const SandboxObserver> RunObserver::observer() const {
  const MutexLock lock(mutex_);
  return observer_;
}

void RunObserver::tell(const NetworkEvent& event) const {
  if (const auto observer = this->observer(); observer && observer->network)
    observer->network(event);
}

RunObserver::Told RunObserver::begin(RunEvent::Kind kind, std::string text) {
  Told told;
  told.observer_ = observer();
  if (!told.observer_ || !told.observer_->run) return {};
  text.resize(std::min(text.size(), RunEvent::text_limit_bytes));
  told.text_ = std::move(text);
  told.event_.kind = kind;
  told.event_.number = ++last_;
  RunEvent event = told.event_;
  event.text = told.text_;
  told.observer_->run(event);
  return told;
}

void RunObserver::Told::end(int exit_code, std::string_view reason,
                            std::chrono::nanoseconds duration) const {
  if (!observer_) return;
  RunEvent event = event_;
  event.moment = RunEvent::Moment::ended;
  event.text = text_;
  event.exit_code = exit_code;
  event.reason = reason;
  event.duration = duration;
  observer_->run(event);
}

}  // namespace cloche::sandbox
