// SPDX-License-Identifier: Apache-2.0
// The public header, for the layers, and what each door makes of an Error. One mapping for all of
// them; docs/errors.md is made from it.
#pragma once

#include <cstdint>
#include <string>

#include "cloche/error.h"  // IWYU pragma: export

namespace cloche {

// What an error is at each door.
struct DoorCodes {
  int rpc;             // the code of a JSON-RPC error
  int http;            // the status of an HTTP answer
  std::uint32_t sftp;  // SSH_FX_* of SFTP v3
  int exit;            // the status of the program
};
DoorCodes door_codes(ErrorKind kind, Errno code) noexcept;
inline DoorCodes door_codes(const Error& error) noexcept {
  return door_codes(error.kind(), error.code());
}

// What was asked for makes no sense, or is not there.
Error request_error(const std::string& sentence, Errno code = Errno::inval);

// "ENOENT: No such file or directory: /tmp/x": what clients of JSON-RPC read.
std::string named_sentence(const Error& error);

// The exit status of a command that could not be started, as a shell gives it.
int not_started_status(Errno code) noexcept;

// "a request", "a sandbox", "the host".
std::string_view kind_name(ErrorKind kind) noexcept;

}  // namespace cloche
