// SPDX-License-Identifier: Apache-2.0
#include "cluster/ask.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace cloche::cluster {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

int poll_ms(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// One question on its way.
struct Talk {
  UniqueFd fd;  // none: it is over
  std::string_view unsent;
  std::string got;
  bool ended = false;  // the peer has said all
};

// Sends and receives what can be without waiting.
void move_on(Talk& talk, std::uint64_t max_bytes) {
  while (!talk.unsent.empty()) {
    const ssize_t sent =
        ::send(talk.fd.get(), talk.unsent.data(), talk.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return talk.fd.reset();
    talk.unsent.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::array<char, 16384> piece{};
  for (;;) {
    const ssize_t count = ::recv(talk.fd.get(), piece.data(), piece.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      talk.ended = count == 0;
      return talk.fd.reset();
    }
    talk.got.append(piece.data(), static_cast<std::size_t>(count));
    if (talk.got.size() > max_bytes) return talk.fd.reset();
  }
}

// Of an answer's first line; nothing where it is none.
std::optional<int> status_of(std::string_view head) {
  static constexpr std::string_view version = "HTTP/1.1 ";
  constexpr std::size_t digits = 3;
  if (!head.starts_with(version) || head.size() < version.size() + digits) return std::nullopt;
  const char* begin = head.data() + version.size();
  int status = 0;
  const auto [end, error] = std::from_chars(begin, begin + digits, status);
  if (error != std::errc() || end != begin + digits || status < 200) return std::nullopt;
  return status;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::optional<http::Response>> talk_to_all(std::vector<Talk> talks, SteadyTime deadline,
                                                       std::uint64_t answer_max_bytes) {
  for (;;) {
    std::vector<pollfd> wanted;
    std::vector<Talk*> of;
    for (Talk& talk : talks) {
      if (!talk.fd) continue;
      const short events = talk.unsent.empty() ? POLLIN : POLLOUT;
      wanted.push_back({talk.fd.get(), events, 0});
      of.push_back(&talk);
    }
    if (wanted.empty()) break;
    const int ready = ::poll(wanted.data(), wanted.size(), poll_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].revents != 0) move_on(*of[i], answer_max_bytes);
    }
  }
  std::vector<std::optional<http::Response>> answers;
  answers.reserve(talks.size());
  for (Talk& talk : talks)
    answers.push_back(talk.ended ? parse_answer(std::move(talk.got)) : std::nullopt);
  return answers;
}

// The status and the fields of what begins with a head.
std::optional<http::Response> parse_head(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  const std::optional<int> status =
      end == text.npos ? std::nullopt : status_of(text.substr(0, end));
  if (!status) return std::nullopt;
  http::Response answer;
  answer.status = *status;
  std::string_view head = text.substr(0, end + 2);
  for (head.remove_prefix(head.find("\r\n") + 2); !head.empty();
       head.remove_prefix(head.find("\r\n") + 2)) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return std::nullopt;
    answer.fields.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return answer;
}

}  // namespace

std::vector<std::optional<http::Response>> ask_all(const PeerWire& wire,
                                                   std::span<const Question> questions,
                                                   SteadyTime deadline,
                                                   std::uint64_t answer_max_bytes) {
  std::vector<Talk> talks;
  talks.reserve(questions.size());
  for (const Question& question : questions)
    talks.push_back({wire.begin(question.address), question.text, {}, false});
  return talk_to_all(std::move(talks), deadline, answer_max_bytes);
}

std::vector<std::optional<http::Response>> ask_connected(std::vector<UniqueFd> connections,
                                                         std::string_view text, SteadyTime deadline,
                                                         std::uint64_t answer_max_bytes) {
  std::vector<Talk> talks;
  talks.reserve(connections.size());
  for (UniqueFd& connection : connections)
    talks.push_back({std::move(connection), text, {}, false});
  return talk_to_all(std::move(talks), deadline, answer_max_bytes);
}

std::optional<http::Response> parse_answer(std::string text) {
  std::optional<http::Response> answer = parse_head(text);
  if (!answer) return std::nullopt;
  std::optional<std::size_t> length;
  for (const auto& [name, value] : answer->fields) {
    if (!http::same_text(name, "Content-Length")) continue;
    std::size_t number = 0;
    const auto [last, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (problem != std::errc() || last != value.data() + value.size()) return std::nullopt;
    length = number;
  }
  std::erase_if(answer->fields,
                [](const auto& field) { return http::same_text(field.first, "Content-Length"); });
  answer->body = text.substr(text.find("\r\n\r\n") + 4);
  if (!length || answer->body.size() != *length) return std::nullopt;
  return answer;
}

std::optional<http::Response> read_head(int fd, SteadyTime deadline) {
  constexpr std::size_t head_max_bytes = 16 << 10;
  std::string head;
  std::array<char, 4096> piece{};
  while (head.find("\r\n\r\n") == head.npos) {
    const ssize_t count = ::recv(fd, piece.data(), piece.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd wanted{fd, POLLIN, 0};
      if (::poll(&wanted, 1, poll_ms(deadline)) == 0) return std::nullopt;
      continue;
    }
    if (count <= 0 || head.size() > head_max_bytes) return std::nullopt;
    head.append(piece.data(), static_cast<std::size_t>(count));
  }
  return parse_head(head);
}

void leave_out_server_fields(http::Response& answer) {
  std::erase_if(answer.fields, [](const auto& field) {
    return http::same_text(field.first, "Connection") || http::same_text(field.first, "Date") ||
           http::same_text(field.first, "Server");
  });
}

bool finish_connect(int fd, SteadyTime deadline) {
  pollfd wanted{fd, POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&wanted, 1, poll_ms(deadline));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

bool send_all(int fd, std::string_view text, SteadyTime deadline) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !finish_connect(fd, deadline)) return false;
  }
  return true;
}

}  // namespace cloche::cluster
