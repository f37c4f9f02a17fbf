// SPDX-License-Identifier: Apache-2.0
// StateStore: sessions as files of a folder of the host, so that they survive the server.
//
// ID.session has a session's facts and its whole state; ID.1.changes, ID.2.changes ... what has
// changed since, each since the one before. Whenever changes have become half as large as what is
// before them, both are written anew as one: so a save costs what has changed, and now and then
// more. Each file names the one that it follows; what follows none is left over, and removed.
//
// A file is complete or not there (DurableFile). What was damaged all the same is found by its
// checksums when it is read, and set aside. The folder belongs to one store (FolderClaim).
//
// The live Python of a paused session is a file beside these, that PythonSession::checkpoint writes
// and `restore` checks; one that no session names is left over, and removed.
//
// Thread-safe for different sessions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/host_files.h"
#include "base/mutex.h"
#include "cloche/checkpoint.h"
#include "session/folder_claim.h"
#include "session/session_facts.h"

namespace cloche::session {

// The live Python of a session that is paused, or in which nothing has been executed since it was.
struct LivePython {
  std::string name;           // its file is ID.NAME.python; empty: there is none
  std::uint64_t version = 0;  // PythonSession::version
  friend bool operator==(const LivePython&, const LivePython&) = default;
};

// What the folder has of one session. Not thread-safe.
struct SavedChain {
  struct Level {
    std::string name;  // that the next one follows
    std::uint64_t bytes = 0;
    bool has_part = false;            // of the state; otherwise only facts
    std::optional<Checkpoint> state;  // that it leads to; absent: it has been read from the file
  };
  std::vector<Level> levels;
  Status status = Status::running;
  WallTime expires = WallTime::max();  // as it is saved
  LivePython live;                     // the same
  std::optional<Checkpoint> read;      // the state right after it has been read
  std::size_t file_count = 0;          // levels that there may be files of
  bool unsure = false;                 // the last save failed: what the folder has is not known
  std::uint64_t origin = 0;  // of the states: those of another one have nothing in common with them

  // All of what follows is written anew.
  void begin_anew(std::uint64_t of);
};

class StateStore {
 public:
  // Makes the folder, for this user alone. `files` outlives it. Throws HostError with one sentence.
  // `cell`: whose it is from now on; 0: no cell's.
  StateStore(std::filesystem::path folder, HostFiles& files, CellKey cell = 0);

  struct Found {
    Facts facts;
    SavedChain chain;
  };
  struct Listing {
    std::vector<Found> sessions;       // the oldest first
    std::vector<std::string> unread;   // ids of those that cannot be read
    std::vector<std::string> trouble;  // sentences
  };
  // What there is, by the beginnings of the files. Damaged ones are set aside; what is no file, or
  // of a later release, is left alone. Nothing in the folder keeps the others from being found.
  // Throws HostError where the folder cannot be listed: nothing is changed then.
  Listing list();

  struct Saved {
    std::uint64_t bytes = 0;  // written; 0: nothing had changed
  };
  // `now` absent: the state is as it was saved, only the status may have changed. On failure the
  // folder has what it had; ESTALE: it belongs to another server now. The file of `live` is there
  // already; after a failure it is not, unless it was saved before.
  Result<Saved> save(SavedChain& chain, const Facts& facts, Status status, const Checkpoint* now,
                     const LivePython& live = {});

  std::filesystem::path live_file(const std::string& id, const std::string& name) const;
  // A file to write a live Python to, while the folder belongs to this store.
  Result<LivePython> new_live_file(const std::string& id, std::uint64_t version);
  // It has been written.
  Result<void> sync_live_file(const std::string& id, const LivePython& live);
  void remove_live_file(const std::string& id, const LivePython& live);

  struct Problem {
    bool damaged = false;  // it is not going to be better
    std::string sentence;
  };
  struct Loaded {
    std::unique_ptr<Sandbox> sandbox;
    std::vector<std::string> missing_packages;
    std::vector<std::string> changed_packages;  // StateReader::changed_packages
  };
  // Reads and checks everything.
  std::variant<Loaded, Problem> load(SavedChain& chain, const std::string& id, Engine& engine,
                                     const SandboxOptions& options);

  enum class Removal : std::uint8_t { saved, also_set_aside };
  // Where it fails it can be tried again: what is gone already is only on the disk once this says
  // so.
  Result<void> remove(const std::string& id, Removal what, const LivePython& live = {});
  // Renames its files to NAME.damaged.
  void set_aside(const std::string& id);

  bool is_lost() const noexcept { return claim_.is_lost(); }
  // Whether another server has taken the folder, as the folder says now.
  bool has_been_taken() { return !claim_.check() && claim_.is_lost(); }

 private:
  std::string path_of(const std::string& id, std::size_t level) const;
  std::vector<std::string> files_of(const std::string& id) const;
  Result<void> remove_files(const std::string& id, Removal what, bool& any);
  void remove_live_left_over(const std::vector<std::string>& names, const Listing& listing);
  std::optional<Found> read_chain(const std::string& id, const std::vector<std::size_t>& levels,
                                  Listing& listing);
  Result<std::uint64_t> write_level(const std::string& path, const std::string& head,
                                    const Checkpoint* before, const Checkpoint* now);
  Result<void, Error> read_level(StateReader& reader, const std::string& path,
                                 const std::string& name);

  const std::filesystem::path folder_;
  HostFiles& files_;
  FolderClaim claim_;
  Mutex mutex_;
  // Of which files were removed, and the folder was not synced since.
  std::set<std::string> unsynced_ GUARDED_BY(mutex_);
};

}  // namespace cloche::session
