// SPDX-License-Identifier: Apache-2.0
// The beginning of a session's file: what must be known of it before its state is read.
//
//   cloche session 2
//   {"id": ..., "name": ..., "after": ..., "part": true, ...}    a line of JSON
//   the SHA-256 of these two lines in hex
//   a part of a state (cloche/checkpoint.h), where `part` says so
//
// The release before wrote the SHA-256 of all that follows, 32 bytes; a line of JSON; the state.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/host_files.h"
#include "session/session_facts.h"

namespace cloche::session {

struct StateHead {
  Facts facts;
  Status status = Status::running;
  std::string name;         // no other file has it
  std::string after;        // of the file that this one follows; empty: of none
  bool has_part = false;    // of the state
  std::string live;         // see SavedChain
  bool is_old = false;      // as the release before wrote it
  std::uint64_t bytes = 0;  // of the head: the part follows
};

enum class HeadProblem : std::uint8_t { no_file, damaged, of_later_release, unreadable };

// `bytes` is not asked for.
std::string head_text(const StateHead& head);

// Never waits, whatever is there.
std::variant<StateHead, HeadProblem> read_head(HostFiles& files, const std::string& path);

}  // namespace cloche::session
