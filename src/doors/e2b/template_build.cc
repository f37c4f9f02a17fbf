// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/mutex.h"
#include "base/random.h"

namespace cloche::e2b {
namespace {

using Kind = TemplateStep::Kind;

constexpr std::chrono::minutes build_time{60};
constexpr std::chrono::minutes ready_time{5};
constexpr std::size_t log_entries_max = 5000;
constexpr std::size_t entry_max_bytes = 4096;
constexpr std::size_t page_entries = 100;
constexpr std::size_t said_max_bytes = 2000;
constexpr std::size_t word_max_bytes = 128 << 10;  // of one that has variables in it

// Puts what an archive has of a source ($2) at its target ($3), for an owner ($4), with a mode ($5)
// or as it is. A folder's content goes into the target, as with a Dockerfile; folders that are there
// stay whose they are.
constexpr std::string_view copy_script = R"sh(
set -eo pipefail
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked" "$1"' EXIT
tar -xf "$1" -C "$unpacked"
chown -hR "$4:$4" "$unpacked"
[ -z "$5" ] || chmod -R "$5" "$unpacked"
source=${2%/}
if [ -e "$unpacked/$source" ] || [ -L "$unpacked/$source" ]; then
  found=("$unpacked/$source")
else
  mapfile -t found < <(compgen -G "$unpacked/$source")
fi
[ ${#found[@]} -gt 0 ] || { echo "the archive has no $2" >&2; exit 1; }
for each in "${found[@]}"; do
  if [ -d "$each" ] && [ ! -L "$each" ] && [ -d "$3" ]; then
    tar -C "$each" -cf - . | tar -C "$3" -xf - --no-overwrite-dir --keep-directory-symlink
  elif [ -d "$each" ] && [ ! -L "$each" ]; then
    mkdir -p "$3"
    cp -a "$each/." "$3/"
  elif [ -d "$3" ] || [ ${#found[@]} -gt 1 ] || [ "$3" != "${3%/}" ]; then
    mkdir -p "$3"
    cp -a "$each" "$3/"
  else
    mkdir -p "$(dirname "$3")"
    cp -a "$each" "$3"
  fi
done
)sh";

// Makes a folder ($1). Who works there ($2) owns what is made, as with this wire's other servers;
// what was there is as it was.
constexpr std::string_view workdir_script = R"sh(
[ -d "$1" ] && exit
made=$1
until [ -d "$(dirname -- "$made")" ]; do made=$(dirname -- "$made"); done
mkdir -p -- "$1" && chown -hR "$2:$2" -- "$made"
)sh";

Account account_of(std::string_view user) { return user == "root" ? Account::root : Account::user; }

std::string path_from(const std::string& workdir, const std::string& path) {
  return path.starts_with('/') ? path : workdir + "/" + path;
}

// For a shell, which puts variables into it and does nothing else with it.
std::string quoted_for_variables(std::string_view text) {
  std::string word = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    static constexpr std::string_view special = "\\\"`";
    if (special.find(text[i]) != text.npos || text.substr(i).starts_with("$(")) word += '\\';
    word += text[i];
  }
  return word + '"';
}

// Lines of what a command prints, for the log.
class LineCutter {
 public:
  explicit LineCutter(std::function<void(std::string)> take) : take_(std::move(take)) {}
  void add(std::string_view data) {
    while (!data.empty()) {
      const std::size_t end = data.find('\n');
      line_ += data.substr(0, std::min(end, entry_max_bytes));
      line_.resize(std::min(line_.size(), entry_max_bytes));
      if (end == data.npos) return;
      data.remove_prefix(end + 1);
      finish();
    }
  }
  void finish() {
    if (!line_.empty()) take_(std::exchange(line_, {}));
  }

 private:
  std::function<void(std::string)> take_;
  std::string line_;
};

std::string step_label(const TemplateStep& step) {
  static constexpr std::string_view names[] = {"RUN", "COPY", "ENV", "WORKDIR", "USER"};
  std::string label(names[static_cast<std::size_t>(step.kind)]);
  const std::size_t shown = step.kind == Kind::copy ? 2 : step.arguments.size();
  for (std::size_t i = 0; i < shown; ++i) label += " " + step.arguments[i];
  return label;
}

}  // namespace

void TemplateBuild::cancel(Boxes& boxes) {
  stop_.request_stop();
  std::string id;
  {
    const MutexLock lock(mutex_);
    if (status_ == Status::waiting) status_ = Status::error;
    id = box_id_;
  }
  if (!id.empty()) boxes.close(id, owner_);
}

TemplateBuild::Status TemplateBuild::status() const {
  const MutexLock lock(mutex_);
  return status_;
}

bool TemplateBuild::is_on_its_way() const {
  const MutexLock lock(mutex_);
  return was_begun_ && (status_ == Status::waiting || status_ == Status::building);
}

TemplateBuild::Report TemplateBuild::report(std::size_t offset) const {
  const MutexLock lock(mutex_);
  Report report{status_, {}, failure_, failed_step_};
  for (std::size_t i = offset; i < entries_.size() && report.entries.size() < page_entries; ++i)
    report.entries.push_back(entries_[i]);
  return report;
}

bool TemplateBuild::begin() {
  const MutexLock lock(mutex_);
  return status_ == Status::waiting && !std::exchange(was_begun_, true);
}

void TemplateBuild::finish() {
  log("info", "Build finished", "finalize");
  const MutexLock lock(mutex_);
  status_ = Status::ready;
}

void TemplateBuild::fail(std::string sentence, std::string step) {
  log("error", sentence, step);
  const MutexLock lock(mutex_);
  failure_ = std::move(sentence);
  failed_step_ = std::move(step);
  status_ = Status::error;
}

void TemplateBuild::log(std::string_view level, std::string message, const std::string& step) {
  message.resize(std::min(message.size(), entry_max_bytes));
  const MutexLock lock(mutex_);
  if (entries_.size() > log_entries_max) return;
  if (entries_.size() == log_entries_max) message = "more is not kept";
  entries_.push_back({std::chrono::system_clock::now(), level, std::move(message), step});
}

std::optional<Snapshot> TemplateBuild::run(Boxes& boxes, TemplateFiles& files,
                                           const TemplatePlan& plan, BoxWish from) {
  {
    const MutexLock lock(mutex_);
    if (status_ != Status::waiting) return std::nullopt;
    status_ = Status::building;
  }
  if (!plan.from_image.empty())
    log("info",
        fmt::format("FROM {}: every image begins with Cloche's own system", plan.from_image),
        "base");
  from.timeout = build_time;
  from.is_build = true;
  auto made = boxes.create(owner_, std::move(from));
  if (const auto* denial = std::get_if<Denial>(&made)) {
    fail(denial->sentence, "base");
    return std::nullopt;
  }
  const BoxPtr box = std::get<BoxPtr>(made);
  {
    const MutexLock lock(mutex_);
    box_id_ = box->id;
  }
  std::optional<Snapshot> snapshot;
  std::string number = "base";
  try {
    auto done = do_plan(boxes, box, files, plan, number);
    if (auto* failure = std::get_if<Failure>(&done)) {
      fail(std::move(failure->sentence), number);
    } else {
      snapshot = std::get<Snapshot>(std::move(done));
    }
  } catch (const std::exception& error) {
    fail(error.what(), number);
  }
  boxes.close(box->id, owner_);
  return snapshot;
}

std::variant<Snapshot, TemplateBuild::Failure> TemplateBuild::do_plan(Boxes& boxes,
                                                                      const BoxPtr& box,
                                                                      TemplateFiles& files,
                                                                      const TemplatePlan& plan,
                                                                      std::string& number) {
  const auto use = session::Session::use(box->session);
  if (!use) return Failure{"the time for a build is over, or the server is about to end"};
  const Failure cancelled{"the build was cancelled"};
  StepState state{box->start.user, box->start.workdir};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (stop_.stop_requested()) return cancelled;
    number = std::to_string(i + 1);
    log("info", fmt::format("[{}/{}] {}", number, plan.steps.size(), step_label(plan.steps[i])),
        number);
    if (auto failure = do_step(*use, files, plan.steps[i], state, number))
      return *std::move(failure);
  }
  if (stop_.stop_requested()) return cancelled;
  number = "finalize";
  const BoxStart start{state.user, state.workdir, plan.start_command, plan.ready_command};
  if (auto fault = begin_service(*use, start, ready_time, stop_.get_token()))
    return Failure{*std::move(fault)};
  auto taken = boxes.take_template(box, start_of_copies(*use, start));
  if (const auto* denial = std::get_if<Denial>(&taken)) return Failure{denial->sentence};
  return std::get<Snapshot>(std::move(taken));
}

std::optional<TemplateBuild::Failure> TemplateBuild::do_step(Sandbox& sandbox, TemplateFiles& files,
                                                             const TemplateStep& step,
                                                             StepState& state,
                                                             const std::string& number) {
  const std::vector<std::string>& words = step.arguments;
  switch (step.kind) {
    case Kind::run: {
      const std::string& user = words.size() > 1 && !words[1].empty() ? words[1] : state.user;
      RunOptions run;
      run.argv = {"/bin/bash", "-l", "-c", words[0]};
      run.account = account_of(user);
      run.cwd = state.folder();
      return command(sandbox, run, number);
    }
    case Kind::copy: return copy(sandbox, files, step, state, number);
    case Kind::set_variables: {
      // Each has those of the steps before.
      std::vector<std::string> values;
      for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        auto value = with_variables(sandbox, words[i + 1]);
        if (auto* failure = std::get_if<Failure>(&value)) return std::move(*failure);
        values.push_back(std::get<std::string>(std::move(value)));
      }
      for (std::size_t i = 0; i < values.size(); ++i)
        sandbox.set_environment(words[2 * i], values[i]);
      return std::nullopt;
    }
    case Kind::set_workdir: {
      auto folder = with_variables(sandbox, words[0]);
      if (auto* failure = std::get_if<Failure>(&folder)) return std::move(*failure);
      state.workdir = path_from(state.folder(), std::get<std::string>(folder));
      RunOptions run;
      run.script = std::string(workdir_script);
      run.arguments = {"workdir", state.workdir, state.user};
      run.account = Account::root;
      return command(sandbox, run, number);
    }
    case Kind::set_user: state.user = words[0]; return std::nullopt;
  }
  return std::nullopt;
}

std::variant<std::string, TemplateBuild::Failure> TemplateBuild::with_variables(
    Sandbox& sandbox, const std::string& text) {
  if (text.find('$') == text.npos) return text;
  RunOptions run;
  run.argv = {"/bin/bash", "-c", "printf %s " + quoted_for_variables(text)};
  run.account = Account::root;
  run.timeout = build_time;
  run.stop = stop_.get_token();
  run.output_limit_bytes = word_max_bytes;
  RunResult result = sandbox.run(run);
  if (result.stdout_truncated)
    return Failure{fmt::format("with its variables a word has more than {} bytes", word_max_bytes)};
  if (result.status == RunStatus::exited && result.exit_code == 0)
    return std::move(result.stdout_data);
  std::string& why = result.stderr_data.empty() ? result.reason : result.stderr_data;
  why.resize(std::min(why.size(), said_max_bytes));
  return Failure{fmt::format("the variables of '{}' cannot be put in: {}",
                             text.substr(0, said_max_bytes), why)};
}

std::optional<TemplateBuild::Failure> TemplateBuild::command(Sandbox& sandbox,
                                                             const RunOptions& run,
                                                             const std::string& number) {
  struct {
    Mutex mutex;  // each stream comes in order, and both at once
    std::string last GUARDED_BY(mutex);
  } said;
  const auto take = [&](std::string line) {
    const MutexLock lock(said.mutex);
    said.last = line;
    log("info", std::move(line), number);
  };
  LineCutter out(take), err(take);
  RunOptions told = run;
  told.output = [&](Stream stream, std::string_view data) {
    (stream == Stream::out ? out : err).add(data);
  };
  told.timeout = build_time;
  told.stop = stop_.get_token();
  const RunResult result = sandbox.run(told);
  out.finish();
  err.finish();
  if (result.status == RunStatus::exited && result.exit_code == 0) return std::nullopt;
  const MutexLock lock(said.mutex);
  std::string& last = said.last;
  last.resize(std::min(last.size(), said_max_bytes));
  return Failure{fmt::format("the command ended with {}{}{}", result.exit_code,
                             last.empty() && result.reason.empty() ? "" : ": ",
                             last.empty() ? result.reason : last)};
}

std::optional<TemplateBuild::Failure> TemplateBuild::copy(Sandbox& sandbox, TemplateFiles& files,
                                                          const TemplateStep& step,
                                                          const StepState& state,
                                                          const std::string& number) {
  const TemplateFiles::Archive archive = files.find(owner_, step.files_hash);
  if (!archive) return Failure{"the files of this step were not sent, or have been forgotten"};
  auto target = with_variables(sandbox, step.arguments[1]);
  if (auto* failure = std::get_if<Failure>(&target)) return std::move(*failure);
  const std::string passing = "/tmp/." + random_hex(16);
  const Result<void> written = sandbox.files(Account::root).write(passing, *archive, 0600);
  if (!written)
    return Failure{fmt::format("the files cannot be put into the sandbox: {}",
                               errno_info(written.error()).message)};
  const auto word = [&](std::size_t i) {
    return i < step.arguments.size() ? step.arguments[i] : std::string();
  };
  const std::string owner = word(2).substr(0, word(2).find(':'));
  RunOptions run;
  run.argv = {"/bin/bash",
              "-c",
              std::string(copy_script),
              "copy",
              passing,
              word(0),
              path_from(state.folder(), std::get<std::string>(target)),
              owner.empty() ? state.user : owner,
              word(3)};
  run.account = Account::root;
  return command(sandbox, run, number);
}

}  // namespace cloche::e2b
