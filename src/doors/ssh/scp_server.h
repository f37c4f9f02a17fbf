// SPDX-License-Identifier: Apache-2.0
// ScpServer: the far side of `scp -O`: the sink (scp -t) and the source (scp -f) of rcp's protocol,
// over the files of a sandbox. Bytes in, bytes out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/open_file.h"
#include "cloche/sandbox.h"
#include "doors/ssh/file_protocol.h"
#include "doors/ssh/open_folders.h"

namespace cloche::ssh {

struct ScpOptions {
  enum class Role : std::uint8_t { sink, source };
  Role role = Role::sink;
  bool recursive = false;    // -r
  bool keep_times = false;   // -p
  bool into_folder = false;  // -d: the target must be one
  std::vector<std::string> paths;
};

// From the words of the client's command, `scp` itself left out; nothing when they make none.
std::optional<ScpOptions> parse_scp(const std::vector<std::string>& words);

// Whether a shell finds one simple command in that, with nothing that it would run or open to read
// its words. False also for what it would not accept.
bool is_one_command(std::string_view command);

class ScpServer final : public FileProtocol {
 public:
  // Both outlive it.
  ScpServer(Sandbox& sandbox, FoldersOfOwner folders, ScpOptions options);
  ~ScpServer() override;
  ScpServer(const ScpServer&) = delete;
  ScpServer& operator=(const ScpServer&) = delete;

  // Called with nothing first; `out` grows by some 64 KiB at most.
  void feed(std::string_view bytes, std::string& out) override;
  std::size_t held_bytes() const override { return pending_.size(); }
  void end_input() override { ended_ = true; }
  bool done() const override { return done_; }
  int exit_code() const override { return failures_ > 0 ? 1 : 0; }

 private:
  struct Folder {
    std::string path;
    std::optional<std::pair<std::int64_t, std::int64_t>> times;  // set when it is left
    std::vector<FileInfo> entries;                               // of a source
    std::size_t next = 0;
    OpenFolders::Share share = {};
  };

  void fail(std::string& out, std::string_view message);
  // The sink.
  void take(std::string& out);
  void take_line(std::string_view line, std::string& out);
  void begin_file(std::string_view line, std::string& out);
  void begin_folder(std::string_view line, std::string& out);
  void take_content(std::string& out);
  std::string target_of(std::string_view name);
  // The source.
  void give(std::string& out);
  bool give_next(std::string& out);
  bool give_entry(const std::string& path, const std::string& name, std::string& out);
  void give_content(std::string& out);

  Sandbox& sandbox_;
  Files& files_;
  FoldersOfOwner open_folders_;
  const ScpOptions options_;
  std::string pending_;
  bool begun_ = false;
  bool ended_ = false;
  bool done_ = false;
  int failures_ = 0;

  std::vector<Folder> folders_;
  std::unique_ptr<OpenFile> file_;
  std::uint64_t left_ = 0;
  std::uint64_t offset_ = 0;
  bool in_content_ = false;
  bool content_failed_ = false;
  std::optional<std::pair<std::int64_t, std::int64_t>>
      times_;  // of what comes next: access, change
  std::size_t next_path_ = 0;
  std::size_t acks_wanted_ = 0;
  std::optional<std::pair<std::string, std::string>> after_times_;  // path and name
};

}  // namespace cloche::ssh
