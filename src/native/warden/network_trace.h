// SPDX-License-Identifier: Apache-2.0
// NetworkTrace: what there is to be seen of a network namespace: counters of what went over its
// loopback and of what did not, sockets that are there, addresses, routes, groups, labels of flows.
// Two that are equal differ in nothing that a guest, which may change no network, can have left: a
// packet is counted, a socket is counted for as long as it is there (one on its way in a message,
// too), and without either nothing remembers anything. What a guest could set off to come later,
// the reports of multicast groups that it has left, these networks do not have: `calm` sees to
// that.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace cloche::warden {

class NetworkTrace {
 public:
  // In a network namespace that is new. False: this kernel does not let it.
  static bool calm() noexcept;

  // That of this process. False: it cannot be told, which is equal to none.
  bool take() noexcept;
  void forget() noexcept { size_ = 0; }
  bool is_empty() const noexcept { return size_ == 0; }
  bool is_like(const NetworkTrace& other) const noexcept {
    return size_ != 0 && std::string_view(text_.data(), size_) ==
                             std::string_view(other.text_.data(), other.size_);
  }

 private:
  enum class Part : unsigned char { all, first_line };
  bool add(const char* path, Part part) noexcept;

  std::array<char, 32 << 10> text_;
  std::size_t size_ = 0;
};

}  // namespace cloche::warden
