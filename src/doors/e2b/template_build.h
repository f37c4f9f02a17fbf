// SPDX-License-Identifier: Apache-2.0
// TemplateBuild: one build of a template: the steps of its plan are done in a sandbox, whose
// snapshot is the template. What it says on its way is kept for who asks. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "doors/e2b/boxes.h"
#include "doors/e2b/template_files.h"
#include "doors/e2b/template_plan.h"

namespace cloche::e2b {

class TemplateBuild {
 public:
  enum class Status : std::uint8_t { waiting, building, ready, error };
  struct LogEntry {
    session::WallTime when;
    std::string_view level;  // info or error
    std::string message;
    std::string step;  // its number, or: base, finalize
  };
  struct Report {
    Status status = Status::waiting;
    std::vector<LogEntry> entries;
    std::string failure;  // of `error`: a sentence
    std::string step;     // the one that failed
  };

  TemplateBuild(std::string id, std::string owner) : id_(std::move(id)), owner_(std::move(owner)) {}

  const std::string& id() const noexcept { return id_; }
  Status status() const;
  // It was begun, and has not ended.
  bool is_on_its_way() const;
  // Entries from that one on, a hundred at most.
  Report report(std::size_t offset) const;

  // It waits for its turn from now on; false where it was begun before.
  bool begin();
  // Does the plan in a sandbox like `from` (Boxes::create), which may reach what `network` allows;
  // nothing where that failed. Waits.
  std::optional<Snapshot> run(Boxes& boxes, TemplateFiles& files, const TemplatePlan& plan,
                              BoxWish from);
  // Without a sandbox: it cannot be built.
  void fail(std::string sentence, std::string step);
  // It fails, and its sandbox ends; one that waits for its turn is not done.
  void cancel(Boxes& boxes);
  // What it made can be used from now on.
  void finish();

 private:
  // What the steps so far have set.
  struct StepState {
    std::string user = "user";
    std::string workdir;  // empty: nothing was said
    std::string folder() const { return workdir.empty() ? "/home/user" : workdir; }
  };
  struct Failure {
    std::string sentence;
  };
  void log(std::string_view level, std::string message, const std::string& step);
  // In that sandbox; `number` is that of the step that is being done.
  std::variant<Snapshot, Failure> do_plan(Boxes& boxes, const BoxPtr& box, TemplateFiles& files,
                                          const TemplatePlan& plan, std::string& number);
  std::optional<Failure> do_step(Sandbox& sandbox, TemplateFiles& files, const TemplateStep& step,
                                 StepState& state, const std::string& number);
  // The text with the values of its variables.
  std::variant<std::string, Failure> with_variables(Sandbox& sandbox, const std::string& text);
  std::optional<Failure> command(Sandbox& sandbox, const RunOptions& run,
                                 const std::string& number);
  std::optional<Failure> copy(Sandbox& sandbox, TemplateFiles& files, const TemplateStep& step,
                              const StepState& state, const std::string& number);

  const std::string id_;
  const std::string owner_;
  std::stop_source stop_;
  mutable Mutex mutex_;
  Status status_ GUARDED_BY(mutex_) = Status::waiting;
  bool was_begun_ GUARDED_BY(mutex_) = false;
  std::vector<LogEntry> entries_ GUARDED_BY(mutex_);
  std::string failure_ GUARDED_BY(mutex_);
  std::string failed_step_ GUARDED_BY(mutex_);
  std::string box_id_ GUARDED_BY(mutex_);  // while it is done
};

}  // namespace cloche::e2b
