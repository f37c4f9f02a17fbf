// SPDX-License-Identifier: Apache-2.0
#include "cluster/worker_set.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <span>
#include <utility>

#include "base/descriptor_channel.h"
#include "base/errno.h"
#include "base/host_error.h"

namespace cloche::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds ending_patience{30};  // for a worker that ends, before its next one
constexpr std::chrono::milliseconds answer_patience{1000};

std::string keys_file(const std::string& folder) { return folder + "/workers"; }

// The worker's own word about the question of that number; false where it says nothing in time. An
// answer that came too late for its question is passed over.
bool says_idle(int channel, std::uint64_t number) {
  const auto deadline = Clock::now() + answer_patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wanted{channel, POLLIN, 0};
    if (left.count() <= 0) return false;  // also for one that never stops talking
    const int ready = ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const std::optional<ChannelMessage> answer = receive_message(channel);
    if (!answer) return false;
    if (answer->text == fmt::format("{}{}", idle_message, number)) return true;
    if (answer->text == fmt::format("{}{}", busy_message, number)) return false;
  }
}

}  // namespace

WorkerSet::WorkerSet(Spawner& spawner, Options options)
    : spawner_(spawner), options_(std::move(options)) {
  if (!options_.state_folder.empty()) {
    claim_.emplace(options_.state_folder, host_files());
    read_keys();
  }
  ends_ = std::thread([this] { hear_of_ends(); });
  idlers_ = std::thread([this] { look_for_idle_ones(); });
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
  std::ifstream stream(path);
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
    const std::string owner = line.substr(static_cast<std::size_t>(end - line.data()) + 1);
    workers_[key].owner = owner;
    keys_[owner] = key;
  }
}

// With that owner in it; nothing that was there is lost where it cannot be written.
Result<void> WorkerSet::write_keys(CellKey key, const std::string& owner) {
  if (options_.state_folder.empty()) return {};
  std::string text;
  for (const auto& [its_key, worker] : workers_)
    text += fmt::format("{} {}\n", its_key, worker.owner);
  text += fmt::format("{} {}\n", key, owner);
  const std::string path = keys_file(options_.state_folder);
  auto file = DurableFile::create(host_files(), path, path + ".part");
  if (!file) return file.error();
  CLOCHE_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit([this] { return claim_->check(); });
}

// Nothing: there is no key left, or it cannot be kept.
std::optional<CellKey> WorkerSet::key_for(const std::string& owner) {
  if (const auto found = keys_.find(owner); found != keys_.end()) return found->second;
  CellKey key = 1;
  for (const auto& [taken, worker] : workers_) {
    if (taken != key) break;
    if (++key == 0) return std::nullopt;
  }
  if (!write_keys(key, owner)) return std::nullopt;
  workers_[key].owner = owner;
  keys_[owner] = key;
  return key;
}

std::size_t WorkerSet::count() const {
  const MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      workers_, [](const auto& entry) { return entry.second.stage != Stage::away; }));
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

// One sentence where it cannot be started.
std::optional<std::string> WorkerSet::start(CellKey key) {
  Worker& worker = workers_.at(key);
  const auto running = [this]() REQUIRES(mutex_) {
    return static_cast<std::size_t>(std::ranges::count_if(
        workers_, [](const auto& entry) { return entry.second.stage != Stage::away; }));
  };
  if (running() >= options_.limit && !end_an_idle_one())
    return fmt::format("all {} workers are in use", options_.limit);
  if (worker.stage != Stage::away) return std::nullopt;  // another thread's, in the meantime
  try {
    worker.channel = std::make_shared<UniqueFd>(spawner_.start(key, worker.owner));
  } catch (const HostError& error) {
    return error.what();
  }
  worker.stage = Stage::running;
  worker.connections = 0;
  worker.used = Clock::now();
  if (options_.started) options_.started(key, worker.owner);
  return std::nullopt;
}

// Or the errno: EPIPE, it has gone; another one, the machine has no more connections.
std::variant<UniqueFd, int> WorkerSet::connect_to(Worker& worker) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return errno;
  UniqueFd own(ends[0]);
  const UniqueFd its(ends[1]);
  if (const int error = send_message(worker.channel->get(), connection_message, its.get());
      error != 0)
    return error;
  ++worker.connections;
  worker.used = Clock::now();
  return own;
}

std::variant<UniqueFd, std::string> WorkerSet::connect(const std::string& owner) {
  if (owner.size() > owner_max_bytes) return "the owner's name is too long";
  const auto deadline = Clock::now() + ending_patience;
  const MutexLock lock(mutex_);
  const std::optional<CellKey> key = key_for(owner);
  if (!key) return "the server cannot give this owner a worker of its own";
  Worker& worker = workers_.at(*key);
  for (;;) {
    const bool settled = changed_.wait_until(mutex_, deadline, [&]() REQUIRES(mutex_) {
      return stopping_ || lost_ || worker.stage != Stage::ending;
    });
    if (stopping_ || lost_) return "the server is about to end";
    if (!settled) {
      spawner_.kill(*key);
      return "the worker of this owner is still ending";
    }
    if (worker.stage == Stage::away) {
      if (auto problem = start(*key)) return *std::move(problem);
      continue;
    }
    auto connected = connect_to(worker);
    if (auto* fd = std::get_if<UniqueFd>(&connected)) return std::move(*fd);
    const int error = std::get<int>(connected);
    if ((error != EPIPE && error != ECONNRESET) || Clock::now() > deadline)
      return fmt::format("the worker of this owner cannot be reached: {}", std::strerror(error));
    end(worker);  // it has gone: the next one is started once that is told
  }
}

std::vector<std::pair<CellKey, UniqueFd>> WorkerSet::connect_all() {
  std::vector<std::pair<CellKey, UniqueFd>> all;
  const MutexLock lock(mutex_);
  for (auto& [key, worker] : workers_) {
    if (worker.stage != Stage::running) continue;
    const auto used = worker.used;  // who asks how it is does not use it
    auto connected = connect_to(worker);
    if (auto* fd = std::get_if<UniqueFd>(&connected)) all.emplace_back(key, std::move(*fd));
    worker.used = used;
  }
  return all;
}

// It hears that its channel has ended, and ends itself.
void WorkerSet::end(Worker& worker) {
  worker.stage = Stage::ending;
  worker.channel.reset();
}

// Asks it without the lock. What it was given since the question makes its answer void.
bool WorkerSet::ends_when_idle(CellKey key) {
  Worker& worker = workers_.at(key);
  const std::shared_ptr<UniqueFd> channel = worker.channel;
  const std::uint64_t before = worker.connections;
  const std::uint64_t number = ++questions_;
  if (worker.asked ||
      send_message(channel->get(), fmt::format("{}{}", question_message, number)) != 0)
    return false;
  worker.asked = true;
  bool idle = false;
  {
    const MutexUnlocked unlocked(mutex_);
    idle = says_idle(channel->get(), number);
  }
  worker.asked = false;
  if (!idle || worker.stage != Stage::running || worker.channel != channel ||
      worker.connections != before)
    return false;
  end(worker);
  return true;
}

// For one that is needed more: the one that has not been used for the longest time, where it has
// nothing. True once it has ended.
bool WorkerSet::end_an_idle_one() {
  std::vector<std::pair<Clock::time_point, CellKey>> running;
  for (const auto& [key, worker] : workers_) {
    if (worker.stage == Stage::running) running.emplace_back(worker.used, key);
  }
  std::ranges::sort(running);
  for (const auto& [used, key] : running) {
    if (workers_.at(key).stage != Stage::running || !ends_when_idle(key)) continue;
    return changed_.wait_for(mutex_, ending_patience, [&, key = key]() REQUIRES(mutex_) {
      return workers_.at(key).stage != Stage::ending;
    });
  }
  return false;
}

void WorkerSet::hear_of_ends() {
  while (const std::optional<WorkerEnd> heard = spawner_.wait()) {
    std::string owner;
    {
      const MutexLock lock(mutex_);
      Worker& worker = workers_[heard->key];
      worker.stage = Stage::away;
      worker.channel.reset();
      owner = worker.owner;
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

void WorkerSet::look_for_idle_ones() {
  const MutexLock lock(mutex_);
  const auto interval =
      std::max<std::chrono::milliseconds>(options_.idle / 4, std::chrono::milliseconds(20));
  while (!changed_.wait_for(mutex_, interval,
                            [this]() REQUIRES(mutex_) { return stopping_ || lost_; })) {
    std::vector<CellKey> due;
    for (const auto& [key, worker] : workers_) {
      if (worker.stage == Stage::running && Clock::now() - worker.used >= options_.idle)
        due.push_back(key);
    }
    for (const CellKey key : due) {
      if (workers_.at(key).stage == Stage::running) (void)ends_when_idle(key);
    }
  }
}

}  // namespace cloche::cluster
