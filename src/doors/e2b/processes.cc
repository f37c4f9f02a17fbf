// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/base64.h"

namespace cloche::e2b {
namespace {

constexpr std::chrono::minutes end_kept{5};
constexpr std::size_t ends_max = 1000;
constexpr std::size_t listeners_max = 64;
constexpr std::chrono::seconds input_patience{60};  // that clients have, too
constexpr std::size_t output_piece_bytes = 32 << 10;

std::string event_frame(const OrderedJson& event) {
  return frame_of(write_json(OrderedJson{{"event", event}}));
}

// As clients of this protocol are told of signals.
std::string_view signal_words(int number) {
  static constexpr std::array<std::string_view, 16> words{"",
                                                          "hangup",
                                                          "interrupt",
                                                          "quit",
                                                          "illegal instruction",
                                                          "trace/breakpoint trap",
                                                          "aborted",
                                                          "bus error",
                                                          "floating point exception",
                                                          "killed",
                                                          "user defined signal 1",
                                                          "segmentation fault",
                                                          "user defined signal 2",
                                                          "broken pipe",
                                                          "alarm clock",
                                                          "terminated"};
  return number > 0 && static_cast<std::size_t>(number) < words.size()
             ? words[static_cast<std::size_t>(number)]
             : std::string_view();
}

// The number, or the tag, of a selector.
CallResult<std::pair<std::int64_t, std::string>> read_selector(const Json* selector) {
  if (!selector || !selector->is_object())
    return CallError{"invalid_argument", "process must say a pid or a tag"};
  CLOCHE_CALL(const std::int64_t pid, number_at(*selector, "pid"));
  CLOCHE_CALL(std::string tag, text_at(*selector, "tag"));
  if (pid == 0 && tag.empty())
    return CallError{"invalid_argument", "process must say a pid or a tag"};
  return std::pair(pid, std::move(tag));
}

bool is_chosen(const std::pair<std::int64_t, std::string>& choice, int pid,
               const std::string& tag) {
  return choice.first != 0 ? choice.first == pid : choice.second == tag;
}

CallError input_error() { return {"internal", "stdin not enabled or closed"}; }

}  // namespace

ProcessEnd end_of(const RunResult& result) {
  OrderedJson end = OrderedJson::object();
  std::string status;
  if (result.status == RunStatus::exited) {
    status = fmt::format("exit status {}", result.exit_code);
    if (result.exit_code != 0) end["exitCode"] = result.exit_code;
    end["exited"] = true;
  } else {
    const int number = result.status == RunStatus::signaled ? result.signal : SIGKILL;
    const std::string_view words = signal_words(number);
    status = words.empty() ? fmt::format("signal: {}", number) : fmt::format("signal: {}", words);
    end["exitCode"] = -1;
  }
  end["status"] = status;
  if (result.status != RunStatus::exited || result.exit_code != 0) end["error"] = status;
  ProcessEnd told{OrderedJson{{"end", std::move(end)}}, std::nullopt};
  if (result.status == RunStatus::timed_out)
    told.error = CallError{"deadline_exceeded", "the time for this call is over"};
  return told;
}

// --- Process ---

std::string Process::start_frame() const { return event_frame({{"start", {{"pid", pid_}}}}); }

std::shared_ptr<LiveRun> Process::live() const {
  const MutexLock lock(mutex_);
  return live_;
}

void Process::add(const std::shared_ptr<EventStream>& listener) {
  const MutexLock lock(mutex_);
  std::erase_if(listeners_, [](const auto& each) { return each->is_over(); });
  if (!live_ || listeners_.size() >= listeners_max) {
    return listener->end(
        end_frame({live_ ? "resource_exhausted" : "not_found",
                   live_ ? "too many clients listen to this process" : "the process has ended"}));
  }
  (void)listener->send(start_frame());
  listeners_.push_back(listener);
}

void Process::output(Stream stream, std::string_view data) {
  const char* const name = has_terminal_ ? "pty" : stream == Stream::out ? "stdout" : "stderr";
  while (!data.empty()) {
    const std::string_view piece = data.substr(0, output_piece_bytes);
    data.remove_prefix(piece.size());
    tell(event_frame({{"data", {{name, to_base64(piece)}}}}));
  }
}

void Process::tell(const std::string& frame) {
  std::vector<std::shared_ptr<EventStream>> listeners;
  {
    const MutexLock lock(mutex_);
    std::erase_if(listeners_, [](const auto& each) { return each->is_over(); });
    listeners = listeners_;
  }
  for (const auto& listener : listeners) (void)listener->send(frame);
}

void Process::end_streams(const std::string& last_frame) {
  std::vector<std::shared_ptr<EventStream>> listeners;
  {
    const MutexLock lock(mutex_);
    listeners = std::exchange(listeners_, {});
  }
  for (const auto& listener : listeners) listener->end(last_frame);
}

CallResult<bool> Process::give(LiveRun& live, std::string_view bytes, TimeLimit limit,
                               const CallError& closed) {
  using Clock = std::chrono::steady_clock;
  const auto end = limit ? Clock::now() + *limit : Clock::time_point::max();
  auto patience_end = Clock::now() + input_patience;
  for (std::size_t given = 0;;) {
    std::uint64_t seen = 0;
    {
      const MutexLock lock(room_mutex_);
      seen = rooms_;
    }
    const Result<std::size_t> taken = live.write(bytes.substr(given));
    if (!taken) return closed;
    given += *taken;
    if (given == bytes.size()) return true;
    const auto now = Clock::now();
    if (*taken > 0) patience_end = now + input_patience;
    if (now >= std::min(end, patience_end)) {
      return CallError{"deadline_exceeded",
                       fmt::format("the process reads its input too slowly: {} of {} bytes were "
                                   "given to it",
                                   given, bytes.size())};
    }
    const MutexLock lock(room_mutex_);
    (void)room_changed_.wait_until(room_mutex_, std::min(end, patience_end),
                                   [&]()
                                       REQUIRES(room_mutex_) { return rooms_ > seen || is_over_; });
    if (is_over_) return closed;
  }
}

CallResult<bool> Process::write_input(std::string_view bytes, TimeLimit limit) {
  const auto running = live();
  {
    const MutexLock lock(mutex_);
    if (has_terminal_)
      return CallError{"internal", "tty assigned to process, use its pty instead of stdin"};
    if (!running || !has_input_ || input_closed_) return input_error();
  }
  return give(*running, bytes, limit, input_error());
}

CallResult<bool> Process::type(std::string_view bytes, TimeLimit limit) {
  const auto running = live();
  if (!has_terminal_) return CallError{"internal", "tty not assigned to process"};
  const CallError closed{"internal", "the terminal is closed"};
  if (!running) return closed;
  return give(*running, bytes, limit, closed);
}

CallResult<bool> Process::close_input() {
  const auto running = live();
  {
    const MutexLock lock(mutex_);
    if (has_terminal_) return CallError{"internal", "tty assigned to process, type Ctrl-D instead"};
    if (!running || !has_input_ || input_closed_) return input_error();
    input_closed_ = true;
  }
  running->close_input();
  return true;
}

CallResult<bool> Process::resize(const TerminalSize& size) {
  if (!has_terminal_) return CallError{"internal", "tty not assigned to process"};
  if (const auto running = live()) running->resize(size);
  return true;
}

CallResult<bool> Process::signal(int number) {
  const auto running = live();
  if (!running) return CallError{"not_found", "the process has ended"};
  // What a terminal's shell has begun ends with it.
  if (number == SIGKILL && has_terminal_) {
    running->kill();
    return true;
  }
  if (!running->signal(number)) return CallError{"not_found", "the process has ended"};
  return true;
}

// --- Processes ---

CallResult<std::shared_ptr<Process>> Processes::start(session::Session::Use use, StartWish wish,
                                                      http::Exchange& exchange,
                                                      std::chrono::seconds silence) {
  const std::shared_ptr<Process> process(new Process());
  process->tag_ = std::move(wish.tag);
  process->config_ = std::move(wish.config);
  process->has_terminal_ = wish.run.terminal.has_value();
  process->has_input_ = wish.has_input;
  wish.run.end = LiveRunOptions::End::of_streams;
  wish.run.command.output = [weak = std::weak_ptr(process)](Stream stream, std::string_view data) {
    if (const auto strong = weak.lock()) strong->output(stream, data);
  };
  wish.run.on_room = [weak = std::weak_ptr(process)] {
    const auto strong = weak.lock();
    if (!strong) return;
    const MutexLock lock(strong->room_mutex_);
    ++strong->rooms_;
    strong->room_changed_.notify_all();
  };
  wish.run.on_end = [self = shared_from_this(), process](const RunResult& result) {
    self->ended(process, result);
  };
  count_->add();
  // Its callbacks wait here until the client knows that it has begun.
  ReleasableMutexLock lock(process->mutex_);
  std::shared_ptr<LiveRun> live;
  try {
    live = use->start(std::move(wish.run));
  } catch (const Error& problem) {
    count_->remove();
    return CallError{"unavailable", problem.what()};
  } catch (...) {  // no memory
    count_->remove();
    throw;
  }
  process->live_ = live;
  process->use_ = std::move(use);
  process->pid_ = live->pid();
  if (process->pid_ == 0) {
    lock.unlock();
    return CallError{"invalid_argument", "error starting process: " + live->wait().reason};
  }
  if (!wish.has_input && !process->has_terminal_) live->close_input();
  {
    const MutexLock table_lock(mutex_);
    processes_[process->pid_] = process;
  }
  process->starter_ = EventStream::begin(exchange, silence, process_form());
  (void)process->starter_->send(process->start_frame());
  process->listeners_.push_back(process->starter_);
  return process;
}

void Processes::ended(const std::shared_ptr<Process>& process, const RunResult& result) {
  ProcessEnd end = end_of(result);
  const std::string frame = event_frame(end.event);
  std::vector<std::shared_ptr<EventStream>> listeners;
  std::shared_ptr<EventStream> starter;
  std::shared_ptr<LiveRun> live;
  session::Session::Use use;
  {
    const MutexLock lock(process->mutex_);
    listeners = std::exchange(process->listeners_, {});
    starter = std::exchange(process->starter_, nullptr);
    live = std::exchange(process->live_, nullptr);
    use = std::move(process->use_);
  }
  {
    const MutexLock lock(process->room_mutex_);
    process->is_over_ = true;
    process->room_changed_.notify_all();
  }
  if (process->pid_ != 0) {
    const auto now = std::chrono::steady_clock::now();
    const MutexLock lock(mutex_);
    processes_.erase(process->pid_);
    ended_.push_back({process->pid_, process->tag_, std::move(end.event), now});
    while (ended_.size() > ends_max || ended_.front().when + end_kept < now) ended_.pop_front();
  }
  for (const auto& listener : listeners) {
    if (end.error && listener == starter) {
      listener->end(end_frame(*end.error));
    } else if (listener->send(frame)) {
      listener->end(end_frame());
    }
  }
  // Not on its own thread. The run goes before what it is a run of.
  workers_.post([live = std::move(live),
                 use = std::make_shared<session::Session::Use>(std::move(use))]() mutable {
    live.reset();
    use.reset();
  });
  count_->remove();
}

CallResult<std::shared_ptr<Process>> Processes::find(const Json* selector) const {
  CLOCHE_CALL(const auto choice, read_selector(selector));
  const MutexLock lock(mutex_);
  for (const auto& [pid, process] : processes_) {
    if (is_chosen(choice, pid, process->tag())) return process;
  }
  return CallError{"not_found", choice.first != 0
                                    ? fmt::format("process with pid {} not found", choice.first)
                                    : fmt::format("process with tag {} not found", choice.second)};
}

std::optional<std::pair<int, OrderedJson>> Processes::find_ended(const Json* selector) const {
  const auto read = read_selector(selector);
  const auto* choice = std::get_if<0>(&read);
  const auto oldest = std::chrono::steady_clock::now() - end_kept;
  const MutexLock lock(mutex_);
  for (const Ended& end : ended_) {
    if (choice && end.when >= oldest && is_chosen(*choice, end.pid, end.tag))
      return std::pair(end.pid, end.event);
  }
  return std::nullopt;
}

std::vector<std::shared_ptr<Process>> Processes::list() const {
  std::vector<std::shared_ptr<Process>> all;
  const MutexLock lock(mutex_);
  all.reserve(processes_.size());
  for (const auto& [pid, process] : processes_) all.push_back(process);
  return all;
}

void Processes::end_streams(const CallError& why) {
  const std::string frame = end_frame(why);
  for (const auto& process : list()) process->end_streams(frame);
}

void Processes::stop(const CallError& why) {
  end_streams(why);
  const MutexLock lock(mutex_);
  processes_.clear();
  ended_.clear();
}

}  // namespace cloche::e2b
