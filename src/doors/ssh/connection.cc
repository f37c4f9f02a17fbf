// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "base/unique_fd.h"
#include "doors/http/lost_peer.h"
#include "doors/ssh/forward_channel.h"
#include "doors/ssh/proof.h"
#include "doors/ssh/session_channel.h"
#include "doors/ssh/shielded.h"

namespace cloche::ssh {
namespace {

constexpr std::chrono::seconds exchange_patience{15};
constexpr std::chrono::seconds login_patience{60};
constexpr int flush_patience_ms = 2000;
constexpr int failures_max = 6;
// A browser holds many connections to a port that is forwarded, each of which costs little.
constexpr std::size_t sessions_max = 32;
constexpr std::size_t forwards_max = 128;
// How often what waits for time to pass is looked at.
constexpr int linger_look_ms = 100;
constexpr std::uint64_t unread_max_bytes = 8 << 20;
constexpr std::string_view user_name = "sandbox";
constexpr const char* away_sentence =
    "The server that has this session does not answer: try again.\r\n";
constexpr const char* name_sentence =
    "No session is named: log in as sandbox+ID, by the id of one.\r\n";
constexpr const char* tunnel_name_sentence = "This is a session: log in as sandbox.\r\n";

struct FreeString {
  void operator()(ssh_string text) const { ::ssh_string_free(text); }
};

struct FreeEvent {
  void operator()(ssh_event event) const { ::ssh_event_free(event); }
};

Connection& self_of(void* data) { return *static_cast<Connection*>(data); }

// Takes for a moment what the client still sends. Otherwise the kernel resets the connection, and
// the client, whose writing fails, ends before it has read why.
void let_read(const UniqueFd& socket) {
  constexpr std::chrono::milliseconds patience{500};
  (void)::shutdown(socket.get(), SHUT_WR);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::array<char, 4096> unread;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{socket.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return;
    if (::recv(socket.get(), unread.data(), unread.size(), 0) <= 0) return;
  }
}

}  // namespace

Connection::Connection(Parts parts, ssh_session handle, int socket, Target target)
    : parts_(std::move(parts)),
      handle_(handle),
      socket_(socket),
      by_tunnel_(target.session != nullptr),
      forwarded_(std::move(target.forwarded)),
      session_(std::move(target.session)),
      session_id_(session_ ? session_->facts().id : std::string()) {
  http::notice_lost_peer(socket_);
  // libssh writes once the socket has room, and then as much as it has: a client that does not read
  // would hold this thread.
  (void)::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
  ::ssh_set_counters(handle_, &socket_bytes_, &packets_);
}

Connection::~Connection() {
  channels_.clear();
  ::ssh_set_counters(handle_, nullptr, nullptr);
}

void Connection::run() {
  callbacks_.userdata = this;
  callbacks_.auth_password_function = [](ssh_session, const char* user, const char* password,
                                         void* data) {
    return shielded<int>(SSH_AUTH_DENIED,
                         [&] { return self_of(data).check_password(user, password); });
  };
  callbacks_.auth_none_function = [](ssh_session, const char* user, void* data) {
    return shielded<int>(SSH_AUTH_DENIED, [&] { return self_of(data).check_nothing(user); });
  };
  // Answered as libssh does it without it: it is looked at only so that the next one is known to be
  // the next.
  callbacks_.service_request_function = [](ssh_session, const char*, void* data) {
    self_of(data).note_packet();
    return 0;
  };
  callbacks_.auth_pubkey_function = [](ssh_session, const char* user, ssh_key_struct* key,
                                       char state, void* data) {
    return shielded<int>(SSH_AUTH_DENIED,
                         [&] { return self_of(data).check_key(user, key, state); });
  };
  callbacks_.channel_open_request_session_function = [](ssh_session, void* data) {
    return shielded<ssh_channel>(nullptr, [&] { return self_of(data).open_session_channel(); });
  };
  ssh_callbacks_init(&callbacks_);
  ::ssh_set_server_callbacks(handle_, &callbacks_);
  ::ssh_set_auth_methods(handle_, SSH_AUTH_METHOD_PASSWORD | SSH_AUTH_METHOD_PUBLICKEY);
  ::ssh_set_message_callback(
      handle_,
      [](ssh_session, ssh_message message, void* data) {
        return shielded<int>(1, [&] { return self_of(data).open_forward(message); });
      },
      this);
  // What is small on the way may be large here. To libssh "no" is a preference alone.
  ::ssh_options_set(handle_, SSH_OPTIONS_COMPRESSION_C_S, "none");
  ::ssh_options_set(handle_, SSH_OPTIONS_COMPRESSION_S_C, "none");
  const long patience_s = exchange_patience.count();
  ::ssh_options_set(handle_, SSH_OPTIONS_TIMEOUT, &patience_s);
  const bool exchanged = ::ssh_handle_key_exchange(handle_) == SSH_OK;
  std::unique_ptr<ssh_event_struct, FreeEvent> event(exchanged ? ::ssh_event_new() : nullptr);
  bool logged_in = false;
  if (event) {
    ::ssh_set_blocking(handle_, 0);
    if (::ssh_event_add_session(event.get(), handle_) == SSH_OK) {
      logged_in = log_in(event.get());
      parts_.tried(logged_in, session_id_, owner());
      if (logged_in) serve(event.get());
      channels_.clear();
      ::ssh_event_remove_session(event.get(), handle_);
    }
    event.reset();
  }
  parts_.metrics.count("cloche_ssh_connections_total",
                       logged_in ? R"(login="yes")" : R"(login="no")");
  const std::string why = logged_in ? why_ended() : std::string();
  if (!why.empty()) ::ssh_session_set_disconnect_message(handle_, why.c_str());
  const UniqueFd socket(why.empty() ? -1 : ::fcntl(::ssh_get_fd(handle_), F_DUPFD_CLOEXEC, 0));
  ::ssh_disconnect(handle_);
  if (socket) let_read(socket);
}

bool Connection::log_in(ssh_event event) {
  const auto deadline = std::chrono::steady_clock::now() + login_patience;
  while (!authenticated_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || failures_ >= failures_max) return false;
    if (::ssh_event_dopoll(event, static_cast<int>(left.count())) == SSH_ERROR) return false;
    if (is_closed()) return false;
  }
  return true;
}

void Connection::serve(ssh_event event) {
  if (!parts_.chosen(session_id_, owner())) return;
  held_.emplace(parts_.held, owner());
  parts_.log.event(http::LogLevel::info, "ssh_opened", {{"session_id", session_id_}});
  ::ssh_event_add_fd(
      event, wake_.fd(), POLLIN,
      [](socket_t, int, void* data) {
        static_cast<const Wake*>(data)->clear();
        return SSH_OK;
      },
      &wake_);
  bool moved = true;  // the session may have ended meanwhile
  bool misused = false;
  std::size_t told_channels = 0;
  // Channels read and write, and so may find the socket closed: it is not polled any more then, and
  // would not wake this.
  while (!misused && !is_closed()) {
    // What moved may have made room for more.
    if (!poll_once(event, moved) || is_closed() || has_ended()) break;
    const std::uint64_t unread = unread_bytes();
    moved = pump_channels();
    misused = this->misused(unread);
    if (session_) session_->touch();
    if (told_channels == channels_.size()) continue;
    told_channels = channels_.size();
    if (parts_.stays(told_channels)) continue;
    ::ssh_blocking_flush(handle_, flush_patience_ms);  // what the last channel has said
    break;
  }
  ::ssh_event_remove_fd(event, wake_.fd());
  if (!misused && is_closed()) linger();
  parts_.log.event(http::LogLevel::info, "ssh_closed",
                   {{"session_id", session_id_},
                    {"reason", misused ? "the client breaks the protocol's limits" : "ended"}});
}

// True when something moved. Those that are done are gone then.
bool Connection::pump_channels() {
  // One channel's look for more may bring what is another's.
  const auto come = [this] { return packets_.in_packets + (far_ ? far_->packets() : 0); };
  const std::uint64_t before = come();
  bool moved = false;
  for (const auto& channel : channels_) moved = channel->pump() || moved;
  moved = moved || come() != before;
  std::erase_if(channels_,
                [](const auto& channel) { return channel->done() && !channel->misused(); });
  return moved;
}

// Whether the client keeps to no limits, or has with what is its owner's more here than there may be.
bool Connection::misused(std::uint64_t unread) {
  std::uint64_t held = unread;
  for (const auto& channel : channels_) {
    if (channel->misused()) return true;
    held += channel->held_bytes();
  }
  return unread > unread_max_bytes || !held_->fit_to(held);
}

// Whose the session is; empty: nobody's, or that is not known.
std::string Connection::owner() const { return session_ ? session_->facts().owner : far_owner_; }

// The client has gone: what it has sent arrives, and what it has started has a while to end.
void Connection::linger() {
  const auto deadline = std::chrono::steady_clock::now() + Channel::linger_max;
  for (const auto& channel : channels_) channel->lose_client();
  for (;;) {
    const bool moved = pump_channels();
    if (channels_.empty() || std::chrono::steady_clock::now() >= deadline) break;
    if (!parts_.stays(channels_.size())) return;
    if (session_ && session_->status() != session::Status::running) return;
    if (moved) continue;
    std::array<pollfd, 2> wanted{pollfd{wake_.fd(), POLLIN, 0}, pollfd{-1, 0, 0}};
    if (far_ && !far_->is_over()) wanted[1] = {far_->fd(), far_->wanted_events(), 0};
    if (::poll(wanted.data(), wanted.size(), linger_look_ms) < 0 && errno != EINTR) return;
    wake_.clear();
    if (far_) far_->turn();
  }
  if (far_) ::ssh_blocking_flush(far_->handle(), flush_patience_ms);
}

// Waits for something, but where something has moved. False: it cannot be waited for.
bool Connection::poll_once(ssh_event event, bool moved) {
  const bool lingers =
      std::ranges::any_of(channels_, [](const auto& channel) { return channel->lingers(); });
  const int patience_ms = moved ? 0 : lingers ? linger_look_ms : -1;
  if (!far_) return ::ssh_event_dopoll(event, patience_ms) != SSH_ERROR;
  const int fd = far_->fd();
  // Where that has ended its channels have something to say at most, and do not wait.
  const bool is_over = far_->is_over();
  if (!is_over) {
    ::ssh_event_add_fd(
        event, fd, far_->wanted_events(), [](socket_t, int, void*) { return SSH_OK; }, this);
  }
  const bool polled = ::ssh_event_dopoll(event, patience_ms) != SSH_ERROR;
  if (!is_over) ::ssh_event_remove_fd(event, fd);
  far_->turn();
  return polled;
}

// Whether there is nothing to be connected to any more.
bool Connection::has_ended() {
  if (session_) return session_->status() != session::Status::running;
  if (!far_->is_over() || !channels_.empty()) return false;
  ::ssh_blocking_flush(handle_, flush_patience_ms);  // what the last channel has said
  return true;
}

// What a client hears with the end, one sentence; empty: nothing but that.
std::string Connection::why_ended() const {
  if (far_) {
    const char* const said = ::ssh_get_disconnect_message(far_->handle());
    return said ? said : "";
  }
  switch (session_->status()) {
    case session::Status::failed: return session_->trouble();
    case session::Status::paused: return "the session is paused: resume it first";
    case session::Status::closed: return "the session has ended";
    case session::Status::running: break;
  }
  return {};
}

bool Connection::is_closed() const {
  return ::ssh_is_connected(handle_) == 0 ||
         (::ssh_get_status(handle_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0;
}

// What libssh keeps for a client that does not read: at least that much. Each packet goes out with
// a length, a padding of four bytes or more, and a tag.
std::uint64_t Connection::unread_bytes() {
  constexpr std::uint64_t around_packet = 9;
  const std::uint64_t said = packets_.out_bytes + around_packet * packets_.out_packets;
  const std::uint64_t sent = socket_bytes_.out_bytes;
  if ((::ssh_get_status(handle_) & SSH_WRITE_PENDING) == 0) all_sent_ = {said, sent};
  const std::uint64_t said_since = said - all_sent_.said;
  const std::uint64_t sent_since = sent - all_sent_.sent;
  return said_since > sent_since ? said_since - sent_since : 0;
}

// By a tunnel the session is known, and the user is `sandbox`; otherwise the name has the session's
// id. False: there is none of that name here, nor anywhere as far as is known here; or somebody has
// logged in, and stays where that was.
bool Connection::choose_session(const char* user) {
  if (authenticated_) return false;
  const std::string_view name = user ? user : "";
  if (by_tunnel_) {
    if (name != user_name) tell(tunnel_name_sentence);
    return name == user_name;
  }
  static constexpr std::string_view prefix = "sandbox+";
  session_.reset();
  session_id_.clear();
  if (!name.starts_with(prefix)) {
    tell(name_sentence);
    return false;
  }
  const std::string_view id = name.substr(prefix.size());
  session_ = parts_.sessions.find_any(id);
  if (!session_ && !(parts_.elsewhere && parts_.sessions.other_cell(id))) return false;
  session_id_ = id;
  return true;
}

void Connection::note_packet() { noted_ = packets_; }

// libssh gives strings that end at the first NUL: a name or a password that goes on behind one is
// another. By what came for this request alone; where other packets came with it, that is not known.
bool Connection::came_whole(std::string_view user, std::string_view password) const {
  if (packets_.in_packets != noted_.in_packets + 1) return true;
  // RFC 4252, section 8: a byte, three strings, a boolean, a string.
  constexpr std::size_t around = 1 + 4 + 4 + std::string_view("ssh-connection").size() + 4 +
                                 std::string_view("password").size() + 1 + 4;
  return packets_.in_bytes - noted_.in_bytes == around + user.size() + password.size();
}

// Enough where the login has been at another cell.
int Connection::check_nothing(const char* user) {
  note_packet();
  if (!forwarded_ || !choose_session(user)) return SSH_AUTH_DENIED;
  authenticated_ = true;
  return SSH_AUTH_SUCCESS;
}

int Connection::check_password(const char* user, const char* password) {
  if (failures_ >= failures_max) return SSH_AUTH_DENIED;
  const std::string_view given = password ? password : "";
  const bool whole = came_whole(user ? user : "", given);
  note_packet();
  if (!whole || !choose_session(user)) {
    ++failures_;
    return SSH_AUTH_DENIED;
  }
  return try_proof({Proof::Kind::password, std::string(given)}, Stage::shown);
}

int Connection::check_key(const char* user, ssh_key key, char state) {
  note_packet();
  if (failures_ >= failures_max) return SSH_AUTH_DENIED;
  const bool is_question = state == SSH_PUBLICKEY_STATE_NONE;  // "would it do?"
  if (!choose_session(user) || (!is_question && state != SSH_PUBLICKEY_STATE_VALID)) {
    ++failures_;
    return SSH_AUTH_DENIED;
  }
  return try_proof(proof_of_key(key), is_question ? Stage::asked : Stage::shown);
}

int Connection::try_proof(const Proof& proof, Stage stage) {
  const bool good = session_ ? opens(proof, session_->facts(), parts_.tokens, parts_.password)
                             : opens_elsewhere(proof, stage);
  if (!good) {
    ++failures_;
    return SSH_AUTH_DENIED;
  }
  authenticated_ = stage == Stage::shown;
  return SSH_AUTH_SUCCESS;
}

bool Connection::opens_elsewhere(const Proof& proof, Stage stage) {
  using Verdict = Elsewhere::Verdict;
  auto verdict = Verdict::refused;
  if (stage == Stage::asked) {
    verdict = parts_.elsewhere->judge(session_id_, proof);
  } else {
    const char* client = ::ssh_get_clientbanner(handle_);
    Elsewhere::Opened opened = parts_.elsewhere->open(session_id_, proof, client ? client : "");
    verdict = opened.verdict;
    far_owner_ = std::move(opened.owner);
    if (verdict == Verdict::opens) far_ = FarSession::open(std::move(opened.tunnel), socket_);
    if (verdict == Verdict::opens && !far_) verdict = Verdict::away;
  }
  if (verdict == Verdict::none) session_id_.clear();
  if (verdict == Verdict::away) tell(away_sentence);
  return verdict == Verdict::opens;
}

// As a banner, which clients show; each sentence once.
void Connection::tell(const char* sentence) {
  if (told_ == sentence) return;
  told_ = sentence;
  const std::unique_ptr<ssh_string_struct, FreeString> text(::ssh_string_from_char(sentence));
  if (text) ::ssh_send_issue_banner(handle_, text.get());
}

// For one more of that kind. One that is done may be there for a moment yet, and takes no place.
bool Connection::has_room(bool for_forward) const {
  const auto there = std::ranges::count_if(channels_, [for_forward](const auto& channel) {
    return channel->is_forward() == for_forward && !channel->done();
  });
  return static_cast<std::size_t>(there) < (for_forward ? forwards_max : sessions_max);
}

ssh_channel Connection::open_session_channel() {
  if (!authenticated_ || !has_room(false)) return nullptr;
  if (far_) {
    return open_relayed(RelayedChannel::Kind::session,
                        [](ssh_channel far) { return ::ssh_channel_open_session(far); });
  }
  session::Session::Use use = session::Session::use(session_);
  if (!use) return nullptr;
  ssh_channel channel = ::ssh_channel_new(handle_);
  if (!channel) return nullptr;
  channels_.push_back(
      std::make_unique<SessionChannel>(channel, std::move(use), wake_, client_name(),
                                       Saving{[this] { return parts_.sessions.save(session_); },
                                              [this] { parts_.sessions.save_soon(session_); }},
                                       FoldersOfOwner(parts_.folders, owner())));
  return channel;
}

std::string Connection::client_name() const {
  if (forwarded_) return forwarded_->client;
  const char* name = ::ssh_get_clientbanner(handle_);
  return name ? name : "";
}

// A channel of the client's, once the other cell has opened its end; or null.
ssh_channel Connection::open_relayed(RelayedChannel::Kind kind,
                                     const std::function<int(ssh_channel far)>& open) {
  ssh_channel far = far_->is_over() ? nullptr : ::ssh_channel_new(far_->handle());
  if (!far) return nullptr;
  ssh_channel near = far_->done([&] { return open(far); }) ? ::ssh_channel_new(handle_) : nullptr;
  if (!near) {
    ::ssh_channel_free(far);
    return nullptr;
  }
  channels_.push_back(std::make_unique<RelayedChannel>(near, far, *far_, kind));
  return near;
}

// 0: answered here; 1: libssh says no.
int Connection::open_forward(ssh_message message) {
  if (::ssh_message_type(message) != SSH_REQUEST_CHANNEL_OPEN ||
      ::ssh_message_subtype(message) != SSH_CHANNEL_DIRECT_TCPIP)
    return 1;
  const char* host = ::ssh_message_channel_request_open_destination(message);
  const int port = ::ssh_message_channel_request_open_destination_port(message);
  const std::string_view name = host ? host : "";
  const bool own = name == "localhost" || name == "127.0.0.1" || name == "::1" || name == "cloche";
  if (!authenticated_ || !own || port < 1 || port > 65535 || !has_room(true)) return 1;
  if (far_) {
    ssh_channel near = open_relayed(RelayedChannel::Kind::forward, [&](ssh_channel far) {
      return ::ssh_channel_open_forward(far, host, port, "localhost", 0);
    });
    return near && ::ssh_message_channel_request_open_reply_accept_channel(message, near) == SSH_OK
               ? 0
               : 1;
  }
  session::Session::Use use = session::Session::use(session_);
  if (!use) return 1;
  ssh_channel channel = ::ssh_channel_new(handle_);
  if (!channel) return 1;
  auto forwarded = std::make_unique<ForwardChannel>(channel, std::move(use), wake_);
  // Connected before the client is told so.
  if (!forwarded->connect(static_cast<std::uint16_t>(port)) ||
      ::ssh_message_channel_request_open_reply_accept_channel(message, channel) != SSH_OK)
    return 1;
  channels_.push_back(std::move(forwarded));
  return 0;
}

}  // namespace cloche::ssh
