// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/session_channel.h"

#include <fmt/format.h>
#include <libssh/server.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <vector>

#include "doors/ssh/scp_server.h"
#include "doors/ssh/sftp_server.h"
#include "doors/ssh/shielded.h"

namespace cloche::ssh {
namespace {

constexpr std::size_t output_max_bytes = 512 << 10;
constexpr std::size_t files_backlog_bytes = 1 << 20;
// As much as a command may be given on Linux in one word.
constexpr std::size_t environment_max_bytes = 128 << 10;
constexpr std::size_t environment_max = 128;
constexpr std::size_t terminal_type_max_bytes = 256;
constexpr std::size_t turns_max = 4;
constexpr std::chrono::seconds words_patience{5};

struct SignalName {
  const char* name;
  int number;
};
// RFC 4254, section 6.10; numbers of the guests' Linux.
constexpr std::array<SignalName, 15> signal_names{{{"HUP", 1},
                                                   {"INT", 2},
                                                   {"QUIT", 3},
                                                   {"ILL", 4},
                                                   {"TRAP", 5},
                                                   {"ABRT", 6},
                                                   {"FPE", 8},
                                                   {"KILL", 9},
                                                   {"USR1", 10},
                                                   {"SEGV", 11},
                                                   {"USR2", 12},
                                                   {"PIPE", 13},
                                                   {"ALRM", 14},
                                                   {"TERM", 15},
                                                   {"WINCH", 28}}};

const char* name_of_signal(int number) {
  for (const SignalName& signal : signal_names) {
    if (signal.number == number) return signal.name;
  }
  return nullptr;
}

// By these programs know that they are run by SSH. They say what sshd's do, but for the client's
// address, which is nothing for a sandbox to know.
constexpr std::array<std::pair<const char*, const char*>, 2> connection_variables{
    {{"SSH_CLIENT", "127.0.0.1 65535 22"}, {"SSH_CONNECTION", "127.0.0.1 65535 127.0.0.1 22"}}};

// The draft wants the link first; OpenSSH made it the other way round, and most clients followed.
// These do as the draft says, unless the server calls itself OpenSSH.
SymlinkOrder symlink_order_of(std::string_view name) {
  for (const std::string_view client : {"AsyncSSH_", "libssh_", "WinSCP_"}) {
    if (name.find(client) != name.npos) return SymlinkOrder::link_first;
  }
  return SymlinkOrder::target_first;
}

SessionChannel& self_of(void* data) { return *static_cast<SessionChannel*>(data); }

}  // namespace

SessionChannel::SessionChannel(ssh_channel handle, session::Session::Use sandbox, const Wake& wake,
                               std::string client, Saving saving, FoldersOfOwner folders)
    : Channel(handle),
      sandbox_(std::move(sandbox)),
      wake_(wake),
      client_(std::move(client)),
      saving_(std::move(saving)),
      folders_(std::move(folders)) {
  set_callbacks();
}

SessionChannel::~SessionChannel() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    room_.notify_all();
  }
  if (live_) live_->kill();
  live_.reset();
  files_.reset();
  ::ssh_remove_channel_callbacks(handle(), &requests_);
}

TerminalSize SessionChannel::size_of(int columns, int rows, int width, int height) {
  const auto fit = [](int value) {
    return static_cast<std::uint16_t>(std::clamp(value, 0, UINT16_MAX));
  };
  return {fit(rows), fit(columns), fit(width), fit(height)};
}

// What the client asks of a channel. 0: done; 1: refused.
void SessionChannel::set_callbacks() {
  requests_.userdata = this;
  requests_.channel_signal_function = [](ssh_session, ssh_channel, const char* name, void* data) {
    for (const SignalName& signal : signal_names) {
      if (name && std::string_view(name) == signal.name && self_of(data).live_)
        (void)self_of(data).live_->signal(signal.number);
    }
  };
  requests_.channel_pty_request_function = [](ssh_session, ssh_channel, const char* type,
                                              int columns, int rows, int width, int height,
                                              void* data) {
    SessionChannel& self = self_of(data);
    const std::string_view name = type && *type ? type : "dumb";
    if (self.live_ || self.files_ || name.size() > terminal_type_max_bytes) return 1;
    return shielded<int>(1, [&] {
      self.terminal_ = Terminal{std::string(name), size_of(columns, rows, width, height)};
      return 0;
    });
  };
  requests_.channel_shell_request_function = [](ssh_session, ssh_channel, void* data) {
    return shielded<int>(1, [&] { return self_of(data).start(std::nullopt) ? 0 : 1; });
  };
  requests_.channel_pty_window_change_function = [](ssh_session, ssh_channel, int columns, int rows,
                                                    int width, int height, void* data) {
    SessionChannel& self = self_of(data);
    const TerminalSize size = size_of(columns, rows, width, height);
    if (self.terminal_) self.terminal_->size = size;
    if (self.live_) self.live_->resize(size);
    return 0;
  };
  requests_.channel_exec_request_function = [](ssh_session, ssh_channel, const char* command,
                                               void* data) {
    return shielded<int>(1, [&] { return command && self_of(data).start(command) ? 0 : 1; });
  };
  requests_.channel_env_request_function = [](ssh_session, ssh_channel, const char* name,
                                              const char* value, void* data) {
    return shielded<int>(
        1, [&] { return name && value && self_of(data).set_variable(name, value) ? 0 : 1; });
  };
  requests_.channel_subsystem_request_function = [](ssh_session, ssh_channel, const char* name,
                                                    void* data) {
    const bool known = name && std::string_view(name) == "sftp";
    return shielded<int>(1, [&] { return known && self_of(data).start_sftp() ? 0 : 1; });
  };
  ssh_callbacks_init(&requests_);
  ::ssh_add_channel_callbacks(handle(), &requests_);
}

bool SessionChannel::set_variable(std::string_view name, std::string_view value) {
  const std::size_t bytes = name.size() + value.size();
  if (name.empty() || name.find('=') != name.npos || environment_.size() >= environment_max ||
      bytes > environment_max_bytes - environment_bytes_)
    return false;
  environment_bytes_ += bytes;
  environment_[std::string(name)] = value;
  return true;
}

bool SessionChannel::start_sftp() {
  if (live_ || files_) return false;
  files_ =
      std::make_unique<SftpServer>(*sandbox_, folders_, symlink_order_of(client_), saving_.now);
  return true;
}

// `scp -t ...` and `scp -f ...` are the far side of somebody's scp. The sandbox's own shell says
// which words the command has: it knows quotes, globs and ~. What is more than one command is not
// asked for its words: it would run for that.
bool SessionChannel::start_scp(const std::string& command) {
  if (!command.starts_with("scp ") || !is_one_command(command) || terminal_) return false;
  RunOptions options;
  options.script = "scp() { printf '%s\\0' \"$@\"; }; " + command;
  options.timeout = words_patience;
  options.output_limit_bytes = 1 << 20;
  const RunResult result = sandbox_->run(options);
  std::vector<std::string> words;
  std::string_view rest = result.stdout_data;
  for (std::size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  std::optional<ScpOptions> scp = parse_scp(words);
  if (!scp || !rest.empty()) return false;
  files_ = std::make_unique<ScpServer>(*sandbox_, folders_, *std::move(scp));
  return true;
}

bool SessionChannel::start(std::optional<std::string> script) {
  if (live_ || files_) return false;
  if (script && start_scp(*script)) return true;
  LiveRunOptions options;
  // No words are no shell to talk with.
  if (script) options.command.script = script->empty() ? ":" : *std::move(script);
  options.command.environment = environment_;
  for (const auto& [name, value] : connection_variables) options.command.environment[name] = value;
  if (terminal_) {
    options.terminal = terminal_->size;
    options.terminal_type = terminal_->type;
    options.terminal_variable = "SSH_TTY";
  }
  options.command.output = [this](Stream stream, std::string_view data) {
    take_output(stream, data);
  };
  options.on_room = [this] { wake_.set(); };
  options.on_end = [this](const RunResult& result) { take_end(result); };
  live_ = sandbox_->start(std::move(options));
  return true;
}

// On a thread of the sandbox: waits while the client is slow.
void SessionChannel::take_output(Stream stream, std::string_view data) {
  const MutexLock lock(mutex_);
  room_.wait(mutex_, [this]() REQUIRES(mutex_) {
    return closing_ || output_.size_bytes() < output_max_bytes;
  });
  if (closing_) return;
  output_.add(stream, data);
  room_.notify_all();
  wake_.set();
}

void SessionChannel::take_end(const RunResult& result) {
  const MutexLock lock(mutex_);
  end_ = result;
  room_.notify_all();
  wake_.set();
}

bool SessionChannel::owes_input() const noexcept {
  return (live_ || files_) && !terminal_ && !over_ && !lingered();
}

std::uint64_t SessionChannel::own_bytes() const {
  const std::size_t of_files = files_ ? files_->held_bytes() : 0;
  const MutexLock lock(mutex_);
  return environment_bytes_ + inbox_.size() + sending_.size_bytes() + answers_.size() + of_files +
         output_.size_bytes();
}

bool SessionChannel::move() {
  const bool in = pump_input();
  const bool out = client_has_closed() ? drop_output() : pump_output();
  return in || out;
}

bool SessionChannel::pump_input() {
  if (!live_ && !files_) return false;
  bool moved = false;
  // Not for ever: what the client must get, and the other channels, have their turn.
  for (std::size_t turn = 0; turn < turns_max; ++turn) {
    if (files_ && (files_->done() || files_->stalled() || answers_.size() > files_backlog_bytes))
      return moved;
    if (inbox_.empty()) inbox_ = receive();
    if (inbox_.empty()) {
      if (input_ended() && !std::exchange(end_told_, true)) {
        if (live_) live_->close_input();
        if (files_) files_->end_input();
      }
      return moved;
    }
    if (!pass_on_input()) return moved;
    moved = true;
  }
  return moved;
}

// False when there is no room for more of it.
bool SessionChannel::pass_on_input() {
  if (files_) {
    files_->feed(inbox_, answers_);
  } else if (!input_refused_) {
    const Result<std::size_t> taken = live_->write(std::string_view(inbox_).substr(inbox_at_));
    if (taken) {
      saving_.soon();
      inbox_at_ += *taken;
      if (inbox_at_ < inbox_.size()) return false;  // on_room wakes
    } else {
      input_refused_ = true;  // nobody reads it: it is thrown away, as a closed pipe would
    }
  }
  inbox_.clear();
  inbox_at_ = 0;
  return true;
}

bool SessionChannel::pump_output() {
  bool ended = false;
  {
    const MutexLock lock(mutex_);
    if (sending_.empty()) swap(sending_, output_);
    ended = end_ && output_.empty();
    room_.notify_all();
  }
  if (files_ && !files_->done() && answers_.size() < files_backlog_bytes)
    files_->feed({}, answers_);
  bool moved = send(Stream::out, answers_);
  moved =
      sending_.send_by([this](Stream stream, std::string& text) { send(stream, text); }) || moved;
  const bool empty = answers_.empty() && sending_.empty();
  if (ended && empty) return end();
  if (files_ && empty && files_->done()) return end();
  return moved || (files_ && files_->has_more());
}

bool SessionChannel::drop_output() {
  bool moved = !answers_.empty() || !sending_.empty();
  answers_.clear();
  sending_.clear();
  if (files_ && !files_->done()) {
    files_->feed({}, answers_);
    moved = moved || !answers_.empty() || files_->has_more();
  }
  over_ = files_ && files_->done();
  if (live_) {
    const MutexLock lock(mutex_);
    output_.clear();
    over_ = end_.has_value();
    room_.notify_all();
  }
  if (over_ && !saved_) saved_ = saving_.now();
  return moved;
}

// What is not saved the client is told on its standard error, and by the exit status.
bool SessionChannel::end() {
  if (!saved_) {
    saved_ = saving_.now();
    if (!*saved_) {
      sending_.add(Stream::err, fmt::format("cloche: what was done here is not saved: {}\r\n",
                                            errno_info(saved_->error()).message));
      return true;
    }
  }
  finish();
  return true;
}

int SessionChannel::exit_code(int code) const {
  constexpr int not_saved_code = 74;  // EX_IOERR of sysexits.h
  return code == 0 && !*saved_ ? not_saved_code : code;
}

void SessionChannel::finish() {
  send_end_of_file();
  if (files_) {
    ::ssh_channel_request_send_exit_status(handle(), exit_code(files_->exit_code()));
  } else {
    const MutexLock lock(mutex_);
    const bool signaled = end_->status == RunStatus::signaled || end_->status == RunStatus::killed;
    const int number = end_->status == RunStatus::killed ? SIGKILL : end_->signal;
    const char* name = signaled ? name_of_signal(number) : nullptr;
    if (name) {
      ::ssh_channel_request_send_exit_signal(handle(), name, 0, end_->reason.c_str(), "en");
    } else {
      ::ssh_channel_request_send_exit_status(handle(), exit_code(end_->exit_code));
    }
  }
  close();
}

}  // namespace cloche::ssh
