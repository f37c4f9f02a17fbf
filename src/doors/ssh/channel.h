// Channel: one session channel of an SSH connection: a command, a shell or SFTP, or a forwarded
// connection.
//
// Threads: that of its connection, except for what the command's callbacks do.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cloche/live_run.h"
#include "doors/ssh/file_protocol.h"
#include "doors/ssh/wake.h"
#include "session/session.h"

namespace cloche::ssh {

class Channel {
 public:
  // Takes over `handle`. `sandbox` is a use of its own; `wake` is of the connection, and outlives
  // it.
  // `before_end` is called before the client is told that what it started has ended.
  Channel(ssh_channel handle, session::Session::Use sandbox, const Wake& wake,
          std::function<void()> before_end);
  ~Channel();  // kills what runs in it
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Connects to a port of the sandbox's loopback; false when nobody listens there.
  bool forward(std::uint16_t port);

  // Moves what waits, both ways, without waiting. True when something moved.
  bool pump();
  // The client has closed it, or everything has been said.
  bool done() const;

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
  bool pump_input();
  bool pump_output();
  bool send(Stream stream, std::string& text);
  void finish();
  void set_callbacks();

  ssh_channel handle_;
  session::Session::Use sandbox_;
  const Wake& wake_;
  const std::function<void()> before_end_;
  ssh_channel_callbacks_struct callbacks_{};

  std::map<std::string, std::string> environment_;
  std::optional<Terminal> terminal_;
  std::unique_ptr<FileProtocol> files_;
  std::string inbox_;  // read from the client, and not yet taken by the command
  bool input_ended_ = false;
  bool input_refused_ = false;
  std::string sending_[2];  // to the client, of each stream
  bool client_closed_ = false;
  bool finished_ = false;

  std::mutex mutex_;  // of the members up to the next blank line
  std::condition_variable room_;
  std::string output_[2];
  std::optional<RunResult> end_;
  bool closing_ = false;

  std::unique_ptr<LiveRun> live_;  // goes first: its callbacks use the rest
};

}  // namespace cloche::ssh
