// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/channel.h"

#include <algorithm>
#include <utility>

namespace cloche::ssh {
namespace {

// Of one channel: libssh opens windows of 1.25 MiB, and keeps what comes over them.
constexpr std::uint32_t unread_of_channel_max_bytes = 4 << 20;
constexpr std::size_t write_max_bytes = 256 << 10;
constexpr std::size_t early_max_bytes = 64 << 10;

}  // namespace

Channel::Channel(ssh_channel handle, Errors errors) : handle_(handle), errors_(errors) {
  callbacks_.userdata = this;
  callbacks_.channel_close_function = [](ssh_session, ssh_channel, void* self) {
    static_cast<Channel*>(self)->close_is_owed_ = true;
    static_cast<Channel*>(self)->lose_client();
  };
  // Says how much of what waits has been taken: all of what nobody reads, and what is little. Of a
  // connection that has ended libssh gives nothing any more.
  callbacks_.channel_data_function = [](ssh_session, ssh_channel, void* data, std::uint32_t waiting,
                                        int is_stderr, void* self) {
    auto& channel = *static_cast<Channel*>(self);
    if (is_stderr != 0 && channel.errors_ == Errors::thrown_away) return static_cast<int>(waiting);
    std::uint64_t& unread = channel.unread_[is_stderr != 0 ? 1 : 0];
    if (waiting > unread)
      channel.arrived(is_stderr != 0 ? Stream::err : Stream::out, waiting - unread);
    if (is_stderr == 0 && channel.early_.size() + waiting <= early_max_bytes) {
      channel.early_.append(static_cast<const char*>(data), waiting);
      unread = 0;
      return static_cast<int>(waiting);
    }
    unread = waiting;
    if (waiting > unread_of_channel_max_bytes) channel.misused_ = true;
    return 0;
  };
  ssh_callbacks_init(&callbacks_);
  ::ssh_add_channel_callbacks(handle_, &callbacks_);
}

Channel::~Channel() {
  ::ssh_remove_channel_callbacks(handle_, &callbacks_);
  ::ssh_channel_free(handle_);
}

bool Channel::pump() {
  if (done()) return false;
  const bool moved = move();
  // Not before: of one that is closed here libssh gives nothing any more.
  if (input_ended_ && std::exchange(close_is_owed_, false)) (void)::ssh_channel_close(handle_);
  return moved;
}

void Channel::lose_client() {
  if (client_closed_) return;
  client_closed_ = true;
  client_closed_at_ = std::chrono::steady_clock::now();
}

bool Channel::lingered() const noexcept {
  return client_closed_ && std::chrono::steady_clock::now() - client_closed_at_ >= linger_max;
}

std::string Channel::receive(Stream stream) {
  const int is_stderr = stream == Stream::err ? 1 : 0;
  if (is_stderr == 0 && !early_.empty()) return std::exchange(early_, {});
  if (input_ended_ && is_stderr == 0) return {};
  const int waiting = ::ssh_channel_poll(handle_, is_stderr);
  // It may have looked for more.
  if (is_stderr == 0 && !early_.empty()) return std::exchange(early_, {});
  if (waiting <= 0) {
    if (is_stderr == 0)
      input_ended_ = waiting == SSH_EOF || (waiting < 0 && client_closed_) ||
                     (waiting == 0 && ::ssh_channel_is_eof(handle_) != 0);
    return {};
  }
  // All of it: each read opens the window anew, whatever else libssh still keeps.
  std::string text(static_cast<std::size_t>(waiting), '\0');
  const int got = ::ssh_channel_read_nonblocking(handle_, text.data(),
                                                 static_cast<std::uint32_t>(waiting), is_stderr);
  if (got < 0 && client_closed_ && is_stderr == 0) input_ended_ = true;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::uint64_t& unread = unread_[static_cast<std::size_t>(is_stderr)];
  unread -= std::min<std::uint64_t>(unread, text.size());
  return text;
}

bool Channel::send(Stream stream, std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    // libssh keeps whatever it is given: not before the socket has taken the last of it.
    if ((::ssh_get_status(::ssh_channel_get_session(handle_)) & SSH_WRITE_PENDING) != 0) break;
    const std::uint32_t window = ::ssh_channel_window_size(handle_);
    if (window == 0) break;
    const auto size = static_cast<std::uint32_t>(
        std::min<std::size_t>({text.size() - at, window, write_max_bytes}));
    const int sent = stream == Stream::out
                         ? ::ssh_channel_write(handle_, text.data() + at, size)
                         : ::ssh_channel_write_stderr(handle_, text.data() + at, size);
    if (sent <= 0) break;
    at += static_cast<std::size_t>(sent);
  }
  text.erase(0, at);
  return at > 0;
}

void Channel::send_end_of_file() {
  if (end_of_file_sent_) return;
  end_of_file_sent_ = true;
  ::ssh_channel_send_eof(handle_);
}

void Channel::close() {
  send_end_of_file();
  ::ssh_channel_close(handle_);
  closed_ = true;
}

}  // namespace cloche::ssh
