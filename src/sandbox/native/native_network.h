// SPDX-License-Identifier: Apache-2.0
// NativeNetwork: the network of a box: net::Network, asked by the box's pid 1 for the connections
// that programs make, and by sockets at port 53 of the box's loopback for names.
//
// Threads: set_policy is called from any. One thread of its own takes what is asked; net::Network
// has another while there are connections. Destroyed after the box has ended.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "kernel/time/kernel_lock.h"
#include "native/host/box.h"
#include "net/guest_socket.h"
#include "net/network.h"

namespace cloche::sandbox {

class NativeNetwork {
 public:
  // Throws Error with one sentence for options that make no sense, HostError where the box can have
  // no network.
  NativeNetwork(native::Box& box, const NetworkOptions& options,
                std::shared_ptr<const net::SecretStore> secrets,
                std::shared_ptr<const net::GuestAuthority> authority);
  ~NativeNetwork();
  NativeNetwork(const NativeNetwork&) = delete;
  NativeNetwork& operator=(const NativeNetwork&) = delete;

  // From now on this one judges, and connections that it does not allow end.
  void set_policy(net::Policy policy) { network_.set_policy(std::move(policy)); }
  // Whose the connections are that are made from now on; null, as at first: nobody's.
  void set_owner(std::shared_ptr<Owner> owner) EXCLUDES(kernel::kernel_lock);

 private:
  using Clock = std::chrono::steady_clock;
  // A program that waits in connect, or that has gone on and is not joined yet.
  struct Asked {
    std::shared_ptr<net::GuestSocket> socket;
    bool is_answered = false;
    std::optional<Clock::time_point> until;  // of one that does not wait for long
  };

  void open(native::Box& box);
  void serve();
  bool take_dial() EXCLUDES(kernel::kernel_lock);
  void take_query(const std::shared_ptr<UniqueFd>& socket) EXCLUDES(kernel::kernel_lock);
  void connect(const warden::Dial& dial) REQUIRES(kernel::kernel_lock);
  void answer(std::uint32_t id, warden::DialAnswer::Say say, int error = 0)
      REQUIRES(kernel::kernel_lock);
  int patience_ms() EXCLUDES(kernel::kernel_lock);
  void let_impatient_go_on() EXCLUDES(kernel::kernel_lock);

  kernel::KernelMutex mutex_;  // the network's lock: no kernel has one here
  std::map<std::uint32_t, Asked> asked_ GUARDED_BY(kernel::kernel_lock);

  UniqueFd dials_;
  std::vector<std::shared_ptr<UniqueFd>> names_;
  UniqueFd stop_;  // eventfd
  net::Network network_;
  std::thread thread_;
};

}  // namespace cloche::sandbox
