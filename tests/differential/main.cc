// SPDX-License-Identifier: Apache-2.0
// cloche_differential [--jobs N] [--attempts N] [--show] [--list] FILE.cases [CASE...]
// cloche_differential --folder FOLDER FILE.cases ...: each case finds the files of FOLDER
// cloche_differential --random COUNT [--seed N] [--jobs N] [--attempts N] [--show]
//
// Runs the cases of a file by the machine's programs and in sandboxes, and prints what differs. A
// case that differs is run again, both sides, and alone: it counts when it differs in every
// attempt. Status 0: nothing that intended.cases does not tell; 77: every case was skipped.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>

#include "case_file.h"
#include "compare.h"
#include "random_script.h"
#include "side.h"

namespace cloche::differential {
namespace {

constexpr int status_different = 1;
constexpr int status_wrong_use = 2;
constexpr int status_skipped = 77;

struct Options {
  std::filesystem::path program;
  std::filesystem::path file;
  std::set<std::string> names;  // empty: all
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  std::filesystem::path folder;
  bool show = false;
  bool list = false;
  int attempts = 3;
  std::uint64_t random = 0;  // so many random scripts, instead of a file
  std::uint64_t seed = 1;
};

struct Job {
  Case test;
  const Intended* intended = nullptr;
  std::string skipped;  // why
  Outcome native;
  Outcome ours;
  int attempts = 0;
  std::string difference;  // of the last attempt
};

Options options_of(const std::vector<std::string>& words) {
  Options options;
  options.program = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--jobs" && i + 1 < words.size()) {
      options.jobs = std::max<std::size_t>(1, std::strtoul(words[++i].c_str(), nullptr, 10));
    } else if (words[i] == "--attempts" && i + 1 < words.size()) {
      options.attempts = std::max(1, std::atoi(words[++i].c_str()));
    } else if (words[i] == "--folder" && i + 1 < words.size()) {
      options.folder = words[++i];
    } else if (words[i] == "--random" && i + 1 < words.size()) {
      options.random = std::strtoull(words[++i].c_str(), nullptr, 10);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      options.seed = std::strtoull(words[++i].c_str(), nullptr, 10);
    } else if (words[i] == "--show") {
      options.show = true;
    } else if (words[i] == "--list") {
      options.list = true;
    } else if (options.file.empty()) {
      options.file = words[i];
    } else {
      options.names.insert(words[i]);
    }
  }
  if (options.file.empty() == (options.random == 0)) {
    throw std::runtime_error(
        "cloche_differential [--jobs N] [--attempts N] [--show] [--list] FILE.cases [CASE...]\n"
        "cloche_differential --random COUNT [--seed N] [--jobs N] [--attempts N] [--show]");
  }
  return options;
}

// Two scripts of each seed: a program, and tokens in disorder.
std::vector<Job> random_jobs(const Options& options) {
  std::vector<Job> work;
  for (std::uint64_t i = 0; i < options.random; ++i) {
    for (const bool program : {true, false}) {
      Job job;
      job.test.file = "random";
      job.test.name = fmt::format("seed {}", options.seed + i);
      job.test.script =
          program ? random_program(options.seed + i) : random_tokens(options.seed + i);
      job.test.sorted_err = true;  // the processes of a pipeline write at the same time
      job.test.needs.push_back({.command = "bash", .at_least = "", .prefix = "5.2"});
      // Process numbers, in what a shell tells of a job and in $! and $$.
      job.test.replacements.push_back(
          {.pattern = "(line [0-9]+: +|process )[0-9]+", .text = "$1N"});
      work.push_back(std::move(job));
    }
  }
  return work;
}

// "shell/quoting" of ".../shell/quoting.cases".
std::string short_name(const std::filesystem::path& file) {
  return file.parent_path().filename() / file.stem();
}

void for_all(std::vector<Job>& work, std::size_t threads, const std::function<void(Job&)>& act) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto loop = [&] {
    for (std::size_t i; (i = next++) < work.size();) {
      try {
        if (work[i].skipped.empty()) act(work[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        return;
      }
    }
  };
  std::vector<std::jthread> pool;
  for (std::size_t i = 0; i < std::min(threads, work.size()); ++i) pool.emplace_back(loop);
  pool.clear();
  if (failure) std::rethrow_exception(failure);
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "cloche-differential-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path = name;
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path path;
};

// What is wrong with a case, for people; empty: nothing.
std::string difference(const Job& job) {
  std::string text;
  for (const auto& [part, both] : compared_parts(job.test, job.native, job.ours)) {
    const bool told = job.intended != nullptr && job.intended->parts.contains(part);
    if (told) {
      const std::string& expected = job.intended->parts.at(part);
      if (!both.differs()) {
        text += fmt::format("  {}: does not differ any more, but intended.cases:{} says so\n",
                            name_of(part), job.intended->line);
      } else if (both.ours != expected) {
        text += fmt::format("  {} is not what intended.cases:{} says (-), but (+)\n{}",
                            name_of(part), job.intended->line, diff_text(expected, both.ours));
      }
    } else if (both.differs()) {
      text += fmt::format("  {}: native (-), ours (+)\n{}", name_of(part),
                          diff_text(both.native, both.ours));
    }
  }
  return text;
}

// Prints what is wrong with a case.
void report(const Options& options, const Job& job) {
  if (options.show) {
    fmt::print("{}:{}: {}\n  native: status {}\n{}{}  ours: status {}\n{}{}",
               job.test.file.string(), job.test.line, job.test.name, job.native.status,
               job.native.out, job.native.err, job.ours.status, job.ours.out, job.ours.err);
  }
  if (job.difference.empty()) return;
  const std::string luck =
      job.attempts > 1 ? fmt::format("  {} attempts; the last one:\n", job.attempts) : "";
  if (options.random > 0) {
    fmt::print("{}\n{}{}{}  again: {} --random 1 --{}\n", job.test.name, job.test.script, luck,
               job.difference, options.program.string(), job.test.name);
  } else {
    fmt::print("{}:{}: {}\n{}{}  again: {} {} '{}'\n", job.test.file.string(), job.test.line,
               job.test.name, luck, job.difference, options.program.string(), options.file.string(),
               job.test.name);
  }
}

std::vector<Job> jobs_of(const Options& options, const std::vector<Intended>& intended) {
  std::vector<Job> work;
  std::set<std::string> missing = options.names;
  std::set<const Intended*> used;
  const auto folder = std::make_shared<const std::vector<GivenFile>>(
      options.folder.empty() ? std::vector<GivenFile>() : read_folder(options.folder));
  for (Case& each : read_cases(options.file)) {
    Job job;
    job.test = std::move(each);
    job.test.folder = folder;
    missing.erase(job.test.name);
    for (const Intended& one : intended) {
      if (one.case_file == short_name(options.file) && one.case_name == job.test.name) {
        job.intended = &one;
        used.insert(&one);
      }
    }
    if (options.names.empty() || options.names.contains(job.test.name))
      work.push_back(std::move(job));
  }
  if (!missing.empty())
    throw std::runtime_error(
        fmt::format("{} has no case '{}'", options.file.string(), *missing.begin()));
  for (const Intended& one : intended) {
    if (one.case_file == short_name(options.file) && !used.contains(&one)) {
      throw std::runtime_error(fmt::format("intended.cases:{}: {} has no case '{}'", one.line,
                                           one.case_file, one.case_name));
    }
  }
  return work;
}

// Runs both sides of what has not agreed yet. The native sides come first: without an Engine and
// its mappings fork is cheap.
void attempt(std::vector<Job>& work, std::size_t threads) {
  const auto open = [&](const std::function<void(Job&)>& act) {
    for_all(work, threads, [&](Job& job) {
      if (job.attempts == 0 || !job.difference.empty()) act(job);
    });
  };
  {
    const ScratchFolder scratch;
    open([&](Job& job) { job.native = native_outcome(job.test, scratch.path); });
  }
  const char* rootfs = std::getenv("CLOCHE_ROOTFS");
  Engine engine({.system_folder = rootfs != nullptr ? rootfs : CLOCHE_ROOTFS_DIR});
  open([&](Job& job) {
    job.ours = sandbox_outcome(job.test, engine);
    job.difference = difference(job);
    ++job.attempts;
  });
}

// All at once; what differs again one by one, so that no case disturbs another. What agrees only
// then is told, for it may be a race that wants a look.
void run_all(const Options& options, std::vector<Job>& work) {
  attempt(work, options.jobs);
  const auto differs = [](const Job& job) { return !job.difference.empty(); };
  for (int i = 1; i < options.attempts && std::ranges::any_of(work, differs); ++i) {
    std::vector<Job*> again;
    for (Job& job : work) {
      if (!differs(job)) continue;
      fmt::print("attempt {} of {} differs:\n{}", i, job.test.name, job.difference);
      again.push_back(&job);
    }
    attempt(work, 1);
    for (const Job* job : again) {
      if (!differs(*job)) fmt::print("attempt {} of {} agrees\n", job->attempts, job->test.name);
    }
  }
}

int run(const Options& options) {
  const std::vector<Intended> intended =
      read_intended(std::filesystem::path(CLOCHE_SOURCE_DIR) / "tests/differential/intended.cases");
  std::vector<Job> work = options.random > 0 ? random_jobs(options) : jobs_of(options, intended);
  if (options.list) {
    for (const Job& job : work) fmt::print("{}\n", job.test.name);
    return 0;
  }
  for (Job& job : work) job.skipped = missing_need(job.test);
  leave_network();
  run_all(options, work);
  std::size_t same = 0;
  std::size_t later = 0;
  std::size_t different = 0;
  std::size_t skipped = 0;
  for (const Job& job : work) {
    if (!job.skipped.empty()) {
      ++skipped;
      fmt::print("skipped: {}: {}\n", job.test.name, job.skipped);
      continue;
    }
    report(options, job);
    ++(job.difference.empty() ? same : different);
    if (job.difference.empty() && job.attempts > 1) ++later;
  }
  fmt::print("{}: {} cases: {} as native{}, {} different, {} skipped\n",
             options.random > 0 ? std::string("random") : short_name(options.file), work.size(),
             same, later > 0 ? fmt::format(" ({} of them not at once)", later) : "", different,
             skipped);
  if (different > 0) return status_different;
  return skipped == work.size() ? status_skipped : 0;
}

}  // namespace
}  // namespace cloche::differential

int main(int argc, char** argv) {
  try {
    return cloche::differential::run(
        cloche::differential::options_of(std::vector<std::string>(argv, argv + argc)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return cloche::differential::status_wrong_use;
  }
}
