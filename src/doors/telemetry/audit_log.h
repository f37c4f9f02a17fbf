// SPDX-License-Identifier: Apache-2.0
// AuditLog: who did what, when, and what came of it: one line of JSON for each thing, appended to a
// file or sent to syslog. No secret, no text of a command and no body of a request is in it.
//
// A line is with the host before whoever caused it is answered. What cannot be written is counted,
// and trouble() says so until something can be written again; the first line after that says how
// many are missing. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/host_files.h"
#include "base/mutex.h"
#include "doors/http/metrics.h"

namespace cloche::telemetry {

struct AuditEntry {
  std::string who;                        // the owner; empty: not known, or everybody is the same
  std::string from;                       // the address of the client; empty: not known
  std::string_view what;                  // "request", "session.created", "ssh.login", ...
  std::string target = {};                // "POST /sessions", an address of the network; cut
  std::string session = {};               // an id
  std::string_view outcome = "done";      // "done", "refused", "failed", "passed_on"
  std::optional<int> code = {};           // an HTTP status or an exit code
  std::optional<std::uint64_t> run = {};  // which begin and which end belong together
};

class AuditLog {
 public:
  // FILE, "syslog" (/dev/log), or "syslog:SOCKET".
  struct Target {
    std::string file;    // empty: syslog
    std::string socket;  // of syslog
    static std::optional<Target> parse(std::string_view text);
  };
  // `files` and `metrics` outlive it. Throws HostError with one sentence where the file cannot be
  // opened; a syslog that is not there yet is trouble only.
  AuditLog(Target target, HostFiles& files, http::Metrics& metrics);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void add(const AuditEntry& entry);
  // The same for what somebody did whom nobody let in: of more than a hundred in a second the
  // number alone is written. So who has no token does not fill the disk as fast as he can ask.
  void add_stranger(const AuditEntry& entry) { add_bounded(entry, {}); }
  // The same for what a program in that session was refused, as often as it asks; each has its own
  // hundred.
  void add_refusal(const AuditEntry& entry) { add_bounded(entry, entry.session); }

  // Opens the file anew, by its name: for after it has been renamed. Where that fails the one that
  // is open stays, and the sentence says why.
  std::optional<std::string> reopen();

  // Why not all is written, one sentence; empty: it is. Tries again.
  std::string trouble();

  static std::string line(const AuditEntry& entry, std::string_view timestamp,
                          std::uint64_t left_out);

 private:
  // Lines of a stranger, or of a session.
  struct Burst {
    std::uint64_t lines = 0;     // in this second
    std::uint64_t left_out = 0;  // since the last one that was written
  };
  void add_bounded(const AuditEntry& entry, const std::string& of);
  Result<UniqueFd> open_file();
  Result<UniqueFd> open_socket() const;
  void write(const std::string& line) REQUIRES(mutex_);
  Result<void> append(std::string_view line) REQUIRES(mutex_);
  Result<void> send(std::string_view line) REQUIRES(mutex_);
  Result<void> tell_missing() REQUIRES(mutex_);

  const Target target_;
  HostFiles& files_;
  http::Metrics& metrics_;
  Mutex mutex_;
  UniqueFd fd_ GUARDED_BY(mutex_);
  bool torn_ GUARDED_BY(mutex_) = false;  // the file ends within a line
  std::uint64_t missing_ GUARDED_BY(mutex_) = 0;
  Errno problem_ GUARDED_BY(mutex_) = Errno::io;  // where some are missing
  std::chrono::steady_clock::time_point second_ GUARDED_BY(mutex_);
  std::map<std::string, Burst> bursts_ GUARDED_BY(mutex_);  // by session; empty: strangers
};

}  // namespace cloche::telemetry
