// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/relayed_channel.h"

#include <libssh/server.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace cloche::ssh {
namespace {

RelayedChannel* relayed_of(void* data) { return static_cast<RelayedChannel*>(data); }

// Who writes a byte here and a byte there, and is not read, has no order beyond that.
constexpr std::size_t turns_of_streams_max = 4096;

}  // namespace

FarChannel::FarChannel(ssh_channel handle) : Channel(handle, Errors::kept) {
  told_.userdata = this;
  told_.channel_exit_status_function = [](ssh_session, ssh_channel, int status, void* self) {
    static_cast<FarChannel*>(self)->exit_status_ = status;
  };
  told_.channel_exit_signal_function = [](ssh_session, ssh_channel, const char* name, int,
                                          const char* message, const char*, void* self) {
    static_cast<FarChannel*>(self)->exit_signal_ = {name ? name : "", message ? message : ""};
  };
  ssh_callbacks_init(&told_);
  ::ssh_add_channel_callbacks(handle, &told_);
}

FarChannel::~FarChannel() { ::ssh_remove_channel_callbacks(handle(), &told_); }

void FarChannel::arrived(Stream stream, std::size_t bytes) {
  // One of the last two is of that stream.
  const std::size_t looked_at = order_.size() < turns_of_streams_max ? 1 : 2;
  for (std::size_t i = 1; i <= std::min(order_.size(), looked_at); ++i) {
    auto& [last, count] = order_[order_.size() - i];
    if (last != stream) continue;
    count += bytes;
    return;
  }
  order_.emplace_back(stream, bytes);
}

OrderedOutput FarChannel::receive_all() {
  received_[0] += receive(Stream::out);
  received_[1] += receive(Stream::err);
  OrderedOutput all;
  std::array<std::size_t, 2> at{};
  const auto take = [&](Stream stream, std::size_t most) {
    const std::size_t i = stream == Stream::out ? 0 : 1;
    const std::size_t size = std::min(most, received_[i].size() - at[i]);
    all.add(stream, std::string_view(received_[i]).substr(at[i], size));
    at[i] += size;
    return size;
  };
  // What has come while the other stream was read waits for what came before it.
  while (!order_.empty()) {
    auto& [stream, count] = order_.front();
    count -= take(stream, count);
    if (count > 0) break;
    order_.pop_front();
  }
  // Of a port something may have come before this was there.
  if (order_.empty()) {
    for (const Stream stream : {Stream::out, Stream::err}) (void)take(stream, std::string::npos);
  }
  for (const std::size_t i : {0U, 1U}) received_[i].erase(0, at[i]);
  return all;
}

RelayedChannel::RelayedChannel(ssh_channel near, ssh_channel far, FarSession& session, Kind kind)
    : Channel(near), session_(session), kind_(kind), far_(far) {
  set_callbacks();
}

RelayedChannel::~RelayedChannel() { ::ssh_remove_channel_callbacks(handle(), &requests_); }

// What the client asks of a channel, and gets the other cell's answer to. 0: done; 1: refused.
void RelayedChannel::set_callbacks() {
  requests_.userdata = this;
  requests_.channel_signal_function = [](ssh_session, ssh_channel, const char* name, void* data) {
    if (name) (void)::ssh_channel_request_send_signal(relayed_of(data)->far_.handle(), name);
  };
  requests_.channel_pty_request_function = [](ssh_session, ssh_channel, const char* type,
                                              int columns, int rows, int, int, void* data) {
    RelayedChannel& self = *relayed_of(data);
    const auto ask = [&] {
      return ::ssh_channel_request_pty_size(self.far_.handle(), type ? type : "", columns, rows);
    };
    self.has_terminal_ = self.session_.done(ask);
    return self.has_terminal_ ? 0 : 1;
  };
  requests_.channel_pty_window_change_function = [](ssh_session, ssh_channel, int columns, int rows,
                                                    int, int, void* data) {
    const ssh_channel far = relayed_of(data)->far_.handle();
    return ::ssh_channel_change_pty_size(far, columns, rows) == SSH_OK ? 0 : 1;
  };
  requests_.channel_env_request_function = [](ssh_session, ssh_channel, const char* name,
                                              const char* value, void* data) {
    RelayedChannel& self = *relayed_of(data);
    if (!name || !value) return 1;
    const auto ask = [&] { return ::ssh_channel_request_env(self.far_.handle(), name, value); };
    return self.session_.done(ask) ? 0 : 1;
  };
  requests_.channel_shell_request_function = [](ssh_session, ssh_channel, void* data) {
    RelayedChannel& self = *relayed_of(data);
    const auto ask = [&] { return ::ssh_channel_request_shell(self.far_.handle()); };
    return self.session_.done(ask) ? 0 : 1;
  };
  requests_.channel_exec_request_function = [](ssh_session, ssh_channel, const char* command,
                                               void* data) {
    RelayedChannel& self = *relayed_of(data);
    if (!command) return 1;
    const auto ask = [&] { return ::ssh_channel_request_exec(self.far_.handle(), command); };
    return self.session_.done(ask) ? 0 : 1;
  };
  requests_.channel_subsystem_request_function = [](ssh_session, ssh_channel, const char* name,
                                                    void* data) {
    RelayedChannel& self = *relayed_of(data);
    if (!name) return 1;
    const auto ask = [&] { return ::ssh_channel_request_subsystem(self.far_.handle(), name); };
    return self.session_.done(ask) ? 0 : 1;
  };
  ssh_callbacks_init(&requests_);
  ::ssh_add_channel_callbacks(handle(), &requests_);
}

// A terminal is hung up at once.
bool RelayedChannel::owes_input() const noexcept {
  return !inward_ended_ && (is_forward() || (!has_terminal_ && !lingered()));
}

std::uint64_t RelayedChannel::own_bytes() const {
  return inward_.size() + outward_.size_bytes() + far_.held_bytes();
}

bool RelayedChannel::move() {
  const bool in = move_in();
  const bool out = client_has_closed() ? drop_out() : move_out();
  return in || out;
}

bool RelayedChannel::move_in() {
  bool moved = false;
  if (inward_.empty()) inward_ = receive();
  if (far_.client_has_closed() || session_.is_over()) {
    inward_.clear();  // nobody will read it
  } else if (!inward_.empty()) {
    moved = far_.send(Stream::out, inward_);
  }
  if (input_ended() && inward_.empty() && !inward_ended_) {
    inward_ended_ = true;
    far_.send_end_of_file();
    return true;
  }
  return moved;
}

bool RelayedChannel::move_out() {
  // Before it is read: what comes after the last of it is the end.
  const bool is_over = far_.client_has_closed() || session_.is_over();
  if (outward_.empty()) outward_ = far_.receive_all();
  const bool moved =
      outward_.send_by([this](Stream stream, std::string& text) { send(stream, text); });
  if (moved || !outward_.empty()) return moved;
  if (is_over) {
    finish();
    return true;
  }
  if (far_.input_ended()) send_end_of_file();
  return false;
}

// Nobody takes it any more; who sends it may want to, before it reads what the client has sent.
bool RelayedChannel::drop_out() { return !far_.receive_all().empty(); }

void RelayedChannel::finish() {
  send_end_of_file();
  if (const auto& signal = far_.exit_signal()) {
    ::ssh_channel_request_send_exit_signal(handle(), signal->name.c_str(), 0,
                                           signal->message.c_str(), "en");
  } else if (const auto& status = far_.exit_status()) {
    ::ssh_channel_request_send_exit_status(handle(), *status);
  }
  close();
}

}  // namespace cloche::ssh
