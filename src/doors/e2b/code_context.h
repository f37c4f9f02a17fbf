// SPDX-License-Identifier: Apache-2.0
// CodeContext: cells of one language that see each other's names, one after the other. Its kernel
// is a process of the sandbox: it starts with the first cell, and anew after one that has ended.
//
// Thread-safe. Its work is done by the pool; what it starts holds the sandbox until it has ended.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "cloche/live_run.h"
#include "doors/e2b/cell_output.h"
#include "doors/e2b/code_kernel.h"
#include "doors/e2b/event_stream.h"
#include "doors/e2b/processes.h"
#include "session/session.h"
#include "session/worker_pool.h"

namespace cloche::e2b {

struct Cell {
  std::string code;
  std::map<std::string, std::string> environment;  // for this cell alone
  std::shared_ptr<EventStream> stream;             // one JSON object a line
  session::Session::Use use;
};

class CodeContext : public std::enable_shared_from_this<CodeContext> {
 public:
  // `workers` outlives the work that is posted to it, `owner` is whose that is.
  CodeContext(std::string id, CodeLanguage language, std::string folder,
              session::WorkerPool& workers, std::string owner, std::shared_ptr<ProcessCount> count)
      : id_(std::move(id)),
        language_(language),
        folder_(std::move(folder)),
        workers_(workers),
        owner_(std::move(owner)),
        count_(std::move(count)) {}
  CodeContext(const CodeContext&) = delete;
  CodeContext& operator=(const CodeContext&) = delete;

  const std::string& id() const noexcept { return id_; }
  CodeLanguage language() const noexcept { return language_; }
  const std::string& folder() const noexcept { return folder_; }

  // Whether there is room for one more.
  bool has_room() const;
  // When those before it have ended. A client that leaves interrupts it; one that has left before
  // that has it not run.
  void run(Cell cell);
  // The kernel ends, and what it runs with it; the next cell has a new one.
  void restart();
  // All clients see that something was broken off. The kernel goes on.
  void break_off();

 private:
  // The cell in progress.
  struct Running {
    explicit Running(const std::string& mark) : output{CellOutput(mark), CellOutput(mark)} {}
    std::shared_ptr<EventStream> stream;
    std::array<CellOutput, 2> output;  // each of its own thread
    std::array<bool, 2> has_ended{};   // under mutex_, as what follows
    bool is_given = false;             // to the kernel, whose end is now its own
  };
  using RunningPtr = std::shared_ptr<Running>;
  // The process. Whoever has it keeps the sandbox, which goes after it.
  struct Kernel {
    session::Session::Use use;
    std::shared_ptr<LiveRun> live;
  };
  using KernelPtr = std::shared_ptr<Kernel>;

  void start_next();
  KernelPtr start_kernel(session::Session::Use use);
  void take(Stream stream, std::string_view bytes);
  void take_record(const RunningPtr& running, Stream stream, std::string_view record);
  void kernel_ended(const RunResult& result);
  bool give(const RunningPtr& running, const KernelPtr& kernel, const std::string& request);
  void finish(const RunningPtr& running);
  void fail(const RunningPtr& running, const RunResult& result);
  void interrupt(const std::weak_ptr<Running>& which);

  const std::string id_;
  const CodeLanguage language_;
  const std::string folder_;
  session::WorkerPool& workers_;
  const std::string owner_;
  const std::shared_ptr<ProcessCount> count_;

  mutable Mutex mutex_;
  Condition changed_;  // running_ is another one, or none
  std::deque<Cell> waiting_ GUARDED_BY(mutex_);
  bool is_busy_ GUARDED_BY(mutex_) = false;  // one is started, runs or ends
  RunningPtr running_ GUARDED_BY(mutex_);
  KernelPtr kernel_ GUARDED_BY(mutex_);
  std::uint64_t count_of_cells_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::e2b
