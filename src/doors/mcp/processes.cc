// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/processes.h"

#include <fmt/format.h>

#include "base/mutex.h"
#include "doors/mcp/tool_error.h"

namespace cloche::mcp {
namespace {

constexpr std::chrono::seconds input_patience{10};
constexpr std::chrono::seconds kill_patience{5};

// The newest bytes of a stream.
class Tail {
 public:
  // How many older ones had to go.
  std::uint64_t add(std::string_view data) {
    const std::size_t fits = std::min(data.size(), Processes::kept_bytes);
    std::uint64_t dropped = data.size() - fits;
    bytes_.append(data.substr(data.size() - fits));
    // Moved together now and then, not at each piece.
    if (bytes_.size() - start_ > Processes::kept_bytes) {
      const std::size_t more = bytes_.size() - start_ - Processes::kept_bytes;
      dropped += more;
      start_ += more;
    }
    if (start_ > Processes::kept_bytes) bytes_.erase(0, std::exchange(start_, 0));
    return dropped;
  }
  bool empty() const { return bytes_.size() == start_; }
  // What is there; of one that goes on without the start of a character at its end.
  std::string take(bool goes_on) {
    std::string taken = bytes_.substr(start_);
    std::string rest;
    for (std::size_t back = 1; goes_on && back <= 3 && back <= taken.size(); ++back) {
      const auto byte = static_cast<unsigned char>(taken[taken.size() - back]);
      if ((byte & 0xc0) == 0x80) continue;  // goes on with a character: its first byte is before
      const std::size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
      if (wanted > back) rest = taken.substr(taken.size() - back);
      break;
    }
    taken.resize(taken.size() - rest.size());
    bytes_ = std::move(rest);
    start_ = 0;
    return taken;
  }

 private:
  std::string bytes_;
  std::size_t start_ = 0;
};

}  // namespace

struct Processes::Process {
  LiveSandbox sandbox;
  std::uint64_t number = 0;
  std::string command;
  Mutex mutex;
  StoppableCondition changed;
  Tail out GUARDED_BY(mutex);
  Tail err GUARDED_BY(mutex);
  std::uint64_t dropped GUARDED_BY(mutex) = 0;
  std::uint64_t room GUARDED_BY(mutex) = 0;  // how often there was some again for input
  std::optional<int> exit_code GUARDED_BY(mutex);
  // Null until it is started, and then the same, which find() sees to. The last: its callbacks use
  // the rest.
  std::unique_ptr<LiveRun> live;

  Status status() const REQUIRES(mutex) {
    return {fmt::format("p{}", number), command, !exit_code, exit_code};
  }
  std::uint64_t seen_room() {
    const MutexLock lock(mutex);
    return room;
  }
  bool has_ended() {
    const MutexLock lock(mutex);
    return exit_code.has_value();
  }
};

std::string Processes::start(const LiveSandbox& live, RunOptions command) {
  auto process = std::make_shared<Process>();
  process->sandbox = live;
  process->command = command.script;
  {
    const MutexLock lock(mutex_);
    if (closed_) throw ToolError{"the sandbox was deleted"};
    forget_ended();
    std::size_t running = 0;
    for (const auto& [number, other] : processes_) running += other->has_ended() ? 0U : 1U;
    if (running >= running_limit) {
      throw ToolError{
          fmt::format("{} commands run in the background already: kill one with the tool process",
                      running_limit)};
    }
    process->number = ++last_;
    processes_.emplace(process->number, process);
  }
  LiveRunOptions options;
  options.command = std::move(command);
  options.command.output = [target = process.get()](Stream stream, std::string_view data) {
    const MutexLock lock(target->mutex);
    target->dropped += (stream == Stream::out ? target->out : target->err).add(data);
    target->changed.notify_all();
  };
  options.on_room = [target = process.get()] {
    const MutexLock lock(target->mutex);
    ++target->room;
    target->changed.notify_all();
  };
  options.on_end = [target = process.get()](const RunResult& result) {
    const MutexLock lock(target->mutex);
    if (result.status != RunStatus::exited && result.status != RunStatus::signaled &&
        !result.reason.empty())
      target->err.add(result.reason + "\n");
    target->exit_code = result.exit_code;
    target->changed.notify_all();
  };
  std::unique_ptr<LiveRun> run;
  try {
    run = live.sandbox->start(std::move(options));
  } catch (const std::exception&) {  // the host has no thread or memory for it
    const MutexLock lock(mutex_);
    processes_.erase(process->number);
    throw;
  }
  const MutexLock lock(mutex_);
  if (closed_) run->kill();
  process->live = std::move(run);
  return fmt::format("p{}", process->number);
}

void Processes::forget_ended() {
  std::size_t ended = 0;
  for (const auto& [number, process] : processes_) ended += process->has_ended() ? 1U : 0U;
  for (auto at = processes_.begin(); at != processes_.end() && ended >= ended_limit;) {
    if (at->second->has_ended()) {
      at = processes_.erase(at);
      --ended;
    } else {
      ++at;
    }
  }
}

std::shared_ptr<Processes::Process> Processes::find(const std::string& id) const {
  const MutexLock lock(mutex_);
  std::string known;
  for (const auto& [number, process] : processes_) {
    const std::string its_id = fmt::format("p{}", number);
    if (its_id == id && process->live) return process;
    known += (known.empty() ? "" : ", ") + its_id;
  }
  throw ToolError{known.empty() ? fmt::format("there is no process '{}': none was started by bash "
                                              "with 'background'",
                                              id.substr(0, 100))
                                : fmt::format("there is no process '{}': there is {}",
                                              id.substr(0, 100), known)};
}

std::vector<Processes::Status> Processes::list() const {
  const MutexLock lock(mutex_);
  std::vector<Status> all;
  for (const auto& [number, process] : processes_) {
    const MutexLock process_lock(process->mutex);
    all.push_back(process->status());
  }
  return all;
}

Processes::Output Processes::take_output(const std::string& id, std::chrono::milliseconds wait,
                                         const std::stop_token& stop) {
  const std::shared_ptr<Process> process = find(id);
  const MutexLock lock(process->mutex);
  (void)process->changed.wait_for(process->mutex, stop, wait, [&]() REQUIRES(process->mutex) {
    return !process->out.empty() || !process->err.empty() || process->exit_code.has_value();
  });
  const bool goes_on = !process->exit_code.has_value();
  Output output{process->status(), process->out.take(goes_on), process->err.take(goes_on),
                std::exchange(process->dropped, 0)};
  return output;
}

Processes::Status Processes::give_input(const std::string& id, std::string_view text, bool close,
                                        const std::stop_token& stop) {
  const std::shared_ptr<Process> process = find(id);
  const auto deadline = std::chrono::steady_clock::now() + input_patience;
  std::size_t given = 0;
  while (given < text.size()) {
    const std::uint64_t seen = process->seen_room();
    const Result<std::size_t> taken = process->live->write(text.substr(given));
    if (!taken) {
      throw ToolError{
          fmt::format("{}: the process reads no input any more", errno_info(taken.error()).name)};
    }
    given += *taken;
    if (given == text.size()) break;
    if (std::chrono::steady_clock::now() >= deadline || stop.stop_requested()) {
      throw ToolError{
          fmt::format("the process reads its input too slowly: {} of {} bytes were given to it",
                      given, text.size())};
    }
    const MutexLock lock(process->mutex);
    (void)process->changed.wait_until(
        process->mutex, stop, deadline, [&]() REQUIRES(process->mutex) {
          return process->room > seen || process->exit_code.has_value();
        });
  }
  if (close) process->live->close_input();
  const MutexLock lock(process->mutex);
  return process->status();
}

Processes::Status Processes::kill(const std::string& id) {
  const std::shared_ptr<Process> process = find(id);
  process->live->kill();
  const MutexLock lock(process->mutex);
  (void)process->changed.wait_for(process->mutex, kill_patience, [&]() REQUIRES(process->mutex) {
    return process->exit_code.has_value();
  });
  return process->status();
}

void Processes::end_all() {
  std::map<std::uint64_t, std::shared_ptr<Process>> all;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    all.swap(processes_);
    for (const auto& [number, process] : all) {
      if (process->live) process->live->kill();
    }
  }
  all.clear();
}

}  // namespace cloche::mcp
