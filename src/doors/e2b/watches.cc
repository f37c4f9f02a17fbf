// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/watches.h"

#include <fmt/format.h>

#include <utility>

#include "base/random.h"
#include "doors/e2b/file_entry.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t name_bytes = 16;
constexpr std::size_t events_of_a_turn = 256;  // before the other streams have theirs

std::string_view type_name(FileChange::Kind kind) {
  using Kind = FileChange::Kind;
  switch (kind) {
    case Kind::created: return "EVENT_TYPE_CREATE";
    case Kind::written: return "EVENT_TYPE_WRITE";
    case Kind::removed: return "EVENT_TYPE_REMOVE";
    case Kind::renamed: return "EVENT_TYPE_RENAME";
    case Kind::attributes: break;
  }
  return "EVENT_TYPE_CHMOD";
}

CallError watch_error(Errno error, const std::string& path) {
  if (error == Errno::notdir)
    return {"invalid_argument", fmt::format("path is not a directory: {}", path)};
  if (error == Errno::notsup)
    return {"unimplemented", fmt::format("changes in '{}' cannot be watched", path)};
  return file_error(error, path);
}

CallError ended_error() { return {"unavailable", std::string(sandbox_not_found)}; }

CallError full_error() {
  return {"resource_exhausted",
          fmt::format("{} folders are watched, which is the limit", Watches::watches_max)};
}

}  // namespace

// --- WatchedFolder ---

CallResult<std::shared_ptr<WatchedFolder>> WatchedFolder::make(std::shared_ptr<Sandbox> sandbox,
                                                               WatchWish wish,
                                                               std::function<void()> changed) {
  std::shared_ptr<WatchedFolder> folder(new WatchedFolder(std::move(sandbox), std::move(wish)));
  const WatchWish& its = folder->wish_;
  auto watch = folder->sandbox_->files(its.account).watch(its.path, its.depth, std::move(changed));
  if (!watch) return watch_error(watch.error(), its.path);
  folder->watch_ = *std::move(watch);
  return folder;
}

OrderedJson WatchedFolder::event_of(const FileChange& change) const {
  using Kind = FileChange::Kind;
  OrderedJson event{{"name", change.path}, {"type", type_name(change.kind)}};
  if (wish_.detail == WatchWish::Detail::names || change.kind == Kind::removed ||
      change.kind == Kind::renamed)
    return event;
  const std::string folder = wish_.path == "/" ? "" : wish_.path;
  const std::string path = change.path == "." ? wish_.path : folder + "/" + change.path;
  // It may be gone again.
  if (auto entry = entry_of(sandbox_->files(wish_.account), path))
    event["entry"] = *std::move(entry);
  return event;
}

CallResult<std::vector<FileChange>> WatchedFolder::changes() {
  auto changes = watch_->take();
  if (changes) return *std::move(changes);
  return CallError{"resource_exhausted",
                   fmt::format("too much has changed in '{}': what it was is lost", wish_.path)};
}

CallResult<MessageList> WatchedFolder::take() {
  CLOCHE_CALL(const std::vector<FileChange> taken, changes());
  MessageList events("events");
  for (const FileChange& change : taken) events.add(event_of(change));
  return events;
}

CallResult<OrderedJson> WatchedFolder::next() {
  if (told_ == taken_.size()) {
    told_ = 0;
    taken_.clear();
    CLOCHE_CALL(taken_, changes());
  }
  return told_ == taken_.size() ? OrderedJson() : event_of(taken_[told_++]);
}

// --- Watches ---

Watches::~Watches() {
  for (const auto& [number, told] : told_) {
    if (told.deadline) timers_.cancel(*told.deadline);
  }
}

void Watches::start(const session::Session::Use& use, WatchWish wish,
                    const std::shared_ptr<EventStream>& stream,
                    std::optional<std::chrono::milliseconds> limit) {
  // Under the kernel's lock nothing may be let go of but the stream.
  auto made = WatchedFolder::make(use.sandbox(), std::move(wish), [stream] { stream->wake(); });
  if (const auto* error = std::get_if<CallError>(&made)) return stream->end(end_frame(*error));
  const std::weak_ptr<Watches> weak = weak_from_this();
  std::uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    if (is_full()) return stream->end(end_frame(full_error()));
    number = ++last_;
    Told& told = told_[number];
    told.folder = std::get<0>(std::move(made));
    told.stream = stream;
    if (limit) {
      told.deadline = timers_.at(std::chrono::steady_clock::now() + *limit, [weak, number] {
        const auto self = weak.lock();
        if (!self) return;
        self->workers_.post([self, number] {
          self->forget(number, end_frame({"deadline_exceeded", "the time for this call is over"}));
        });
      });
    }
  }
  // Who ends those of that sandbox may have been here before.
  if (!use.is_current()) return forget(number, end_frame(ended_error()));
  (void)stream->send(frame_of(R"({"start":{}})"));
  const auto schedule_it = [weak, number] {
    if (const auto self = weak.lock()) self->schedule(number);
  };
  stream->on_wake(schedule_it);
  stream->on_leave(schedule_it);
  schedule(number);  // what has come meanwhile
}

void Watches::schedule(std::uint64_t number) {
  {
    const MutexLock lock(mutex_);
    const auto found = told_.find(number);
    if (found == told_.end() || std::exchange(found->second.is_ready, true)) return;
    ready_.push_back(number);
    if (std::exchange(is_serving_, true)) return;
  }
  workers_.post([self = shared_from_this()] { self->serve(); });
}

void Watches::serve() {
  for (;;) {
    std::uint64_t number = 0;
    Told told;
    {
      const MutexLock lock(mutex_);
      if (ready_.empty()) {
        is_serving_ = false;
        return;
      }
      number = ready_.front();
      ready_.pop_front();
      const auto found = told_.find(number);
      if (found == told_.end()) continue;
      found->second.is_ready = false;
      told = found->second;
    }
    const Left left = pass_on(told);
    if (left == Left::over) forget(number, std::nullopt);
    if (left == Left::more) schedule(number);
  }
}

Watches::Left Watches::pass_on(const Told& told) {
  for (std::size_t turn = 0; turn < events_of_a_turn; ++turn) {
    if (told.stream->is_over()) return Left::over;
    if (!told.stream->has_room()) return Left::nothing;  // who reads comes back here
    const bool is_last = told.folder->is_over();
    const auto next = told.folder->next();
    if (const auto* error = std::get_if<CallError>(&next)) {
      told.stream->end(end_frame(*error));
      return Left::over;
    }
    const auto& event = std::get<0>(next);
    if (event.is_null() && is_last) told.stream->end(end_frame());
    if (event.is_null()) return is_last ? Left::over : Left::nothing;
    if (!told.stream->send(frame_of(write_json(OrderedJson{{"filesystem", event}}))))
      return Left::over;
  }
  return Left::more;
}

void Watches::forget(std::uint64_t number, const std::optional<std::string>& last_frame) {
  Told told;
  {
    const MutexLock lock(mutex_);
    const auto found = told_.find(number);
    if (found == told_.end()) return;
    told = std::move(found->second);
    told_.erase(found);
  }
  if (told.deadline) timers_.cancel(*told.deadline);
  if (last_frame) told.stream->end(*last_frame);
}

CallResult<std::string> Watches::create(const session::Session::Use& use, WatchWish wish) {
  CLOCHE_CALL(auto folder, WatchedFolder::make(use.sandbox(), std::move(wish), nullptr));
  std::string name = random_hex(name_bytes);
  {
    const MutexLock lock(mutex_);
    if (is_full()) return full_error();
    asked_[name] = std::move(folder);
  }
  if (use.is_current()) return name;
  (void)remove(name);
  return ended_error();
}

CallResult<MessageList> Watches::events(const std::string& name) {
  std::shared_ptr<WatchedFolder> folder;
  {
    const MutexLock lock(mutex_);
    const auto found = asked_.find(name);
    if (found != asked_.end()) folder = found->second;
  }
  if (!folder) return CallError{"not_found", fmt::format("watcher with id {} not found", name)};
  return folder->take();
}

CallResult<bool> Watches::remove(const std::string& name) {
  std::shared_ptr<WatchedFolder> folder;  // goes without the lock
  const MutexLock lock(mutex_);
  const auto found = asked_.find(name);
  if (found == asked_.end())
    return CallError{"not_found", fmt::format("watcher with id {} not found", name)};
  folder = std::move(found->second);
  asked_.erase(found);
  return true;
}

void Watches::end_streams(const CallError& why) {
  std::vector<std::uint64_t> numbers;
  {
    const MutexLock lock(mutex_);
    for (const auto& [number, told] : told_) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) forget(number, end_frame(why));
}

void Watches::stop(const CallError& why) {
  end_streams(why);
  std::map<std::string, std::shared_ptr<WatchedFolder>> asked;
  const MutexLock lock(mutex_);
  asked.swap(asked_);
}

}  // namespace cloche::e2b
