// SPDX-License-Identifier: Apache-2.0
// FileProtocol: what a channel needs of SFTP and of scp: bytes in, bytes out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::ssh {

// What is new does not get these of the permissions that the client names: the sandbox's umask.
inline constexpr std::uint32_t new_mask = 0022;

class FileProtocol {
 public:
  virtual ~FileProtocol() = default;
  // Takes what the client sent, and appends what it gets. With nothing it goes on with what it
  // has to send.
  virtual void feed(std::string_view bytes, std::string& out) = 0;
  // It has more of the client's than it could answer: give it none until that is done.
  virtual bool stalled() const { return false; }
  // It goes on by itself when it is fed with nothing.
  virtual bool has_more() const { return false; }
  // What it keeps of the client's.
  virtual std::size_t held_bytes() const = 0;
  // The client sends no more.
  virtual void end_input() = 0;
  virtual bool done() const = 0;
  virtual int exit_code() const = 0;
};

}  // namespace cloche::ssh
