// SPDX-License-Identifier: Apache-2.0
// A server whose clients each get a shell in a sandbox of their own: connect with `nc localhost PORT`.
//
//   server [PORT [CLIENTS]]     0, the usual: any free port; it ends after so many clients (never)
//
// One thread for each client; a real server would use poll, as LiveRun's callbacks are made for it.
#include <arpa/inet.h>
#include <cloche/engine.h>
#include <cloche/live_run.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>
#include <vector>

namespace {

bool send_all(int client, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = ::send(client, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void serve(cloche::Engine& engine, int client) {
  const auto sandbox = engine.create({.memory_limit_bytes = 256 << 20});
  cloche::LiveRunOptions options;
  options.command.script = "bash";
  options.command.output = [client](cloche::Stream, std::string_view data) {
    (void)send_all(client, data);
  };
  // Whoever waits for the client's next line is woken when the shell has ended.
  options.on_end = [client](const cloche::RunResult&) { ::shutdown(client, SHUT_RDWR); };
  const auto shell = sandbox->start(std::move(options));
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = ::recv(client, piece.data(), piece.size(), 0);
    if (got <= 0) break;
    if (!shell->write_all({piece.data(), static_cast<std::size_t>(got)})) break;
  }
  shell->close_input();
  const cloche::RunResult end = shell->wait();
  std::cout << "a client has left: exit code " << end.exit_code << std::endl;
  ::close(client);
}

int listen_on(std::uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 16) != 0)
    return -1;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::cout << "listening on port " << ntohs(address.sin_port) << std::endl;
  return listener;
}

}  // namespace

int main(int argc, char** argv) try {
  cloche::Engine engine({});
  const int listener = listen_on(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0));
  if (listener < 0) {
    std::cerr << "cannot listen: another program has the port\n";
    return 2;
  }
  const int clients = argc > 2 ? std::atoi(argv[2]) : -1;
  std::vector<std::jthread> threads;
  for (int served = 0; served != clients; ++served) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) break;
    threads.emplace_back([&engine, client] { serve(engine, client); });
  }
  ::close(listener);
  threads.clear();  // waits for them
  return 0;
} catch (const cloche::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
