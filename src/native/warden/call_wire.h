// SPDX-License-Identifier: Apache-2.0
// What a call of a command of the host and Cloche say to each other: a stream of records over a
// socket at `call_socket_name`, an abstract name of the box's own network, where pid 1 listens for
// Cloche. The caller is a program in the box, or a guest that does as it does, so that Cloche
// believes nothing of what it says but bytes and an environment.
//
// The caller begins: CallHead and the strings. From then on Cloche asks, and each CallAsk but
// `leave` and `enough` has one CallReply. The end of the socket is the end of the call, whoever
// closes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cloche::warden {

inline constexpr char call_socket_name[] = "cloche-host-commands";  // after a zero
inline constexpr std::uint32_t call_version = 1;
inline constexpr std::size_t most_call_bytes = (2 << 20) + (8 << 10);  // of the strings
inline constexpr std::size_t most_call_piece = 64 << 10;               // of a stream in a record

// After it `bytes`: the directory, the arguments as they were executed and the environment, each
// ended by a zero.
struct CallHead {
  std::uint32_t version = call_version;
  std::uint32_t arguments = 0;
  std::uint32_t variables = 0;
  std::uint32_t bytes = 0;
};

enum class CallOrder : std::uint32_t {
  read,    // standard input, `number` bytes at most; the reply has them behind it
  write,   // to `stream` the `number` bytes behind this, all of them
  wait,    // until something of `number`, bits of call_ready, can go on
  enough,  // of waiting: the reply comes now, whatever is ready
  leave,   // with `number` as its status
};

namespace call_ready {
inline constexpr std::uint32_t input = 1, out = 2, err = 4;
}

struct CallAsk {
  CallOrder order = CallOrder::leave;
  std::uint32_t stream = 1;
  std::uint32_t number = 0;
};

// How many bytes were read, what is ready, or 0; an errno, negative.
struct CallReply {
  std::int32_t value = 0;
};

}  // namespace cloche::warden
