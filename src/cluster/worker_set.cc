// SPDX-License-Identifier: Apache-2.0
#include "cluster/worker_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <span>
#include <sstream>
#include <utility>

#include "base/descriptor_channel.h"
#include "base/durable_file.h"
#include "base/errno.h"
#include "base/folder_names.h"
#include "base/host_error.h"
#include "base/host_thread.h"
#include "base/thread_name.h"

namespace cloche::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds answer_patience{1000};
constexpr std::chrono::seconds silence_lasts{30};  // of one that has not answered: for new workers
constexpr std::chrono::milliseconds first_pause{10};  // before one is asked whether it is idle
constexpr std::chrono::milliseconds longest_pause{2000};
constexpr unsigned keys_max = std::numeric_limits<CellKey>::max();

// In the file of keys, after the owner: names of owners have no spaces.
constexpr std::string_view of_session_word = " session";

std::string keys_file(const std::string& folder) { return folder + "/workers"; }

// Empty where there is no such file.
Result<std::string> keys_text(const std::string& path) {
  constexpr std::size_t piece_bytes = 65536;
  const auto file = host_files().open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0);
  if (!file && file.error() == Errno::noent) return std::string();
  if (!file) return file.error();
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return errno_from_host(errno);
  if (!S_ISREG(status.st_mode)) return Errno::inval;
  std::string text;
  for (std::size_t count = piece_bytes; count > 0;) {
    const std::size_t old = text.size();
    text.resize(old + piece_bytes);
    CLOCHE_ASSIGN(count,
                  host_files().read_at(file->get(), old,
                                       std::as_writable_bytes(std::span(text).subspan(old))));
    text.resize(old + count);
  }
  return text;
}

// Whether something of a session is there, damaged ones too: somebody's whom the file of keys does
// not name, as where it was lost.
bool has_sessions(const std::string& folder) {
  const auto names = folder_names(folder);
  if (!names) return names.error() != Errno::noent;
  return std::ranges::any_of(*names, [](const std::string& name) { return name != "lock"; });
}

enum class Word : std::uint8_t { idle, busy, none };

// The worker's own word about the question of that number; none where it says nothing in time. An
// answer that came too late for its question is passed over.
Word word_of(int channel, std::uint64_t number) {
  const auto deadline = Clock::now() + answer_patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wanted{channel, POLLIN, 0};
    if (left.count() <= 0) return Word::none;  // also for one that never stops talking
    const int ready = ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Word::none;
    const std::optional<ChannelMessage> answer = receive_message(channel);
    if (!answer) return Word::none;
    if (answer->text == fmt::format("{}{}", idle_message, number)) return Word::idle;
    if (answer->text == fmt::format("{}{}", busy_message, number)) return Word::busy;
  }
}

}  // namespace

WorkerSet::WorkerSet(Spawner& spawner, Options options)
    : spawner_(spawner), options_(std::move(options)) {
  if (!options_.state_folder.empty()) {
    claim_.emplace(options_.state_folder, host_files());
    read_keys();
  }
  try {
    ends_ = host_thread("workers", with_name("cloche-ends", [this] { hear_of_ends(); }));
    idlers_ = host_thread("workers", with_name("cloche-idlers", [this] { look_for_idle_ones(); }));
  } catch (const Error&) {
    stop();  // where there is one thread and no other
    throw;
  }
}

WorkerSet::~WorkerSet() { stop(); }

void WorkerSet::begin_to_end() {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  stopping_ = true;
  changed_.notify_all();
  spawner_.stop();
}

void WorkerSet::stop() {
  begin_to_end();
  if (idlers_.joinable()) idlers_.join();
  if (ends_.joinable()) ends_.join();
}

void WorkerSet::read_keys() {
  const MutexLock lock(mutex_);
  const std::string path = keys_file(options_.state_folder);
  const Result<std::string> text = keys_text(path);
  // Who has which key must not be forgotten: with a key goes a folder of sessions.
  if (!text)
    throw HostError(fmt::format("{} cannot be read: {}", path, errno_info(text.error()).message));
  std::istringstream stream(*text);
  std::string line;
  while (std::getline(stream, line)) {
    CellKey key = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), key);
    if (error != std::errc() || key == 0 || end == line.data() + line.size() || *end != ' ' ||
        workers_.contains(key)) {
      throw HostError(fmt::format(
          "{} is damaged: a line is a KEY and its OWNER, not '{}'; its folder names say the keys",
          path, line));
    }
    std::string owner = line.substr(static_cast<std::size_t>(end - line.data()) + 1);
    Worker& worker = workers_[key];
    if (owner.ends_with(of_session_word)) {
      owner.resize(owner.size() - of_session_word.size());
      worker.kind = WorkerKind::of_session;
      worker.is_wanted = true;
      is_anything_wanted_ = true;
    } else {
      keys_[owner] = key;
    }
    worker.owner = std::move(owner);
  }
}

// Has all keys that there are now in the file, which takes a while: without the lock. Nothing that
// was there is lost where it cannot be written.
Result<void> WorkerSet::write_keys() {
  if (options_.state_folder.empty()) return {};
  std::string text;
  for (const auto& [key, worker] : workers_) {
    text += fmt::format("{} {}{}\n", key, worker.owner,
                        worker.kind == WorkerKind::of_session ? of_session_word : "");
  }
  const std::uint64_t version = ++keys_version_;
  const MutexUnlocked unlocked(mutex_);
  const MutexLock lock(file_mutex_);
  if (version < written_version_) return {};  // a later one has these as well
  const std::string path = keys_file(options_.state_folder);
  auto file = DurableFile::create(host_files(), path);
  if (!file) return file.error();
  CLOCHE_TRY(file->write(std::as_bytes(std::span(text))));
  CLOCHE_TRY(file->commit([this] { return claim_->check(); }));
  written_version_ = version;
  return {};
}

// Nothing: there is no key left, or it cannot be kept. A key that was free a moment ago comes last,
// so that who still asks for the session that had it meets no other one.
std::optional<CellKey> WorkerSet::add_key(const std::string& owner, WorkerKind kind) {
  CellKey key = last_key_;
  unsigned tried = 0;
  do {
    if (tried++ > keys_max) return std::nullopt;
    ++key;
  } while (key == 0 || workers_.contains(key) ||
           (!options_.state_folder.empty() &&
            has_sessions(fmt::format("{}/{}", options_.state_folder, key))));
  last_key_ = key;
  Worker& worker = workers_[key];
  worker.owner = owner;
  worker.kind = kind;
  if (kind == WorkerKind::of_owner) keys_[owner] = key;
  if (write_keys()) return key;
  if (workers_.at(key).stage != Stage::away) return key;  // another thread uses it already
  if (kind == WorkerKind::of_owner) keys_.erase(owner);
  workers_.erase(key);
  return std::nullopt;
}

std::size_t WorkerSet::running() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      workers_, [](const auto& entry) { return entry.second.stage != Stage::away; }));
}

std::size_t WorkerSet::count() const {
  const MutexLock lock(mutex_);
  return running();
}

std::optional<std::string> WorkerSet::owner_of(CellKey key) const {
  const MutexLock lock(mutex_);
  const auto found = workers_.find(key);
  return found == workers_.end() ? std::nullopt : std::optional(found->second.owner);
}

std::optional<CellKey> WorkerSet::key_of(const std::string& owner) const {
  const MutexLock lock(mutex_);
  const auto found = keys_.find(owner);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<CellKey> WorkerSet::keys_away(const std::string& owner) const {
  const MutexLock lock(mutex_);
  std::vector<CellKey> keys;
  for (const auto& [key, worker] : workers_) {
    if (worker.kind == WorkerKind::of_session && worker.owner == owner &&
        worker.stage != Stage::running && !worker.is_done)
      keys.push_back(key);
  }
  return keys;
}

NoWorker WorkerSet::all_in_use() const {
  return {NoWorker::Why::full, fmt::format("all {} workers are in use", options_.limit)};
}

std::optional<NoWorker> WorkerSet::start(CellKey key) {
  if (running() >= options_.limit && !end_an_idle_one()) return all_in_use();
  const auto found = workers_.find(key);
  // Another thread's, in the meantime.
  if (found == workers_.end() || found->second.stage != Stage::away) return std::nullopt;
  Worker& worker = found->second;
  try {
    worker.channel = std::make_shared<UniqueFd>(spawner_.start(key, worker.owner));
  } catch (const HostError& error) {
    return NoWorker{NoWorker::Why::failed, error.what()};
  }
  worker.stage = Stage::running;
  worker.connections = 0;
  worker.is_done = false;
  worker.is_wanted = false;
  worker.silent_until = {};
  worker.used = Clock::now();
  if (options_.started) options_.started(key, worker.owner);
  return std::nullopt;
}

// Or the errno: EPIPE, it has gone; another one, the machine has no more connections.
std::variant<UniqueFd, int> WorkerSet::connect_over(int channel) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return errno;
  UniqueFd own(ends[0]);
  const UniqueFd its(ends[1]);
  if (const int error = send_message(channel, connection_message, its.get()); error != 0)
    return error;
  return own;
}

std::variant<UniqueFd, int> WorkerSet::connect_to(Worker& worker) {
  auto connected = connect_over(worker.channel->get());
  if (std::holds_alternative<int>(connected)) return connected;
  ++worker.connections;
  worker.used = Clock::now();
  return connected;
}

std::variant<UniqueFd, NoWorker> WorkerSet::connect(const std::string& owner) {
  const MutexLock lock(mutex_);
  const auto found = keys_.find(owner);
  if (found != keys_.end()) return reach(found->second);
  const auto key =
      owner.size() > owner_max_bytes ? std::nullopt : add_key(owner, WorkerKind::of_owner);
  if (key) return reach(*key);
  return NoWorker{NoWorker::Why::failed, "the server cannot give this owner a worker of its own"};
}

std::variant<UniqueFd, NoWorker> WorkerSet::connect(CellKey key) {
  const MutexLock lock(mutex_);
  return reach(key);
}

std::variant<WorkerSet::NewWorker, NoWorker> WorkerSet::connect_new(const std::string& owner) {
  const MutexLock lock(mutex_);
  if (running() >= options_.limit && !end_an_idle_one()) return all_in_use();
  const auto is_its = [&](const auto& entry) {
    return entry.second.kind == WorkerKind::of_session && entry.second.owner == owner &&
           !entry.second.is_done;
  };
  if (const std::size_t limit = options_.limit_per_owner;
      limit > 0 && static_cast<std::size_t>(std::ranges::count_if(workers_, is_its)) >= limit) {
    return NoWorker{NoWorker::Why::owner_limit,
                    fmt::format("this token has all {} sessions that it may have", limit)};
  }
  const auto key =
      owner.size() > owner_max_bytes ? std::nullopt : add_key(owner, WorkerKind::of_session);
  if (!key) return NoWorker{NoWorker::Why::failed, "the server cannot give this session a worker"};
  auto reached = reach(*key);
  if (auto* fd = std::get_if<UniqueFd>(&reached)) return NewWorker{*key, std::move(*fd)};
  // It has had no session.
  if (const auto found = workers_.find(*key);
      found != workers_.end() && found->second.stage == Stage::away)
    workers_.erase(found);
  return std::get<NoWorker>(std::move(reached));
}

std::variant<UniqueFd, NoWorker> WorkerSet::reach(CellKey key) {
  const auto deadline = Clock::now() + options_.ending;
  // Others may end it, and free its key, whenever the lock is given up.
  const auto find = [&]() REQUIRES(mutex_) -> Worker* {
    const auto found = workers_.find(key);
    return found == workers_.end() ? nullptr : &found->second;
  };
  for (;;) {
    const bool settled = changed_.wait_until(mutex_, deadline, [&]() REQUIRES(mutex_) {
      const Worker* worker = find();
      return stopping_ || lost_ || !worker || worker->stage != Stage::ending;
    });
    if (stopping_ || lost_) return NoWorker{NoWorker::Why::failed, "the server is about to end"};
    if (!settled) {
      spawner_.kill(key);
      return NoWorker{NoWorker::Why::failed, "the worker that has this is still ending"};
    }
    Worker* worker = find();
    if (!worker) return NoWorker{NoWorker::Why::gone, "there is no such session"};
    if (worker->stage == Stage::away) {
      if (auto problem = start(key)) return *std::move(problem);
      continue;
    }
    auto connected = connect_to(*worker);
    if (auto* fd = std::get_if<UniqueFd>(&connected)) return std::move(*fd);
    const int error = std::get<int>(connected);
    if ((error != EPIPE && error != ECONNRESET) || Clock::now() > deadline) {
      return NoWorker{
          NoWorker::Why::failed,
          fmt::format("the worker that has this cannot be reached: {}", std::strerror(error))};
    }
    end(*worker);  // it has gone: the next one is started once that is told
  }
}

std::vector<std::pair<CellKey, UniqueFd>> WorkerSet::connect_all(const std::string* owner) {
  std::vector<std::pair<CellKey, UniqueFd>> all;
  const MutexLock lock(mutex_);
  for (auto& [key, worker] : workers_) {
    if (worker.stage != Stage::running || (owner && worker.owner != *owner)) continue;
    const auto used = worker.used;  // who asks how it is does not use it
    auto connected = connect_to(worker);
    auto* const fd = std::get_if<UniqueFd>(&connected);
    all.emplace_back(key, fd ? std::move(*fd) : UniqueFd());
    worker.used = used;
  }
  return all;
}

void WorkerSet::may_be_idle(CellKey key) {
  const MutexLock lock(mutex_);
  suspects_[key] = {Clock::now() + first_pause, first_pause};
  has_new_time_ = true;
  changed_.notify_all();
}

// It hears that its channel has ended, and ends itself, or is killed.
void WorkerSet::end(Worker& worker) {
  worker.stage = Stage::ending;
  worker.channel.reset();
  worker.killed = Clock::now() + options_.ending;
  has_new_time_ = true;
  changed_.notify_all();
}

// Asks it without the lock. What it was given since the question makes its answer void.
bool WorkerSet::ends_when_idle(CellKey key) {
  const auto find = [&]() REQUIRES(mutex_) -> Worker* {
    const auto found = workers_.find(key);
    return found == workers_.end() || found->second.stage != Stage::running ? nullptr
                                                                            : &found->second;
  };
  Worker* worker = find();
  if (!worker) return false;
  const std::shared_ptr<UniqueFd> channel = worker->channel;
  const std::uint64_t before = worker->connections;
  const std::uint64_t number = ++questions_;
  if (worker->asked ||
      send_message(channel->get(), fmt::format("{}{}", question_message, number)) != 0)
    return false;
  worker->asked = true;
  Word word = Word::none;
  {
    const MutexUnlocked unlocked(mutex_);
    word = word_of(channel->get(), number);
    if (word == Word::idle && options_.leaving) {
      auto connected = connect_over(channel->get());
      if (auto* fd = std::get_if<UniqueFd>(&connected)) options_.leaving(key, std::move(*fd));
    }
  }
  worker = find();
  if (!worker || worker->channel != channel) return false;
  worker->asked = false;
  worker->silent_until = word == Word::none ? Clock::now() + silence_lasts : Clock::time_point();
  if (word != Word::idle || worker->connections != before) return false;
  worker->is_done = true;
  end(*worker);
  return true;
}

// For one that is needed more: the one that has not been used for the longest time, where it has
// nothing. True once it has ended. Waits for the words of some that stand still, and no more: those
// are passed over the next time.
bool WorkerSet::end_an_idle_one() {
  const auto deadline = Clock::now() + 2 * answer_patience;
  std::vector<std::pair<Clock::time_point, CellKey>> candidates;
  for (const auto& [key, worker] : workers_) {
    if (worker.stage == Stage::running && worker.silent_until <= Clock::now())
      candidates.emplace_back(worker.used, key);
  }
  std::ranges::sort(candidates);
  for (const auto& [used, key] : candidates) {
    if (Clock::now() >= deadline) break;
    if (!ends_when_idle(key)) continue;
    return changed_.wait_for(mutex_, options_.ending, [&, key = key]() REQUIRES(mutex_) {
      const auto found = workers_.find(key);
      return found == workers_.end() || found->second.stage != Stage::ending;
    });
  }
  return false;
}

void WorkerSet::has_ended(const WorkerEnd& end, std::string& owner) {
  const auto found = workers_.find(end.key);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  const bool was_used = worker.connections > 0;
  worker.stage = Stage::away;
  worker.asked = false;
  worker.channel.reset();
  owner = worker.owner;
  if (worker.kind == WorkerKind::of_owner || stopping_) return;
  suspects_.erase(end.key);
  // The file of keys forgets it when it is next written, and before the key is another's.
  if (worker.is_done || options_.state_folder.empty()) {
    workers_.erase(found);
  } else if (was_used) {  // one that ends before anybody has used it is not tried for ever
    worker.is_wanted = true;
    is_anything_wanted_ = true;
  }
}

void WorkerSet::hear_of_ends() {
  while (const std::optional<WorkerEnd> heard = spawner_.wait()) {
    std::string owner;
    {
      const MutexLock lock(mutex_);
      has_ended(*heard, owner);
      changed_.notify_all();
    }
    if (options_.ended) options_.ended(*heard, owner);
  }
  bool is_lost = false;
  {
    const MutexLock lock(mutex_);
    is_lost = !stopping_;
    lost_ = true;
    changed_.notify_all();
  }
  if (is_lost && options_.lost) options_.lost();
}

// Those whose sessions are in the state folder: so that what is over ends, and all are in lists. It
// ends no other one for that: those that there is no room for start when they are asked for.
void WorkerSet::start_wanted() {
  is_anything_wanted_ = false;
  std::vector<CellKey> wanted;
  for (const auto& [key, worker] : workers_) {
    if (worker.is_wanted && worker.stage == Stage::away) wanted.push_back(key);
  }
  for (const CellKey key : wanted) {
    if (stopping_ || lost_ || running() >= options_.limit) return;
    if (!start(key)) suspects_[key] = {Clock::now() + first_pause, first_pause};
  }
}

void WorkerSet::ask_suspects() {
  std::vector<CellKey> due;
  for (const auto& [key, suspect] : suspects_) {
    if (suspect.due <= Clock::now()) due.push_back(key);
  }
  for (const CellKey key : due) {
    const bool has_ended = ends_when_idle(key);
    const auto found = suspects_.find(key);
    if (found == suspects_.end() || found->second.due > Clock::now()) continue;
    const auto pause = found->second.pause * 2;
    if (has_ended || pause > longest_pause) {
      suspects_.erase(found);
    } else {
      found->second = {Clock::now() + pause, pause};
    }
  }
}

void WorkerSet::ask_those_that_are_due() {
  std::vector<CellKey> due;
  for (const auto& [key, worker] : workers_) {
    if (worker.stage == Stage::running && Clock::now() - worker.used >= options_.idle)
      due.push_back(key);
  }
  for (const CellKey key : due) (void)ends_when_idle(key);
}

// One that is stuck, or in somebody else's hands, would keep its place for ever.
void WorkerSet::kill_those_that_do_not_end() {
  const auto now = Clock::now();
  for (auto& [key, worker] : workers_) {
    if (worker.stage != Stage::ending || worker.killed > now) continue;
    spawner_.kill(key);
    worker.killed = now + options_.ending;
  }
}

void WorkerSet::look_for_idle_ones() {
  const MutexLock lock(mutex_);
  const auto interval =
      std::max<std::chrono::milliseconds>(options_.idle / 4, std::chrono::milliseconds(20));
  auto next_look = Clock::now() + interval;
  for (;;) {
    if (is_anything_wanted_) start_wanted();
    auto wake = next_look;
    for (const auto& [key, suspect] : suspects_) wake = std::min(wake, suspect.due);
    for (const auto& [key, worker] : workers_)
      if (worker.stage == Stage::ending) wake = std::min(wake, worker.killed);
    has_new_time_ = false;
    (void)changed_.wait_until(mutex_, wake, [this]() REQUIRES(mutex_) {
      return stopping_ || lost_ || has_new_time_ || is_anything_wanted_;
    });
    if (stopping_ || lost_) return;
    kill_those_that_do_not_end();
    ask_suspects();
    if (Clock::now() < next_look) continue;
    ask_those_that_are_due();
    next_look = Clock::now() + interval;
  }
}

}  // namespace cloche::cluster
