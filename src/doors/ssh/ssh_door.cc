// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/ssh_door.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string_view>

#include "base/host_error.h"
#include "base/thread_name.h"
#include "doors/ssh/connection.h"

namespace cloche::ssh {
namespace {

constexpr std::size_t logins_max = 64;  // at a time

// The address, of IPv6 the network; an address of IPv4 that IPv6 wraps is one.
std::string peer_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    return {reinterpret_cast<const char*>(&in.sin_addr), sizeof in.sin_addr};
  }
  const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
  const std::size_t size = IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) ? sizeof in.sin6_addr : 8;
  return {reinterpret_cast<const char*>(&in.sin6_addr), size};
}

// Whom a socket leads to, as requests by HTTP say it.
std::string address_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return std::string(host.data()) + ":" + port.data();
}

std::uint16_t port_of(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

std::string usual_key_file() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data)
    return std::string(data) + "/cloche/ssh_host_key";
  const char* home = std::getenv("HOME");
  if (!home || !*home)
    throw HostError("there is no HOME to keep the SSH host key in: say --ssh-host-key");
  return std::string(home) + "/.local/share/cloche/ssh_host_key";
}

// A whole key or none: another server may make one at the same time.
void make_key(const std::string& file) {
  ::ssh_init();
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  ssh_key key = nullptr;
  if (::ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) != SSH_OK)
    throw HostError("cannot make an SSH host key");
  const std::string part = file + "." + std::to_string(::getpid());
  const mode_t mask = ::umask(077);
  const int written = ::ssh_pki_export_privkey_file(key, nullptr, nullptr, nullptr, part.c_str());
  ::umask(mask);
  ::ssh_key_free(key);
  if (written != SSH_OK || ::chmod(part.c_str(), 0600) != 0 ||
      (::link(part.c_str(), file.c_str()) != 0 && errno != EEXIST)) {
    ::unlink(part.c_str());
    throw HostError("cannot write the SSH host key " + file +
                    ": name another file by --ssh-host-key");
  }
  ::unlink(part.c_str());
}

}  // namespace

std::string prepare_host_key(const std::string& given) {
  std::string file = given.empty() ? usual_key_file() : given;
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  if (error)
    throw HostError("cannot use the SSH host key " + file + ": " + error.message() +
                        ": name another file by --ssh-host-key",
                    errno_from_host(error.value()));
  if (!is_there) make_key(file);
  return file;
}

SshDoor::SshDoor(Parts parts, const SshOptions& options)
    : parts_(parts),
      password_(options.password),
      most_connections_(options.most_connections),
      held_(std::make_shared<http::ReceivedBytes>(options.held_limit_bytes,
                                                  options.held_limit_bytes / 2)) {
  ::ssh_init();
  const std::string file = prepare_host_key(options.host_key);
  bind_ = ::ssh_bind_new();
  if (!bind_) throw HostError("there is no memory for SSH");
  const bool no_config = false;
  ::ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_PROCESS_CONFIG, &no_config);
  ssh_key key = nullptr;
  const int read = ::ssh_pki_import_privkey_file(file.c_str(), nullptr, nullptr, nullptr, &key);
  // The bind owns the key from here on.
  if (read != SSH_OK || ::ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_IMPORT_KEY, key) != SSH_OK) {
    ::ssh_bind_free(bind_);
    throw HostError("cannot use the SSH host key " + file +
                    ": it is no private key without a passphrase that can be read: name another "
                    "file by --ssh-host-key");
  }
  ::ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_BANNER, "cloche");
}

SshDoor::~SshDoor() {
  stop();
  ::ssh_bind_free(bind_);
}

bool SshDoor::opens(const session::Session& session, const Proof& proof) const {
  return ssh::opens(proof, session.facts(), parts_.tokens, password_);
}

void SshDoor::listen(const std::string& host, std::uint16_t port, Elsewhere* elsewhere) {
  elsewhere_ = elsewhere;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    throw HostError("there is no address " + host);
  listener_.reset(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  const bool bound =
      listener_ && ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
      ::bind(listener_.get(), found->ai_addr, found->ai_addrlen) == 0 &&
      ::listen(listener_.get(), 256) == 0;
  const int error = errno;
  ::freeaddrinfo(found);
  if (!bound)
    throw HostError("cannot listen for SSH on " + host + ":" + std::to_string(port) + ": " +
                        std::generic_category().message(error) + ": say another --ssh-port",
                    errno_from_host(error));
  port_ = port_of(listener_.get());
  stop_listening_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_listening_) throw HostError::from_errno("cannot listen for SSH", errno);
  acceptor_ = std::thread(with_name("cloche-ssh", [this] { accept_all(); }));
}

void SshDoor::accept_all() {
  for (;;) {
    std::array<pollfd, 2> wanted{pollfd{listener_.get(), POLLIN, 0},
                                 pollfd{stop_listening_.get(), POLLIN, 0}};
    if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) return;
    if (wanted[1].revents != 0) return;
    if (wanted[0].revents == 0) continue;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    UniqueFd fd(
        ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC));
    if (!fd) {
      // The host is out of descriptors: that does not get better by asking again at once.
      ::poll(&wanted[1], 1, 50);
      continue;
    }
    const int one = 1;
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    serve(std::move(fd), nullptr, peer_of(address));
  }
}

bool SshDoor::has_room() const {
  const MutexLock lock(mutex_);
  if (ending_idle_) return false;
  return sockets_.size() < most_connections_ ||
         std::ranges::any_of(sockets_, [](const auto& each) { return !each.second.logged_in; });
}

// For one more that has not logged in; under the lock. False where all have logged in.
bool SshDoor::make_room() {
  std::size_t staying = 0;
  std::size_t logins = 0;
  std::map<std::string_view, std::size_t> peers;
  for (const auto& [fd, caller] : sockets_) {
    staying += caller.leaving ? 0 : 1;
    if (caller.logged_in || caller.leaving) continue;
    ++logins;
    ++peers[caller.peer];
  }
  if (staying < most_connections_ && logins < logins_max) return true;
  auto longest = sockets_.end();
  std::size_t its_peers = 0;
  for (auto each = sockets_.begin(); each != sockets_.end(); ++each) {
    const Caller& caller = each->second;
    if (caller.logged_in || caller.leaving) continue;
    const std::size_t count = peers[caller.peer];
    if (count < its_peers || (count == its_peers && caller.number > longest->second.number))
      continue;
    longest = each;
    its_peers = count;
  }
  if (longest == sockets_.end()) return false;
  longest->second.leaving = true;
  ::shutdown(longest->first, SHUT_RDWR);
  return true;
}

std::size_t SshDoor::connections() const {
  const MutexLock lock(mutex_);
  return sockets_.size();
}

void SshDoor::serve(UniqueFd fd, std::shared_ptr<session::Session> session, std::string peer,
                    std::optional<Forwarded> forwarded) {
  const int number = fd.get();
  const MutexLock lock(mutex_);
  // Those that leave are still there for a moment.
  if (stopping_ || ending_idle_ || sockets_.size() >= most_connections_ + logins_max ||
      !make_room())
    return;
  sockets_.emplace(number, Caller{.session_id = session ? session->facts().id : std::string(),
                                  .peer = std::move(peer),
                                  .number = ++last_number_});
  try {
    threads_.start(with_name(
        "cloche-ssh", [this, number, session = std::move(session),
                       forwarded = std::move(forwarded)] { run(number, session, forwarded); }));
    (void)fd.release();
  } catch (const std::exception&) {
    sockets_.erase(number);
  }
}

void SshDoor::run(int fd, std::shared_ptr<session::Session> session,
                  std::optional<Forwarded> forwarded) {
  // libssh closes the one that it is given; this one stays, so that stop() can shut it down.
  UniqueFd kept(fd);
  ssh_session handle = ::ssh_new();
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  bool accepted = false;
  if (handle && own >= 0) {
    const MutexLock bind_lock(bind_mutex_);
    accepted = ::ssh_bind_accept_fd(bind_, handle, own) == SSH_OK;
  }
  if (accepted) {
    const auto chosen = [&](const std::string& id, const std::string& owner) {
      return has_chosen(fd, id, owner);
    };
    const auto stays = [&](std::size_t channels) { return this->stays(fd, channels); };
    const auto tried = [&, by_tunnel = session != nullptr](bool is_good, const std::string& id,
                                                           const std::string& owner) {
      if (!parts_.login) return;
      Login login{.session_id = id, .owner = owner, .is_good = is_good};
      if (!by_tunnel) login.peer = address_of(fd);
      parts_.login(login);
    };
    Elsewhere* const elsewhere = session ? nullptr : elsewhere_;  // a tunnel leads to what is here
    try {
      Connection connection({parts_.sessions, parts_.log, parts_.metrics, parts_.tokens, password_,
                             *folders_, held_, elsewhere, chosen, tried, stays},
                            handle, fd, {std::move(session), std::move(forwarded)});
      connection.run();
    } catch (const std::exception& problem) {
      // The host has no descriptor, thread or memory for it: it ends, and no other.
      parts_.log.event(http::LogLevel::warning, "ssh_failed", {{"reason", problem.what()}});
    }
  } else if (own >= 0) {
    ::close(own);
  }
  if (handle) ::ssh_free(handle);
  // Closed under the lock: the number may be another connection's as soon as it is.
  const MutexLock lock(mutex_);
  sockets_.erase(fd);
  kept.reset();
  ended_.notify_all();
}

void SshDoor::drop(const std::string& session_id) {
  const MutexLock lock(mutex_);
  for (const auto& [fd, caller] : sockets_) {
    if (caller.session_id == session_id) ::shutdown(fd, SHUT_RDWR);
  }
}

void SshDoor::stop_listening() {
  if (!acceptor_.joinable()) return;
  const std::uint64_t one = 1;
  while (::write(stop_listening_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  acceptor_.join();
  listener_.reset();
}

// Told when somebody has logged in; false: the owner has as many as one may have.
bool SshDoor::has_chosen(int fd, const std::string& session_id, const std::string& owner) {
  const MutexLock lock(mutex_);
  const auto held = std::ranges::count_if(sockets_, [&](const auto& each) {
    return each.second.logged_in && each.second.owner == owner;
  });
  const std::size_t share = most_connections_ - most_connections_ / 4;
  if (!owner.empty() && static_cast<std::size_t>(held) >= share) return false;
  Caller& caller = sockets_[fd];
  caller.session_id = session_id;
  caller.owner = owner;
  caller.logged_in = true;
  return true;
}

// Told of how many channels a connection has; false: it must end.
bool SshDoor::stays(int fd, std::size_t channels) {
  const MutexLock lock(mutex_);
  sockets_[fd].channels = channels;
  return !stopping_ && (!ending_idle_ || channels > 0);
}

void SshDoor::end_idle() {
  stop_listening();
  const MutexLock lock(mutex_);
  ending_idle_ = true;
  for (const auto& [fd, caller] : sockets_) {
    if (caller.channels == 0) ::shutdown(fd, SHUT_RDWR);
  }
}

bool SshDoor::wait_until_empty(std::chrono::milliseconds patience) {
  const MutexLock lock(mutex_);
  return ended_.wait_for(mutex_, patience, [this]() REQUIRES(mutex_) { return sockets_.empty(); });
}

void SshDoor::stop() {
  stop_listening();
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& [fd, there] : sockets_) ::shutdown(fd, SHUT_RDWR);
  }
  threads_.wait();
}

}  // namespace cloche::ssh
