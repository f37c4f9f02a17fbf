// SPDX-License-Identifier: Apache-2.0
// Templates: what clients have built, by name and tag, and the builds. They end with the server.
// Thread-safe.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "doors/e2b/template_build.h"

namespace cloche::e2b {

class Templates {
 public:
  // Both outlive it, and the work that it posts; builds may reach what these rules allow too.
  // Throws Error for a rule that is none.
  Templates(Boxes& boxes, session::WorkerPool& workers, std::vector<std::string> network);

  struct Tag {
    std::string build_id;
    std::string snapshot_id;
    session::WallTime when;
  };
  struct Template {
    std::string id;
    std::string owner;
    std::string name;
    session::WallTime created;
    std::map<std::string, Tag> tags;
    std::vector<std::string> asked_tags;    // of the latest build
    std::shared_ptr<TemplateBuild> latest;  // build
    std::size_t builds = 0;
  };

  // A build of a template of that name, NAME or NAME:TAG, that can be begun; the template is made
  // where there is none.
  std::variant<Template, Denial> request(const std::string& owner, const std::string& name,
                                         std::vector<std::string> tags);
  // Begins it, at once or after others of its owner; what is wrong with it otherwise.
  std::optional<Denial> begin(const std::string& owner, const std::string& id,
                              const std::string& build_id, TemplatePlan plan);

  // By id or name, with a tag or without.
  std::optional<Template> find(const std::string& owner, const std::string& said) const;
  // The id of what is there without a build, as Boxes::template_name.
  std::string usual(const std::string& owner, const std::string& said) const;
  std::vector<Template> list(const std::string& owner) const;
  std::shared_ptr<TemplateBuild> build(const std::string& owner, const std::string& id,
                                       const std::string& build_id) const;
  bool remove(const std::string& owner, const std::string& said);

  // What a sandbox is made of.
  struct Found {
    std::string id;
    std::string name;
    std::string snapshot_id;
  };
  std::optional<Found> resolve(const std::string& owner, const std::string& said) const;

  // `said` is NAME:TAG; those tags are of its build too. Nothing where there is none.
  std::optional<Tag> add_tags(const std::string& owner, const std::string& said,
                              const std::vector<std::string>& tags);
  bool remove_tags(const std::string& owner, const std::string& name,
                   const std::vector<std::string>& tags);

  TemplateFiles& files() noexcept { return files_; }

 private:
  // A build that was begun.
  struct Job {
    std::string owner;
    std::string template_id;
    std::vector<std::string> tags;
    std::shared_ptr<TemplateBuild> work;
    BoxWish wish;
    TemplatePlan plan;
  };
  void run(Job job);
  // The next one of an owner, whose turn it is.
  std::optional<Job> next_job(const std::string& owner);
  Template* find_locked(const std::string& owner, std::string_view said) REQUIRES(mutex_);
  const Template* find_locked(const std::string& owner, std::string_view said) const
      REQUIRES(mutex_);
  void publish(const std::string& owner, const std::string& id, const std::string& build_id,
               const std::string& snapshot_id, const std::vector<std::string>& tags);
  // Of those that no tag names any more.
  void drop_snapshots(const std::string& owner, const std::vector<std::string>& ids);

  Boxes& boxes_;
  session::WorkerPool& workers_;
  const std::vector<std::string> network_;
  TemplateFiles files_{TemplateFiles::Limits{}};
  mutable Mutex mutex_;
  std::deque<Template> templates_ GUARDED_BY(mutex_);              // the oldest first
  std::map<std::string, std::size_t> running_ GUARDED_BY(mutex_);  // builds of each owner
  std::deque<Job> waiting_ GUARDED_BY(mutex_);                     // for their turn
};

// The parts of NAME:TAG; without a tag it is "default".
std::pair<std::string, std::string> name_and_tag(std::string_view said);

}  // namespace cloche::e2b
