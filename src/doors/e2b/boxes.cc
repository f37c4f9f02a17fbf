// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/random.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t id_letters = 20;
constexpr std::size_t token_bytes = 32;
constexpr std::size_t snapshots_max = 100;  // of an owner
constexpr Seconds pause_again_after{10};
constexpr Seconds ready_time{20};
constexpr std::array<std::string_view, 2> templates{"base", "code-interpreter-v1"};

std::string_view without_tag(std::string_view id) { return id.substr(0, id.find(':')); }

Moment moment_after(Seconds time) {
  const Moment now = host_clock().now();
  return {now.wall + time, now.steady + time};
}
session::SteadyTime deadline_after(Seconds time) { return moment_after(time).steady; }

CallError gone() { return {"unavailable", std::string(sandbox_not_found)}; }

Denial denial_of(const session::Refusal& refusal) {
  using session::RefusalReason;
  const int status = refusal.reason == RefusalReason::owner_limit ? 429
                     : refusal.reason == RefusalReason::failed    ? 500
                                                                  : 503;
  return {status, refusal.sentence};
}

}  // namespace

std::string random_id() {
  static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  static constexpr unsigned fair = 256 / letters.size() * letters.size();
  std::string id;
  while (id.size() < id_letters) {
    std::array<std::byte, 32> bytes{};
    fill_random(bytes);
    for (const std::byte byte : bytes) {
      const auto value = std::to_integer<unsigned>(byte);
      if (value < fair && id.size() < id_letters) id += letters[value % letters.size()];
    }
  }
  return id;
}

Boxes::Boxes(Engine& engine, session::SessionManager& sessions, session::WorkerPool& workers,
             SandboxOptions options, std::vector<sandbox::Grant> grants, TemplateImages images)
    : engine_(engine),
      sessions_(sessions),
      workers_(workers),
      options_(std::move(options)),
      grants_(std::move(grants)),
      images_(std::move(images)) {}

std::shared_ptr<Sandbox> Boxes::base(const std::string& template_id) {
  const auto named = images_.find(std::string(without_tag(template_id)));
  const std::string image = named == images_.end() ? std::string() : named->second;
  const MutexLock lock(base_mutex_);
  std::shared_ptr<Sandbox>& base = bases_[image];
  if (!base || !base->why_ended().empty()) base = make_base(engine_, options_, image);
  return base;
}

const Snapshot* Boxes::find_snapshot(const std::string& owner, const std::string& id) const {
  const auto found = std::ranges::find_if(snapshots_, [&](const Snapshot& each) {
    return each.owner == owner && (each.id == id || std::ranges::count(each.names, id) > 0);
  });
  return found == snapshots_.end() ? nullptr : &*found;
}

std::string Boxes::template_name(const std::string& owner, const std::string& id) const {
  const std::string_view name = without_tag(id);
  if (std::ranges::count(templates, name) > 0 || images_.contains(std::string(name)))
    return std::string(name);
  const MutexLock lock(mutex_);
  const Snapshot* snapshot = find_snapshot(owner, id);
  return snapshot ? snapshot->id : std::string();
}

std::variant<BoxPtr, Denial> Boxes::create(const std::string& owner, BoxWish wish) {
  std::shared_ptr<Sandbox> from;
  BoxStart start;
  {
    const MutexLock lock(mutex_);
    const std::string& copied = wish.snapshot_id.empty() ? wish.template_id : wish.snapshot_id;
    if (const Snapshot* snapshot = find_snapshot(owner, copied)) {
      from = snapshot->sandbox;
      start = snapshot->start;
      for (const auto& [name, value] : snapshot->environment)
        wish.environment.try_emplace(name, value);
    }
  }
  try {
    if (!from) from = base(wish.template_id);
  } catch (const std::exception& error) {
    return Denial{500, error.what()};
  }
  auto made = make(owner, std::move(wish), *from, start);
  const auto* box = std::get_if<BoxPtr>(&made);
  if (!box || (*box)->wish.is_build) return made;
  const auto use = session::Session::use((*box)->session);
  const auto fault = use ? begin_service(*use, start, ready_time) : std::nullopt;
  if (!fault) return made;
  close((*box)->id, owner);
  return Denial{500, *fault};
}

BoxPtr Boxes::new_box(const std::string& owner, BoxWish wish, const BoxStart& start) {
  auto box = std::make_shared<Box>(
      std::move(wish), random_id(), owner,
      BoxLimits{options_.cpus, options_.memory_limit_bytes, options_.file_limit_bytes}, workers_,
      timers_, process_count_);
  box->alias =
      box->wish.alias.empty() ? std::string(without_tag(box->wish.template_id)) : box->wish.alias;
  box->start = start;
  if (box->wish.is_secure) {
    box->agent_token = random_hex(token_bytes);
    box->traffic_token = random_hex(token_bytes);
  }
  const MutexLock lock(box->mutex);
  box->network = box->wish.network.given;
  box->allow_public_traffic = box->wish.network.allow_public_traffic.value_or(true);
  box->mask_request_host = box->wish.network.mask_request_host.value_or("");
  box->ends = moment_after(box->wish.timeout);
  return box;
}

std::variant<BoxPtr, Denial> Boxes::make(const std::string& owner, BoxWish wish, Sandbox& from,
                                         const BoxStart& start) {
  const BoxPtr box = new_box(owner, std::move(wish), start);
  {
    // What ends it may come before the caller knows of it.
    const MutexLock lock(mutex_);
    boxes_[box->id] = box;
  }
  std::string wrong_rule;
  const auto make_sandbox = [&] {
    std::unique_ptr<Sandbox> sandbox = from.fork();
    for (const auto& [name, value] : box->wish.environment) sandbox->set_environment(name, value);
    try {
      if (box->wish.allow) sandbox->set_network_rules(*box->wish.allow);
    } catch (const Error& error) {
      wrong_rule = error.what();
      throw;
    }
    const MutexLock lock(box->mutex);
    box->has_network = !sandbox->network_rules().empty();
    return sandbox;
  };
  auto made = sessions_.create({.owner = owner,
                                .ttl = Seconds(0),
                                .metadata = write_json(OrderedJson(box->wish.metadata)),
                                .image = box->wish.template_id,
                                .ssh_public_key = {},
                                .id = box->id,
                                .lifetime = session::Lifetime::of_time},
                               make_sandbox);
  if (const auto* refusal = std::get_if<session::Refusal>(&made)) {
    forget(box->id);
    return wrong_rule.empty() ? denial_of(*refusal) : Denial{400, wrong_rule};
  }
  {
    const MutexLock lock(mutex_);
    box->session = std::get<std::shared_ptr<session::Session>>(std::move(made));
  }
  sessions_.set_deadline(box->session, deadline_after(box->wish.timeout));
  return box;
}

std::vector<std::variant<BoxPtr, Denial>> Boxes::fork(const BoxPtr& box, std::size_t count,
                                                      Seconds timeout) {
  std::vector<std::variant<BoxPtr, Denial>> made;
  const auto use = session::Session::use(box->session);
  for (std::size_t i = 0; i < count; ++i) {
    if (!use) {
      made.emplace_back(Denial{409, "the sandbox is not running"});
      continue;
    }
    BoxWish wish = box->wish;
    wish.timeout = timeout;
    wish.allow = use->network_rules();
    made.push_back(make(box->owner, std::move(wish), *use, box->start));
  }
  return made;
}

BoxPtr Boxes::find_any(const std::string& id) const {
  BoxPtr box;
  {
    const MutexLock lock(mutex_);
    const auto found = boxes_.find(id);
    if (found == boxes_.end() || !found->second->session) return nullptr;
    box = found->second;
  }
  return close_failed(box) ? nullptr : box;
}

// Its clients know sandboxes that run or are paused: one that has been ended is none any more.
bool Boxes::close_failed(const BoxPtr& box) const {
  if (box->session->status() != session::Status::failed) return false;
  (void)sessions_.close(box->id, box->owner);
  return true;
}

BoxPtr Boxes::find(const std::string& id, const std::string& owner) const {
  BoxPtr box = find_any(id);
  return box && box->owner == owner ? box : nullptr;
}

std::vector<BoxPtr> Boxes::all() const {
  std::vector<BoxPtr> found;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, box] : boxes_) {
      if (box->session) found.push_back(box);
    }
  }
  std::erase_if(found, [this](const BoxPtr& box) { return close_failed(box); });
  return found;
}

std::vector<BoxPtr> Boxes::list(const std::string& owner) const {
  std::vector<BoxPtr> found = all();
  std::erase_if(found,
                [&](const BoxPtr& box) { return box->owner != owner || box->wish.is_build; });
  std::ranges::sort(found, {}, [](const BoxPtr& box) { return box->session->facts().sequence; });
  return found;
}

bool Boxes::close(const std::string& id, const std::string& owner) {
  return find(id, owner) && sessions_.close(id, owner);
}

session::Change Boxes::pause(const BoxPtr& box, session::SessionManager::Processes processes) {
  const MutexLock turn(box->turn);
  return pause_in_turn(box, processes);
}

session::Change Boxes::pause_in_turn(const BoxPtr& box,
                                     session::SessionManager::Processes processes) {
  const session::Change paused = sessions_.pause(box->session, processes);
  if (!paused) return paused;
  if (processes == session::SessionManager::Processes::end) {
    box->processes->stop(gone());
    box->watches->stop(gone());
    box->interpreter.restart();
  }
  sessions_.set_deadline(box->session, session::SteadyTime::max());
  return paused;
}

bool Boxes::resume(const BoxPtr& box, Seconds timeout) {
  const MutexLock turn(box->turn);
  // Before it runs: a deadline of before the pause must not end it.
  if (box->session->status() != session::Status::paused) return false;
  set_timeout(box, timeout, Change::set);
  return sessions_.resume(box->session).done;
}

void Boxes::set_timeout(const BoxPtr& box, Seconds timeout, Change change) {
  const Moment ends = moment_after(timeout);
  {
    const MutexLock lock(box->mutex);
    if (change == Change::lengthen && ends.steady <= box->ends.steady) return;
    box->ends = ends;
  }
  sessions_.set_deadline(box->session, ends.steady);
}

std::optional<Denial> Boxes::set_network(const BoxPtr& box, NetworkWish wish) {
  auto within = rules_within(wish, options_, grants_);
  if (auto* refusal = std::get_if<NetworkRefusal>(&within))
    return Denial{400, std::move(refusal->sentence)};
  const auto use = session::Session::use(box->session);
  if (!use) return Denial{409, "the sandbox is not running"};
  const auto rules = std::get<0>(std::move(within)).value_or(options_.network.allow);
  try {
    use->set_network_rules(rules);
  } catch (const Error& error) {
    return Denial{400, error.what()};
  }
  const MutexLock lock(box->mutex);
  box->allow_public_traffic = wish.allow_public_traffic.value_or(box->allow_public_traffic);
  if (wish.mask_request_host) box->mask_request_host = *std::move(wish.mask_request_host);
  box->network = std::move(wish.given);
  if (!box->mask_request_host.empty()) box->network["maskRequestHost"] = box->mask_request_host;
  if (!box->allow_public_traffic) box->network["allowPublicTraffic"] = false;
  box->has_network = !rules.empty();
  return std::nullopt;
}

std::variant<Snapshot, Denial> Boxes::snapshot(const BoxPtr& box, const std::string& name) {
  if (auto denial = no_memory()) return *std::move(denial);
  const auto use = session::Session::use(box->session);
  if (!use) return Denial{409, "the sandbox is not running"};
  Snapshot snapshot{.id = random_id(),
                    .owner = box->owner,
                    .names = {},
                    .box_id = box->id,
                    .sandbox = use->fork(),
                    .environment = box->wish.environment,
                    .start = box->start};
  return keep(std::move(snapshot), name);
}

std::variant<Snapshot, Denial> Boxes::take_template(const BoxPtr& box, const BoxStart& start) {
  if (auto denial = no_memory()) return *std::move(denial);
  const auto use = session::Session::use(box->session);
  if (!use) return Denial{409, "the sandbox is not running"};
  // What a build may reach its sandboxes may not.
  std::shared_ptr<Sandbox> sandbox = use->fork();
  sandbox->set_network_rules(options_.network.allow);
  return keep({.id = random_id(),
               .owner = box->owner,
               .names = {},
               .box_id = box->id,
               .sandbox = std::move(sandbox),
               .environment = {},
               .start = start,
               .is_template = true},
              {});
}

// As for a new session.
std::optional<Denial> Boxes::no_memory() const {
  if (!sessions_.room().is_over_memory()) return std::nullopt;
  return Denial{503, "the server has no memory for a snapshot: delete others, or try again later"};
}

std::variant<Snapshot, Denial> Boxes::keep(Snapshot snapshot, const std::string& name) {
  if (!name.empty()) snapshot.names.push_back(name);
  const MutexLock lock(mutex_);
  const auto own = std::ranges::count(snapshots_, snapshot.owner, &Snapshot::owner);
  if (static_cast<std::size_t>(own) >= snapshots_max)
    return Denial{429, fmt::format("there are {} snapshots, which is the limit: delete one", own)};
  // The name is that of the latest.
  for (Snapshot& other : snapshots_) {
    if (other.owner == snapshot.owner) std::erase(other.names, name);
  }
  snapshot.sequence = ++last_snapshot_;
  snapshots_.push_back(snapshot);
  return snapshot;
}

std::vector<Snapshot> Boxes::snapshots(const std::string& owner) const {
  std::vector<Snapshot> own;
  const MutexLock lock(mutex_);
  for (auto each = snapshots_.rbegin(); each != snapshots_.rend(); ++each) {
    if (each->owner == owner && !each->is_template) own.push_back(*each);
  }
  return own;
}

bool Boxes::remove_snapshot(const std::string& owner, const std::string& id) {
  std::shared_ptr<Sandbox> sandbox;  // goes without the lock
  const MutexLock lock(mutex_);
  const Snapshot* found = find_snapshot(owner, id);
  if (!found) return false;
  sandbox = found->sandbox;
  const std::string its_id = found->id;
  std::erase_if(snapshots_, [&](const Snapshot& each) { return each.id == its_id; });
  return true;
}

bool Boxes::came_due(const std::shared_ptr<session::Session>& session) {
  const BoxPtr box = find_any(session->facts().id);
  if (!box) return false;
  const MutexLock turn(box->turn);
  // It may have been given more time before it was its turn.
  if (session->due({}) > std::chrono::steady_clock::now()) return true;
  if (box->wish.auto_pause) {
    const session::Change paused = pause_in_turn(box, box->wish.auto_pause_processes);
    if (paused) return true;
    if (!paused.saved) {  // it cannot be now: it runs on
      sessions_.set_deadline(session, deadline_after(pause_again_after));
      return true;
    }
  }
  if (session->status() != session::Status::paused) return false;
  // What is paused has no end, whatever deadline it was given meanwhile.
  sessions_.set_deadline(session, session::SteadyTime::max());
  return true;
}

void Boxes::stopping(const session::Session& session) {
  const BoxPtr box = find_any(session.facts().id);
  if (!box) return;
  box->processes->end_streams(gone());
  box->watches->end_streams(gone());
  relays_.drop(box->id);
  box->interpreter.break_off();
}

void Boxes::forget(const std::string& id) {
  BoxPtr box;
  {
    const MutexLock lock(mutex_);
    const auto found = boxes_.find(id);
    if (found == boxes_.end()) return;
    box = std::move(found->second);
    boxes_.erase(found);
  }
  box->processes->stop(gone());
  box->watches->stop(gone());
}

}  // namespace cloche::e2b
