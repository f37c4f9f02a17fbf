// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace cloche {
namespace {

constexpr int rpc_code = 1;
constexpr int exit_status = 2;
constexpr int server_error = 500;
constexpr std::uint32_t sftp_failure = 4;
constexpr int not_found = 127;
constexpr int not_executable = 126;

std::string sentence_of(Errno code, std::string_view about) {
  const std::string_view message = errno_info(code).message;
  return about.empty() ? std::string(message) : fmt::format("{}: {}", message, about);
}

}  // namespace

Error::Error(Errno code, std::string_view about)
    : Error(ErrorKind::sandbox, code, sentence_of(code, about)) {}

DoorCodes door_codes(ErrorKind kind, Errno code) noexcept {
  const ErrnoInfo& info = errno_info(code);
  DoorCodes codes{rpc_code, info.http, info.sftp, exit_status};
  // It would not help the client to ask in another way.
  if (kind == ErrorKind::host) {
    codes.http = std::max<int>(info.http, server_error);
    codes.sftp = sftp_failure;
  }
  return codes;
}

Error request_error(const std::string& sentence, Errno code) {
  return {ErrorKind::request, code, sentence};
}

std::string named_sentence(const Error& error) {
  return fmt::format("{}: {}", errno_info(error.code()).name, error.sentence());
}

int not_started_status(Errno code) noexcept {
  return code == Errno::noent ? not_found : not_executable;
}

std::string_view kind_name(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::request: return "request";
    case ErrorKind::sandbox: return "sandbox";
    case ErrorKind::host: return "host";
  }
  return "host";
}

}  // namespace cloche
