// SPDX-License-Identifier: Apache-2.0
#include "doors/telemetry/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errno.h"
#include "base/host_error.h"
#include "base/json_string.h"
#include "base/trace_context.h"
#include "doors/http/date.h"

namespace cloche::telemetry {
namespace {

constexpr std::size_t value_max_bytes = 300;
constexpr std::uint64_t burst_max = 100;  // lines in a second
constexpr std::size_t bursts_kept = 4096;
constexpr std::string_view syslog_word = "syslog";
constexpr const char* usual_socket = "/dev/log";
constexpr int syslog_priority = 10 * 8 + 6;  // authpriv, info

void append_field(std::string& line, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  line += fmt::format(R"(,"{}":{})", name, json_string(value.substr(0, value_max_bytes)));
}

}  // namespace

std::optional<AuditLog::Target> AuditLog::Target::parse(std::string_view text) {
  if (text == syslog_word) return Target{{}, usual_socket};
  if (text.starts_with("syslog:")) {
    Target target{{}, std::string(text.substr(syslog_word.size() + 1))};
    const bool fits =
        target.socket.starts_with('/') && target.socket.size() < sizeof(sockaddr_un{}.sun_path);
    return fits ? std::optional(std::move(target)) : std::nullopt;
  }
  if (text.empty() || text.ends_with('/')) return std::nullopt;
  return Target{std::string(text), {}};
}

AuditLog::AuditLog(Target target, HostFiles& files, http::Metrics& metrics)
    : target_(std::move(target)), files_(files), metrics_(metrics) {
  metrics_.describe("cloche_audit_entries_total", "Lines of the audit log, by how they went.");
  for (const std::string_view result : {"written", "failed", "left_out"})
    metrics_.count("cloche_audit_entries_total", fmt::format(R"(result="{}")", result), 0);
  const MutexLock lock(mutex_);
  if (target_.file.empty()) {
    if (auto opened = open_socket()) fd_ = *std::move(opened);
    return;
  }
  auto opened = open_file();
  if (!opened) {
    throw HostError(fmt::format("cannot append to the audit log {}: {}", target_.file,
                                errno_info(opened.error()).message));
  }
  fd_ = *std::move(opened);
}

AuditLog::~AuditLog() = default;

// Never waits, whatever has that name.
Result<UniqueFd> AuditLog::open_file() {
  CLOCHE_ASSIGN(
      UniqueFd file,
      files_.open(target_.file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                  0600));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return errno_from_host(errno);
  if (!S_ISREG(status.st_mode)) return Errno::inval;
  return file;
}

Result<UniqueFd> AuditLog::open_socket() const {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_from_host(errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, target_.socket.c_str(), target_.socket.size() + 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno_from_host(errno);
  return fd;
}

std::string AuditLog::line(const AuditEntry& entry, std::string_view timestamp,
                           std::uint64_t left_out) {
  std::string line = fmt::format(R"({{"time":"{}","what":"{}")", timestamp, entry.what);
  append_field(line, "who", entry.who);
  append_field(line, "from", entry.from);
  append_field(line, "target", entry.target);
  append_field(line, "session", entry.session);
  append_field(line, "outcome", entry.outcome);
  if (entry.code) line += fmt::format(R"(,"code":{})", *entry.code);
  if (entry.run) line += fmt::format(R"(,"run":{})", *entry.run);
  if (left_out > 0) line += fmt::format(R"(,"left_out":{})", left_out);
  if (const TraceContext* trace = current_trace())
    line += fmt::format(R"(,"trace_id":"{}")", trace->trace_id);
  return line + "}\n";
}

void AuditLog::add(const AuditEntry& entry) {
  const MutexLock lock(mutex_);
  write(line(entry, http::iso_timestamp(std::chrono::system_clock::now()), 0));
}

void AuditLog::add_bounded(const AuditEntry& entry, const std::string& of) {
  const MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    // Those that have ended say nothing any more.
    const bool is_full = bursts_.size() > bursts_kept;
    std::erase_if(bursts_, [&](const auto& each) { return is_full || each.second.left_out == 0; });
    for (auto& [name, burst] : bursts_) burst.lines = 0;
  }
  Burst& burst = bursts_[of];
  if (++burst.lines > burst_max) {
    ++burst.left_out;
    return metrics_.count("cloche_audit_entries_total", R"(result="left_out")");
  }
  write(line(entry, http::iso_timestamp(std::chrono::system_clock::now()),
             std::exchange(burst.left_out, 0)));
}

void AuditLog::write(const std::string& line) {
  Result<void> written = tell_missing();
  if (written) written = target_.file.empty() ? send(line) : append(line);
  metrics_.count("cloche_audit_entries_total",
                 written ? R"(result="written")" : R"(result="failed")");
  if (written) return;
  ++missing_;
  problem_ = written.error();
}

// Where lines are missing the next one says so.
Result<void> AuditLog::tell_missing() {
  if (missing_ == 0) return {};
  const std::string text =
      fmt::format("{{\"time\":\"{}\",\"what\":\"audit.resumed\",\"missing\":{}}}\n",
                  http::iso_timestamp(std::chrono::system_clock::now()), missing_);
  CLOCHE_TRY(target_.file.empty() ? send(text) : append(text));
  missing_ = 0;
  return {};
}

Result<void> AuditLog::append(std::string_view line) {
  const std::string text = torn_ ? "\n" + std::string(line) : std::string(line);
  auto rest = std::as_bytes(std::span(text));
  while (!rest.empty()) {
    const Result<std::size_t> count = files_.write(fd_.get(), rest);
    if (!count) {
      // What is there of it is no line: the next one begins a new one.
      torn_ = torn_ || rest.size() < text.size();
      return count.error();
    }
    rest = rest.subspan(*count);
  }
  torn_ = false;
  return {};
}

// A datagram that is taken, or not. The one who takes them may have started anew.
Result<void> AuditLog::send(std::string_view line) {
  const std::string text = fmt::format("<{}>cloche[{}]: {}", syslog_priority, ::getpid(),
                                       line.substr(0, line.size() - 1));
  for (const bool is_first : {true, false}) {
    if (!fd_) {
      CLOCHE_ASSIGN(fd_, open_socket());
    }
    if (::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
    const int error = errno;
    if (error == EAGAIN || error == EINTR || !is_first) return errno_from_host(error);
    fd_.reset();
  }
  return Errno::io;
}

std::optional<std::string> AuditLog::reopen() {
  if (target_.file.empty()) return std::nullopt;
  auto opened = open_file();
  if (!opened) {
    return fmt::format("the audit log {} cannot be opened anew: {}", target_.file,
                       errno_info(opened.error()).message);
  }
  const MutexLock lock(mutex_);
  fd_ = *std::move(opened);
  torn_ = false;
  return std::nullopt;
}

std::string AuditLog::trouble() {
  const MutexLock lock(mutex_);
  if (missing_ == 0 || tell_missing()) return {};
  return fmt::format("{} entries of the audit log are not written: {}", missing_,
                     errno_info(problem_).message);
}

}  // namespace cloche::telemetry
