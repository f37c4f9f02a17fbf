// SPDX-License-Identifier: Apache-2.0
#include "native/host/box_pool.h"

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "base/thread_name.h"

namespace cloche::native {
namespace {

SteadyTime now() { return std::chrono::steady_clock::now(); }

UniqueFd duplicate(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

BoxPool::BoxPool(Options options, Make make) : options_(options), make_(std::move(make)) {}

void BoxPool::end() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    thread = std::move(thread_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
  clear();
}

// What a box has from its beginning, or goes on from, is not to be had afterwards.
std::optional<BoxPool::Kind> BoxPool::kind_of(const BoxPlan& plan) {
  if (plan.begin_with >= 0 || !plan.mounts.empty() || plan.root != warden::Root::overlay ||
      plan.home.size() >= warden::most_home)
    return std::nullopt;
  const std::optional<FileNumber> image = file_number(plan.image);
  if (!image) return std::nullopt;
  Kind kind{.image = *image, .user = plan.user, .group = plan.group, .settled = std::nullopt};
  if (!plan.settles_later()) kind.settled = {.limits = plan.limits, .home = plan.home};
  return kind;
}

BoxPool::Shelves::iterator BoxPool::find(const Kind& kind) {
  return std::ranges::find_if(shelves_, [&](const Shelf& shelf) { return shelf.kind == kind; });
}

std::size_t BoxPool::count() const {
  std::size_t count = 0;
  for (const Shelf& shelf : shelves_) count += shelf.boxes.size();
  return count;
}

std::size_t BoxPool::ready() const {
  const MutexLock lock(mutex_);
  return count();
}

std::unique_ptr<Box> BoxPool::take(const BoxPlan& plan) {
  if (!is_on()) return nullptr;
  const std::optional<Kind> kind = kind_of(plan);
  if (!kind) return nullptr;
  Shelf unwanted;  // ended without the lock
  std::unique_ptr<Box> taken;
  {
    const MutexLock lock(mutex_);
    const auto found = find(*kind);
    if (found == shelves_.end()) {
      UniqueFd image = duplicate(plan.image), runsc;
      if (kind->settled) runsc = duplicate(plan.runsc);
      if (!image || (kind->settled && !runsc)) return nullptr;
      if (shelves_.size() >= options_.most_kinds) {
        unwanted = std::move(shelves_.back());
        shelves_.pop_back();
      }
      Shelf& made = shelves_.emplace_front();
      made.kind = *kind;
      made.image = std::move(image);
      made.runsc = std::move(runsc);
      made.wanted = now();
      return nullptr;
    }
    shelves_.splice(shelves_.begin(), shelves_, found);
    found->wanted = now();
    ++found->wishes;
    found->is_wanted_again = begin();
    if (!found->boxes.empty()) {
      taken = std::move(found->boxes.back());
      found->boxes.pop_back();
    }
  }
  changed_.notify_all();
  return taken;
}

// False: there are no threads.
bool BoxPool::begin() {
  if (is_over_ || thread_.joinable()) return !is_over_;
  try {
    thread_ = std::thread(with_name("cloche-boxes", [this] { work(); }));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

BoxPool::Wait::Wait(BoxPool& pool) : pool_(pool) {
  const MutexLock lock(pool_.mutex_);
  ++pool_.waits_;
}

BoxPool::Wait::~Wait() {
  {
    const MutexLock lock(pool_.mutex_);
    --pool_.waits_;
  }
  pool_.changed_.notify_all();
}

void BoxPool::clear() {
  Shelves unwanted;
  const MutexLock lock(mutex_);
  ++era_;
  unwanted.swap(shelves_);
}

std::size_t BoxPool::most_of(const Kind& kind) const {
  return kind.settled ? (options_.boxes_of_a_kind + 1) / 2 : options_.boxes_of_a_kind;
}

BoxPool::Shelf* BoxPool::next_to_fill() {
  if (waits_ > 0 || count() >= options_.most_boxes) return nullptr;
  const auto found = std::ranges::find_if(shelves_, [this](const Shelf& shelf) {
    return shelf.is_wanted_again && shelf.wishes != shelf.failed_wish &&
           shelf.boxes.size() < most_of(shelf.kind);
  });
  return found == shelves_.end() ? nullptr : &*found;
}

BoxPool::Shelves BoxPool::take_rested(SteadyTime now) {
  Shelves rested;
  for (auto it = shelves_.begin(); it != shelves_.end();) {
    const auto here = it++;
    if (here->wanted + options_.rest <= now) rested.splice(rested.end(), shelves_, here);
  }
  return rested;
}

void BoxPool::work() {
  for (;;) {
    Shelves rested;
    bool has_work = false;
    {
      const MutexLock lock(mutex_);
      if (is_over_) return;
      rested = take_rested(now());
      has_work = next_to_fill() != nullptr;
      if (!has_work && rested.empty()) {
        if (shelves_.empty()) {
          changed_.wait(mutex_);
        } else {
          SteadyTime first = SteadyTime::max();
          for (const Shelf& shelf : shelves_) first = std::min(first, shelf.wanted + options_.rest);
          (void)changed_.wait_until(mutex_, first);
        }
        continue;
      }
    }
    rested.clear();
    if (has_work) fill_one();
  }
}

void BoxPool::fill_one() {
  Kind kind;
  UniqueFd image, runsc;
  std::uint64_t era = 0, wish = 0;
  {
    const MutexLock lock(mutex_);
    const Shelf* const shelf = next_to_fill();
    if (shelf == nullptr) return;
    wish = shelf->wishes;
    kind = shelf->kind;
    image = duplicate(shelf->image.get());
    if (kind.settled) runsc = duplicate(shelf->runsc.get());
    era = era_;
  }
  std::unique_ptr<Box> made;
  try {
    BoxPlan plan{.image = image.get(), .user = kind.user, .group = kind.group};
    if (kind.settled) {
      plan.isolation = warden::Isolation::gvisor;
      plan.runsc = runsc.get();
      plan.limits = kind.settled->limits;
      plan.home = kind.settled->home;
    }
    if (image && (!kind.settled || runsc)) made = make_(plan);
  } catch (const std::exception&) {  // whoever wants one hears why
  }
  const MutexLock lock(mutex_);
  const auto shelf = find(kind);
  if (shelf == shelves_.end()) return;
  if (made == nullptr) {
    shelf->failed_wish = wish;
  } else if (era == era_) {
    shelf->boxes.push_back(std::move(made));
  }
}

}  // namespace cloche::native
