// SPDX-License-Identifier: Apache-2.0
#include "doors/telemetry/span_exporter.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/backoff.h"
#include "base/json_lookup.h"
#include "base/thread_name.h"
#include "cluster/ask.h"

namespace cloche::telemetry {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t attempts_max = 4;
constexpr std::chrono::milliseconds longest_pause{5000};
constexpr std::chrono::seconds ending_patience{2};
constexpr std::size_t answer_max_bytes = 64 << 10;

// What it says until it has said all, or there is no more time.
std::string read_answer(int fd, SteadyTime deadline) {
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < answer_max_bytes) {
    const ssize_t count = ::recv(fd, piece.data(), piece.size(), 0);
    if (count > 0) {
      text.append(piece.data(), static_cast<std::size_t>(count));
      continue;
    }
    if (count == 0) break;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) break;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wanted{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wanted, 1, static_cast<int>(left.count())) == 0) break;
  }
  return text;
}

// 0: it is no answer.
int status_of(std::string_view answer) {
  static constexpr std::string_view version = "HTTP/1.";
  constexpr std::size_t digits_at = version.size() + 2;
  int status = 0;
  if (!answer.starts_with(version) || answer.size() < digits_at + 3) return 0;
  std::from_chars(answer.data() + digits_at, answer.data() + digits_at + 3, status);
  return status;
}

// What a collector says of spans that it has not taken: a number, or one in a string.
std::size_t rejected_in(const std::string& text) {
  const auto answer = cluster::parse_answer(text);
  if (!answer) return 0;
  const std::optional<Json> json = parse_json(answer->body);
  if (!json) return 0;
  const Json& number = member_or_null(member_or_null(*json, "partialSuccess"), "rejectedSpans");
  if (number.is_number_unsigned()) return number.get<std::size_t>();
  std::size_t value = 0;
  if (number.is_string()) {
    const auto& digits = number.get_ref<const std::string&>();
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
  }
  return value;
}

}  // namespace

std::optional<Collector> Collector::parse(std::string_view url) {
  static constexpr std::string_view scheme = "http://";
  static constexpr std::string_view usual_port = ":4318";
  if (!url.starts_with(scheme)) return std::nullopt;
  url.remove_prefix(scheme.size());
  const std::size_t slash = std::min(url.find('/'), url.size());
  std::string host(url.substr(0, slash));
  std::string path(url.substr(slash));
  while (path.ends_with('/')) path.pop_back();
  const bool printable =
      std::ranges::all_of(path, [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
  const std::size_t bracket = host.rfind(']');  // of an IPv6 address
  if (host.find(':', bracket == host.npos ? 0 : bracket) == host.npos) host += usual_port;
  auto place = cluster::PeerSource::parse(host);
  if (!printable || !place || host.find(',') != host.npos || host.starts_with("dns:") ||
      host.starts_with("file:"))
    return std::nullopt;
  return Collector(std::move(host), path + "/v1/traces", *std::move(place));
}

std::optional<cluster::Address> Collector::address() const {
  auto addresses = place_.addresses();
  return addresses.empty() ? std::nullopt : std::optional(std::move(addresses.front()));
}

SpanExporter::SpanExporter(Options options, http::Metrics& metrics)
    : options_(std::move(options)), metrics_(metrics) {
  metrics_.describe("cloche_spans_total", "Spans of traces, by what has become of them.");
  for (const std::string_view result : {"exported", "queue_full", "unreachable", "refused"})
    count(result, 0);
  worker_ = std::thread(with_name("cloche-spans", [this] { work(); }));
}

SpanExporter::~SpanExporter() { stop(); }

void SpanExporter::stop() {
  if (!worker_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    closing_deadline_ = std::chrono::steady_clock::now() + ending_patience;
    changed_.notify_all();
  }
  worker_.join();
}

void SpanExporter::count(std::string_view result, std::size_t spans) {
  metrics_.count("cloche_spans_total", fmt::format(R"(result="{}")", result),
                 static_cast<double>(spans));
}

void SpanExporter::add(Span span) {
  if (!span.context.sampled) return;
  {
    const MutexLock lock(mutex_);
    if (!closing_ && queue_.size() < options_.queue_limit) {
      queue_.push_back(std::move(span));
      // The first one begins the interval.
      if (queue_.size() == 1 || queue_.size() == options_.batch_limit) changed_.notify_all();
      return;
    }
  }
  count("queue_full", 1);
}

void SpanExporter::work() {
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    changed_.wait_for(mutex_, options_.interval, [this]() REQUIRES(mutex_) {
      return closing_ || queue_.size() >= options_.batch_limit;
    });
    std::vector<Span> spans;
    while (!queue_.empty() && spans.size() < options_.batch_limit) {
      spans.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    lock.unlock();
    send(spans);
    lock.lock();
  }
}

// False: the server ends, and nothing is tried again.
bool SpanExporter::pause(std::chrono::milliseconds time) {
  const MutexLock lock(mutex_);
  return !changed_.wait_for(mutex_, time, [this]() REQUIRES(mutex_) { return closing_; });
}

void SpanExporter::send(const std::vector<Span>& spans) {
  const std::string body = otlp_json(options_.resource, spans);
  const std::string text =
      fmt::format(
          "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
          "User-Agent: cloche/{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
          options_.collector.path(), options_.collector.host(), options_.resource.version,
          body.size()) +
      body;
  Backoff backoff(options_.first_pause, longest_pause);
  for (std::size_t attempt = 1;; ++attempt) {
    SteadyTime deadline = std::chrono::steady_clock::now() + options_.patience;
    {
      const MutexLock lock(mutex_);
      if (closing_) deadline = std::min(deadline, closing_deadline_);
    }
    std::size_t rejected = 0;
    switch (post(text, deadline, rejected)) {
      case Answer::taken:
        rejected = std::min(rejected, spans.size());
        count("exported", spans.size() - rejected);
        return count("refused", rejected);
      case Answer::refused: return count("refused", spans.size());
      case Answer::away:
        if (attempt == attempts_max || !pause(backoff.next()))
          return count("unreachable", spans.size());
    }
  }
}

SpanExporter::Answer SpanExporter::post(const std::string& text, SteadyTime deadline,
                                        std::size_t& rejected) const {
  if (std::chrono::steady_clock::now() >= deadline) return Answer::away;
  const auto address = options_.collector.address();
  if (!address) return Answer::away;
  const UniqueFd fd = cluster::begin_connect(*address);
  if (!fd || !cluster::finish_connect(fd.get(), deadline) ||
      !cluster::send_all(fd.get(), text, deadline))
    return Answer::away;
  const std::string answer = read_answer(fd.get(), deadline);
  const int status = status_of(answer);
  // By OTLP's word these, and no others, may be tried again.
  if (status == 0 || status == 429 || status == 502 || status == 503 || status == 504)
    return Answer::away;
  if (status < 200 || status >= 300) return Answer::refused;
  rejected = rejected_in(answer);
  return Answer::taken;
}

}  // namespace cloche::telemetry
