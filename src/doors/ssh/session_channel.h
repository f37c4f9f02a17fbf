// SPDX-License-Identifier: Apache-2.0
// SessionChannel: a command, a shell, SFTP or scp in the sandbox.
//
// Threads: that of its connection, except for what the command's callbacks do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "cloche/live_run.h"
#include "doors/ssh/channel.h"
#include "doors/ssh/file_protocol.h"
#include "doors/ssh/open_folders.h"
#include "doors/ssh/ordered_output.h"
#include "doors/ssh/wake.h"
#include "session/session.h"

namespace cloche::ssh {

// How what is done in a session survives the server.
struct Saving {
  std::function<Result<void>()> now;
  std::function<void()> soon;  // waits for nothing
};

class SessionChannel final : public Channel {
 public:
  // Takes over `handle`. `sandbox` is a use of its own; `wake` is of the connection, and outlives
  // it, as `folders` does; `client` is as the client calls itself. `saving.now` is called once,
  // before the client is told that what it started has ended; the client hears of an error of it.
  // `saving.soon` where a program that runs is given input: a shell may never end.
  SessionChannel(ssh_channel handle, session::Session::Use sandbox, const Wake& wake,
                 std::string client, Saving saving, FoldersOfOwner folders);
  ~SessionChannel() override;  // kills what runs in it
  // Closed by the client, a terminal is hung up at once. What runs without one gets what the client
  // has sent, and has a while to end; nobody gets what it says.

 private:
  // What the client asks for before it starts something.
  struct Terminal {
    std::string type;
    TerminalSize size;
  };

  static TerminalSize size_of(int columns, int rows, int width, int height);
  bool start(std::optional<std::string> script);
  bool start_sftp();
  bool start_scp(const std::string& command);
  void take_output(Stream stream, std::string_view data);
  void take_end(const RunResult& result);
  bool move() override;
  bool owes_input() const noexcept override;
  std::uint64_t own_bytes() const override;
  bool set_variable(std::string_view name, std::string_view value);
  bool pump_input();
  bool pass_on_input();
  bool pump_output();
  bool drop_output();
  bool end();
  void finish();
  int exit_code(int code) const;
  void set_callbacks();

  session::Session::Use sandbox_;
  const Wake& wake_;
  const std::string client_;
  const Saving saving_;
  FoldersOfOwner folders_;
  std::optional<Result<void>> saved_;  // how that went
  ssh_channel_callbacks_struct requests_{};

  std::map<std::string, std::string> environment_;
  std::size_t environment_bytes_ = 0;  // that the client has sent for it
  std::optional<Terminal> terminal_;
  std::unique_ptr<FileProtocol> files_;
  std::string inbox_;  // read from the client, and not yet taken by the command from inbox_at_ on
  std::size_t inbox_at_ = 0;
  bool end_told_ = false;       // of the input
  bool input_refused_ = false;  // nobody reads it
  bool over_ = false;           // and the client has not waited for it
  OrderedOutput sending_;       // to the client, what the command has said
  std::string answers_;         // of the files

  mutable Mutex mutex_;
  Condition room_;
  OrderedOutput output_ GUARDED_BY(mutex_);
  std::optional<RunResult> end_ GUARDED_BY(mutex_);
  bool closing_ GUARDED_BY(mutex_) = false;

  std::unique_ptr<LiveRun> live_;  // goes first: its callbacks use the rest
};

}  // namespace cloche::ssh
