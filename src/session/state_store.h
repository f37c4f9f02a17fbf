// SPDX-License-Identifier: Apache-2.0
// StateStore: sessions as files of a folder of the host, one each, so that they survive the server.
//
// A file is complete or not there: written beside, synced, renamed. What was damaged all the same
// is found by its SHA-256, and left alone under another name. Thread-safe for different sessions.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "session/session.h"

namespace cloche::session {

class StateStore {
 public:
  // Makes the folder, for this user alone. Throws HostError with one sentence.
  explicit StateStore(std::filesystem::path folder);

  // `state`: of export_state, or empty for a sandbox as it is made. False where the host cannot
  // write it.
  bool save(const Facts& facts, Status status, std::string_view state);
  void remove(const std::string& id);

  struct Stored {
    Facts facts;
    Status status = Status::running;
    std::string state;
  };
  // Each whole file, oldest session first; `damaged` is told the name of every other one.
  void load(const std::function<void(Stored)>& found,
            const std::function<void(const std::string& name)>& damaged);

 private:
  std::filesystem::path path_of(const std::string& id) const;
  const std::filesystem::path folder_;
};

}  // namespace cloche::session
