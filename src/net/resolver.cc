// SPDX-License-Identifier: Apache-2.0
#include "net/resolver.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <system_error>
#include <thread>

#include "base/mutex.h"
#include "base/thread_name.h"

namespace cloche::net {
namespace {

constexpr std::chrono::seconds idle_time{2};
std::atomic<std::size_t> all_threads = 0;

// A place for a thread, among those of all resolvers.
bool take_place(std::size_t most) {
  if (all_threads.fetch_add(1) < most) return true;
  --all_threads;
  return false;
}

}  // namespace

std::size_t Resolver::threads() noexcept { return all_threads; }

Resolver::Found Resolver::look_up_on_host(const std::string& name) {
  Found found;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    found.failed = error != EAI_NONAME;
#ifdef EAI_NODATA
    found.exists = error == EAI_NODATA;
    found.failed = found.failed && error != EAI_NODATA;
#endif
    return found;
  }
  found.exists = true;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    kernel::IpAddress address;
    if (one->ai_family == AF_INET) {
      std::array<std::uint8_t, 4> octets{};
      std::memcpy(octets.data(), &reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr,
                  octets.size());
      address = kernel::IpAddress::v4(octets);
    } else if (one->ai_family == AF_INET6) {
      std::memcpy(address.bytes.data(),
                  &reinterpret_cast<const sockaddr_in6*>(one->ai_addr)->sin6_addr,
                  address.bytes.size());
    } else {
      continue;
    }
    if (std::ranges::find(found.addresses, address) == found.addresses.end())
      found.addresses.push_back(address);
  }
  freeaddrinfo(list);
  return found;
}

struct Resolver::State {
  static constexpr std::size_t max_waiting = 256;

  struct Query {
    std::string name;
    Answer answer;
  };

  Lookup lookup;
  Mutex mutex;
  Condition changed;
  std::deque<Query> queries GUARDED_BY(mutex);
  std::size_t threads GUARDED_BY(mutex) = 0;
  std::size_t idle GUARDED_BY(mutex) = 0;
  std::size_t answering GUARDED_BY(mutex) = 0;
  bool ending GUARDED_BY(mutex) = false;

  // False: there are as many as there may be now.
  static bool begin_thread(const std::shared_ptr<State>& state) REQUIRES(state->mutex);
};

Resolver::Resolver(Lookup lookup) : state_(std::make_shared<State>()) {
  state_->lookup = std::move(lookup);
}

Resolver::~Resolver() {
  const MutexLock lock(state_->mutex);
  state_->ending = true;
  state_->queries.clear();
  state_->changed.notify_all();
  state_->changed.wait(state_->mutex,
                       [this]() REQUIRES(state_->mutex) { return state_->answering == 0; });
}

bool Resolver::ask(std::string name, Answer answer) {
  const MutexLock lock(state_->mutex);
  if (state_->ending || state_->queries.size() >= State::max_waiting) return false;
  state_->queries.push_back({std::move(name), std::move(answer)});
  if (state_->idle < state_->queries.size() && !State::begin_thread(state_) &&
      state_->threads == 0) {
    state_->queries.pop_back();
    return false;
  }
  state_->changed.notify_all();
  return true;
}

bool Resolver::State::begin_thread(const std::shared_ptr<State>& state) {
  const std::size_t most = state->threads == 0 ? very_many_threads : few_threads;
  if (state->threads == max_threads || !take_place(most)) return false;
  try {
    std::thread([state] {
      name_thread("cloche-resolver");
      work(state);
      --all_threads;
    }).detach();
    ++state->threads;
    return true;
  } catch (const std::system_error&) {
    --all_threads;
    return false;
  }
}

void Resolver::work(const std::shared_ptr<State>& state) {
  ReleasableMutexLock lock(state->mutex);
  for (;;) {
    ++state->idle;
    const bool is_wanted = state->changed.wait_for(
        state->mutex, idle_time,
        [&]() REQUIRES(state->mutex) { return state->ending || !state->queries.empty(); });
    --state->idle;
    if (!is_wanted) --state->threads;
    if (!is_wanted || state->ending) return;
    State::Query query = std::move(state->queries.front());
    state->queries.pop_front();
    lock.unlock();
    Found found = state->lookup(query.name);
    lock.lock();
    if (state->ending) return;
    ++state->answering;
    lock.unlock();
    query.answer(std::move(found));
    query = {};
    lock.lock();
    --state->answering;
    state->changed.notify_all();
  }
}

}  // namespace cloche::net
