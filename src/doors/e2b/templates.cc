// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/random.h"
#include "net/rule.h"

namespace cloche::e2b {
namespace {

constexpr std::string_view default_tag = "default";
constexpr std::size_t templates_max = 50;  // of an owner
constexpr std::size_t tags_max = 50;       // of a template
constexpr std::size_t builds_max = 2;      // of an owner, at a time
constexpr std::size_t waiting_max = 16;    // builds of an owner
constexpr std::size_t word_max_bytes = 128;

bool is_word(std::string_view text, std::string_view marks) {
  return !text.empty() && text.size() <= word_max_bytes && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

bool is_building(const Templates::Template& each) {
  return each.latest && each.latest->is_on_its_way();
}

}  // namespace

std::pair<std::string, std::string> name_and_tag(std::string_view said) {
  const std::size_t colon = said.find(':');
  if (colon == said.npos) return {std::string(said), std::string(default_tag)};
  return {std::string(said.substr(0, colon)), std::string(said.substr(colon + 1))};
}

Templates::Templates(Boxes& boxes, session::WorkerPool& workers, std::vector<std::string> network)
    : boxes_(boxes), workers_(workers), network_(std::move(network)) {
  for (const std::string& rule : network_) (void)net::Rule(rule);
}

Templates::Template* Templates::find_locked(const std::string& owner, std::string_view said) {
  const std::string name = name_and_tag(said).first;
  const auto found = std::ranges::find_if(templates_, [&](const Template& each) {
    return each.owner == owner && (each.id == name || each.name == name);
  });
  return found == templates_.end() ? nullptr : &*found;
}

const Templates::Template* Templates::find_locked(const std::string& owner,
                                                  std::string_view said) const {
  return const_cast<Templates*>(this)->find_locked(owner, said);
}

std::variant<Templates::Template, Denial> Templates::request(const std::string& owner,
                                                             const std::string& said,
                                                             std::vector<std::string> tags) {
  const auto [name, tag] = name_and_tag(said);
  if (!is_word(name, "-_./")) {
    return Denial{400,
                  "the name of a template has letters, digits, and - _ . / between them, 128 "
                  "bytes at most"};
  }
  if (said.find(':') != said.npos) tags.push_back(tag);
  if (tags.empty()) tags.emplace_back(default_tag);
  if (tags.size() > tags_max ||
      !std::ranges::all_of(tags, [](const std::string& each) { return is_word(each, "-_."); }))
    return Denial{400, "a tag has letters, digits, and - _ . between them, 128 bytes at most"};
  if (!boxes_.template_name(owner, name).empty() && !find(owner, name))
    return Denial{409, fmt::format("the name '{}' is taken", name)};
  const MutexLock lock(mutex_);
  Template* found = find_locked(owner, name);
  if (!found) {
    const auto own = std::ranges::count(templates_, owner, &Template::owner);
    if (static_cast<std::size_t>(own) >= templates_max)
      return Denial{429,
                    fmt::format("there are {} templates, which is the limit: delete one", own)};
    templates_.push_back({.id = random_id(),
                          .owner = owner,
                          .name = name,
                          .created = std::chrono::system_clock::now(),
                          .tags = {},
                          .asked_tags = {},
                          .latest = nullptr});
    found = &templates_.back();
  }
  if (is_building(*found))
    return Denial{409, fmt::format("a build of '{}' is in progress: wait for its end", name)};
  found->latest = std::make_shared<TemplateBuild>(random_uuid(), owner);
  found->asked_tags = std::move(tags);
  ++found->builds;
  return *found;
}

std::optional<Denial> Templates::begin(const std::string& owner, const std::string& id,
                                       const std::string& build_id, TemplatePlan plan) {
  BoxWish wish;
  wish.template_id = "base";
  if (!network_.empty()) {
    std::vector<std::string> rules = boxes_.options().network.allow;
    rules.insert(rules.end(), network_.begin(), network_.end());
    wish.allow = std::move(rules);
  }
  if (!plan.from_template.empty()) {
    wish.template_id = plan.from_template;
    if (const auto built = resolve(owner, plan.from_template)) {
      wish.snapshot_id = built->snapshot_id;
    } else if (boxes_.template_name(owner, plan.from_template).empty()) {
      return Denial{404, fmt::format("the template '{}' was not found", plan.from_template)};
    }
  }
  Job job{.owner = owner,
          .template_id = {},
          .tags = {},
          .work = nullptr,
          .wish = std::move(wish),
          .plan = std::move(plan)};
  {
    const MutexLock lock(mutex_);
    const Template* found = find_locked(owner, id);
    if (!found || !found->latest || found->latest->id() != build_id)
      return Denial{404, "there is no such build, or a later one was asked for"};
    const auto ahead = std::ranges::count(waiting_, owner, &Job::owner);
    if (static_cast<std::size_t>(ahead) >= waiting_max)
      return Denial{429, fmt::format("{} builds wait for their turn, which is the limit", ahead)};
    job.work = found->latest;
    job.tags = found->asked_tags;
    job.template_id = found->id;
    if (!job.work->begin()) return Denial{409, "this build was begun before"};
    if (std::size_t& running = running_[owner]; running < builds_max) {
      ++running;
    } else {
      waiting_.push_back(std::move(job));
      return std::nullopt;
    }
  }
  workers_.post([this, job = std::move(job)]() mutable { run(std::move(job)); });
  return std::nullopt;
}

void Templates::run(Job job) {
  const std::string owner = job.owner;
  try {
    if (const auto made = job.work->run(boxes_, files_, job.plan, std::move(job.wish))) {
      publish(owner, job.template_id, job.work->id(), made->id, job.tags);
      job.work->finish();
    }
  } catch (const std::exception& error) {
    job.work->fail(error.what(), "base");
  }
  if (auto next = next_job(owner))
    workers_.post([this, next = *std::move(next)]() mutable { run(std::move(next)); });
}

std::optional<Templates::Job> Templates::next_job(const std::string& owner) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(waiting_, owner, &Job::owner);
  if (found == waiting_.end()) {
    if (--running_[owner] == 0) running_.erase(owner);
    return std::nullopt;
  }
  Job job = std::move(*found);
  waiting_.erase(found);
  return job;
}

void Templates::publish(const std::string& owner, const std::string& id,
                        const std::string& build_id, const std::string& snapshot_id,
                        const std::vector<std::string>& tags) {
  std::vector<std::string> before;
  bool is_there = false;
  {
    const MutexLock lock(mutex_);
    if (Template* found = find_locked(owner, id)) {
      is_there = true;
      for (const std::string& tag : tags) {
        Tag& to = found->tags[tag];
        if (!to.snapshot_id.empty()) before.push_back(to.snapshot_id);
        to = {build_id, snapshot_id, std::chrono::system_clock::now()};
      }
    }
  }
  if (!is_there) before.push_back(snapshot_id);  // it was deleted meanwhile
  drop_snapshots(owner, before);
}

void Templates::drop_snapshots(const std::string& owner, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    {
      const MutexLock lock(mutex_);
      const bool is_used = std::ranges::any_of(templates_, [&](const Template& each) {
        return std::ranges::any_of(each.tags,
                                   [&](const auto& tag) { return tag.second.snapshot_id == id; });
      });
      if (is_used) continue;
    }
    (void)boxes_.remove_snapshot(owner, id);
  }
}

std::optional<Templates::Template> Templates::find(const std::string& owner,
                                                   const std::string& said) const {
  const MutexLock lock(mutex_);
  const Template* found = find_locked(owner, said);
  return found ? std::optional(*found) : std::nullopt;
}

std::string Templates::usual(const std::string& owner, const std::string& said) const {
  return boxes_.template_name(owner, said);
}

std::vector<Templates::Template> Templates::list(const std::string& owner) const {
  std::vector<Template> own;
  const MutexLock lock(mutex_);
  std::ranges::copy_if(templates_, std::back_inserter(own),
                       [&](const Template& each) { return each.owner == owner; });
  return own;
}

std::shared_ptr<TemplateBuild> Templates::build(const std::string& owner, const std::string& id,
                                                const std::string& build_id) const {
  const MutexLock lock(mutex_);
  const Template* found = find_locked(owner, id);
  return found && found->latest && found->latest->id() == build_id ? found->latest : nullptr;
}

bool Templates::remove(const std::string& owner, const std::string& said) {
  std::vector<std::string> ids;
  std::shared_ptr<TemplateBuild> latest;
  {
    const MutexLock lock(mutex_);
    const Template* found = find_locked(owner, said);
    if (!found) return false;
    latest = found->latest;
    for (const auto& [tag, what] : found->tags) ids.push_back(what.snapshot_id);
    const std::string id = found->id;
    std::erase_if(templates_, [&](const Template& each) { return each.id == id; });
    std::erase_if(waiting_, [&](const Job& job) { return job.template_id == id; });
  }
  if (latest) latest->cancel(boxes_);
  drop_snapshots(owner, ids);
  return true;
}

std::optional<Templates::Found> Templates::resolve(const std::string& owner,
                                                   const std::string& said) const {
  const MutexLock lock(mutex_);
  const Template* found = find_locked(owner, said);
  if (!found) return std::nullopt;
  const auto tag = found->tags.find(name_and_tag(said).second);
  if (tag == found->tags.end()) return std::nullopt;
  return Found{found->id, found->name, tag->second.snapshot_id};
}

std::optional<Templates::Tag> Templates::add_tags(const std::string& owner, const std::string& said,
                                                  const std::vector<std::string>& tags) {
  Tag tag;
  std::vector<std::string> before;
  {
    const MutexLock lock(mutex_);
    Template* found = find_locked(owner, said);
    if (!found || found->tags.size() + tags.size() > tags_max) return std::nullopt;
    const auto from = found->tags.find(name_and_tag(said).second);
    if (from == found->tags.end()) return std::nullopt;
    tag = from->second;
    tag.when = std::chrono::system_clock::now();
    for (const std::string& name : tags) {
      if (!is_word(name, "-_.")) return std::nullopt;
      Tag& to = found->tags[name];
      if (!to.snapshot_id.empty()) before.push_back(to.snapshot_id);
      to = tag;
    }
  }
  drop_snapshots(owner, before);
  return tag;
}

bool Templates::remove_tags(const std::string& owner, const std::string& name,
                            const std::vector<std::string>& tags) {
  std::vector<std::string> before;
  {
    const MutexLock lock(mutex_);
    Template* found = find_locked(owner, name);
    if (!found) return false;
    for (const std::string& tag : tags) {
      const auto known = found->tags.find(tag);
      if (known == found->tags.end()) continue;
      before.push_back(known->second.snapshot_id);
      found->tags.erase(known);
    }
  }
  drop_snapshots(owner, before);
  return true;
}

}  // namespace cloche::e2b
