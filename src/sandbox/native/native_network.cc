// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_network.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>

#include "base/descriptor_share.h"
#include "base/host_error.h"
#include "base/host_thread.h"
#include "base/thread_name.h"
#include "native/host/warden.h"
#include "native/warden/packet.h"

namespace cloche::sandbox {
namespace {

using warden::Dial;
using warden::DialAnswer;

// How long a connect on a non-blocking socket takes at most. Until then a connection that is refused
// is refused to the program, too; after it the program sees one that is reset.
constexpr std::chrono::milliseconds most_impatience{1000};
constexpr std::size_t most_query_bytes = 4096;
constexpr int queries_at_once = 64;

kernel::InetAddress address_of(const Dial& dial) {
  kernel::InetAddress to;
  std::copy(std::begin(dial.address), std::end(dial.address), to.ip.bytes.begin());
  to.family = to.ip.is_v4() ? kernel::SocketFamily::inet : kernel::SocketFamily::inet6;
  to.port = dial.port;
  return to;
}

UniqueFd must(int fd) {
  if (fd < 0) throw HostError::from_errno("the host gives no eventfd", errno);
  return UniqueFd(fd);
}

}  // namespace

NativeNetwork::NativeNetwork(native::Box& box, const NetworkOptions& options,
                             std::shared_ptr<const net::SecretStore> secrets,
                             std::shared_ptr<const net::GuestAuthority> authority)
    : stop_(must(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      network_(mutex_, options, std::move(secrets), std::move(authority)) {
  // The thread comes first: a box opens its network once.
  std::promise<bool> is_open;
  thread_ = host_thread("a sandbox's network", [this, waits = is_open.get_future()]() mutable {
    name_thread("cloche-network");
    if (waits.get()) serve();
  });
  try {
    open(box);
  } catch (...) {
    is_open.set_value(false);
    thread_.join();
    throw;
  }
  is_open.set_value(true);
}

void NativeNetwork::open(native::Box& box) {
  Result<native::Box::Network> opened = box.open_network();
  if (!opened)
    throw HostError(native::explain(warden::Step::network, static_cast<int>(opened.error())));
  dials_ = std::move(opened->dials);
  for (UniqueFd& name : opened->names)
    names_.push_back(std::make_shared<UniqueFd>(std::move(name)));
}

NativeNetwork::~NativeNetwork() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  network_.stop();
}

void NativeNetwork::set_owner(std::shared_ptr<Owner> owner) {
  const kernel::KernelLock lock(mutex_);
  network_.set_owner(std::move(owner));
}

void NativeNetwork::serve() {
  bool has_box = true;
  for (;;) {
    std::vector<pollfd> waiting{{stop_.get(), POLLIN, 0}, {has_box ? dials_.get() : -1, POLLIN, 0}};
    for (const auto& name : names_) waiting.push_back({name->get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), patience_ms()) < 0) continue;
    if (waiting[0].revents != 0) return;
    if (waiting[1].revents != 0) has_box = take_dial();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (waiting[i + 2].revents != 0) take_query(names_[i]);
    }
    let_impatient_go_on();
  }
}

// False: the box has ended.
bool NativeNetwork::take_dial() {
  warden::Packet packet;
  Dial dial;
  if (!warden::receive_record(dials_.get(), dial, packet, MSG_DONTWAIT))
    return errno == EAGAIN || errno == EMSGSIZE;
  const kernel::KernelLock lock(mutex_);
  if (dial.tell == Dial::Tell::asked) {
    connect(dial);
    return true;
  }
  const auto found = asked_.find(dial.id);
  if (found == asked_.end()) return true;
  if (dial.tell == Dial::Tell::joined) {
    UniqueFd socket(packet.take_fd(0));
    auto place = DescriptorShare::of_this_process().acquire(socket, network_.owner());
    if (place) {
      found->second.socket->attach(std::move(socket), *std::move(place));
    } else {
      found->second.socket->give_up();
    }
  } else {
    found->second.socket->give_up();
  }
  asked_.erase(found);
  return true;
}

// With the lock.
void NativeNetwork::connect(const Dial& dial) {
  const kernel::InetAddress to = address_of(dial);
  const std::uint32_t id = dial.id;
  Asked& asked = asked_[id];
  if (dial.is_loopback && !network_.has_loopback(to)) return answer(id, DialAnswer::Say::stay);
  asked.socket = std::make_shared<net::GuestSocket>(
      [this, id](Result<void> how) REQUIRES(kernel::kernel_lock) {
        answer(id, how ? DialAnswer::Say::join : DialAnswer::Say::refuse,
               how ? 0 : static_cast<int>(how.error()));
      });
  if (!dial.is_patient) asked.until = Clock::now() + most_impatience;
  if (const Result<void> begun = network_.connect(to, asked.socket); !begun)
    answer(id, DialAnswer::Say::refuse, static_cast<int>(begun.error()));
}

// With the lock. What is not joined is forgotten.
void NativeNetwork::answer(std::uint32_t id, DialAnswer::Say say, int error) {
  const auto found = asked_.find(id);
  if (found == asked_.end() || std::exchange(found->second.is_answered, true)) return;
  (void)warden::send_record(dials_.get(), DialAnswer{.say = say, .id = id, .error = error}, {},
                            MSG_DONTWAIT);
  found->second.until.reset();
  if (say != DialAnswer::Say::join) asked_.erase(found);
}

int NativeNetwork::patience_ms() {
  const kernel::KernelLock lock(mutex_);
  std::optional<Clock::time_point> first;
  for (const auto& [id, asked] : asked_) {
    if (asked.until && (!first || *asked.until < *first)) first = asked.until;
  }
  if (!first) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void NativeNetwork::let_impatient_go_on() {
  const kernel::KernelLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  std::vector<std::uint32_t> ids;
  for (const auto& [id, asked] : asked_) {
    if (asked.until && *asked.until <= now) ids.push_back(id);
  }
  for (const std::uint32_t id : ids) answer(id, DialAnswer::Say::join);
}

void NativeNetwork::take_query(const std::shared_ptr<UniqueFd>& socket) {
  for (int i = 0; i < queries_at_once; ++i) {
    std::vector<std::byte> packet(most_query_bytes);
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(socket->get(), packet.data(), packet.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0) return;
    packet.resize(static_cast<std::size_t>(got));
    const kernel::KernelLock lock(mutex_);
    network_.query(std::move(packet), [socket, from, size](const std::vector<std::byte>& reply) {
      (void)::sendto(socket->get(), reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                     reinterpret_cast<const sockaddr*>(&from), size);
    });
  }
}

}  // namespace cloche::sandbox
