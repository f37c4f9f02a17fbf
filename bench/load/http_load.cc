// SPDX-License-Identifier: Apache-2.0
// http_load: clients of a step server, all in one thread, that cost the machine as little as can
// be: client and server share it, and the server is what is measured (bench/sessions.py).
//
//   http_load PORT CLIENTS SECONDS TYPE SOURCE steps|lives
//
// Each client keeps its connection. `steps`: a session each, and steps in it, one after the other;
// `lives`: a session, a step, the end of the session, over and over. After half a second it prints
// "ready" and waits for a line; then it measures, and prints the count of what was done and the
// seconds that it took. An answer that is not as expected ends it with status 1.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + "\"";
}

std::string request(std::string_view method, const std::string& path, const std::string& body) {
  return std::string(method) + " " + path +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct Plan {
  std::uint16_t port = 0;
  std::string type;
  std::string source;
  bool lives = false;
};

class Client {
 public:
  explicit Client(const Plan& plan) : plan_(plan), fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(plan.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
    const int on = 1;
    (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    begin();
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int fd() const { return fd_; }
  std::size_t done() const { return done_; }

  // Reads what is there; where that is an answer, asks the next thing.
  void go_on() {
    std::array<char, 16384> piece;
    const ssize_t got = ::recv(fd_, piece.data(), piece.size(), 0);
    if (got <= 0) throw std::runtime_error("the server closed a connection");
    got_.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end = got_.find("\r\n\r\n");
    if (end == std::string::npos) return;
    const std::size_t size = content_length(std::string_view(got_).substr(0, end));
    if (got_.size() < end + 4 + size) return;
    const std::string body = got_.substr(end + 4, size);
    got_.erase(0, end + 4 + size);
    answered(body);
  }

 private:
  enum class State { create, step, remove };

  static std::size_t content_length(std::string_view head) {
    static constexpr std::string_view name = "content-length:";
    for (std::size_t at = 0; at + name.size() < head.size(); ++at) {
      std::size_t same = 0;
      while (same < name.size() && std::tolower(head[at + same]) == name[same]) ++same;
      if (same == name.size())
        return std::strtoul(std::string(head.substr(at + same)).c_str(), nullptr, 10);
    }
    return 0;
  }

  void send(const std::string& text) {
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("cannot send");
  }

  void begin() {
    state_ = State::create;
    send(request("POST", "/sessions", ""));
  }

  void answered(const std::string& body) {
    if (state_ == State::create) {
      const std::size_t mark = body.rfind("\":\"");
      if (mark == std::string::npos) throw std::runtime_error("no session: " + body);
      const std::string id = body.substr(mark + 3, 36);
      path_ = "/sessions/" + id;
      step_ = request("POST", path_ + "/step",
                      R"({"sandbox_id":")" + id + R"(","type":")" + plan_.type +
                          R"(","payload":{")" + (plan_.type == "bash" ? "cmd" : "code") +
                          "\":" + json_text(plan_.source) + "}}");
      state_ = State::step;
      send(step_);
    } else if (state_ == State::step) {
      if (!body.ends_with("\"exit_code\":0}")) throw std::runtime_error("a step failed: " + body);
      if (plan_.lives) {
        state_ = State::remove;
        send(request("DELETE", path_, ""));
      } else {
        ++done_;
        send(step_);
      }
    } else {
      ++done_;
      begin();
    }
  }

  const Plan& plan_;
  const int fd_;
  std::string got_;
  State state_ = State::create;
  std::string path_;
  std::string step_;
  std::size_t done_ = 0;
};

void serve(int poll, Clock::time_point until) {
  std::array<epoll_event, 64> events;
  while (Clock::now() < until) {
    const int count = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), 100);
    for (int i = 0; i < count; ++i)
      static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr)->go_on();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) {
    std::fputs("usage: http_load PORT CLIENTS SECONDS bash|python SOURCE steps|lives\n", stderr);
    return 2;
  }
  const Plan plan{static_cast<std::uint16_t>(std::atoi(argv[1])), argv[4], argv[5],
                  std::string_view(argv[6]) == "lives"};
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    clients.push_back(std::make_unique<Client>(plan));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = clients.back().get()}};
    if (::epoll_ctl(poll, EPOLL_CTL_ADD, clients.back()->fd(), &event) != 0)
      throw std::runtime_error("cannot poll");
  }
  const auto done = [&] {
    std::size_t sum = 0;
    for (const auto& client : clients) sum += client->done();
    return sum;
  };
  serve(poll, Clock::now() + std::chrono::milliseconds(500));  // what is made once
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 1;
  const std::size_t before = done();
  const auto start = Clock::now();
  serve(poll, start + std::chrono::duration_cast<Clock::duration>(
                          std::chrono::duration<double>(std::atof(argv[3]))));
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%zu %.6f\n", done() - before, seconds);
  ::close(poll);
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "http_load: %s\n", problem.what());
  return 1;
}
