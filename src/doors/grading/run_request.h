// SPDX-License-Identifier: Apache-2.0
// What `POST /run_code` is asked for, as SandboxFusion's clients write it; and what it answers.
// docs/run-code.md is the page.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cloche::grading {

struct RunRequest {
  std::string program;    // in the sandbox
  std::string file_name;  // of the code, in the folder where it runs
  std::string code;
  std::string input;
  std::map<std::string, std::string> files;  // by path: absolute, or relative to that folder
  std::vector<std::string> fetch_files;
  std::chrono::milliseconds timeout{0};
  std::uint64_t memory_limit_bytes = 0;  // 0: the server's

  // What it takes of the server's memory while it waits.
  std::uint64_t bytes() const;
};

// One sentence for a request that cannot be taken.
struct BadRequest {
  std::string sentence;
};

inline constexpr std::size_t batch_limit = 256;

std::variant<RunRequest, BadRequest> read_run_request(std::string_view body);
// The member `requests` of an object.
std::variant<std::vector<RunRequest>, BadRequest> read_batch(std::string_view body);

enum class Outcome : std::uint8_t { finished, time_limit_exceeded, error };

struct RunVerdict {
  Outcome outcome = Outcome::error;
  std::string message;             // one sentence, of an error
  std::optional<int> return_code;  // of a finished one: negative for a signal
  std::string out;
  std::string err;
  std::chrono::nanoseconds duration{0};
  std::map<std::string, std::string> files;  // that had to be fetched, and are there
};

// The answer, JSON.
std::string to_json(const RunVerdict& verdict);

}  // namespace cloche::grading
