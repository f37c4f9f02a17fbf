// SPDX-License-Identifier: Apache-2.0
// SpanExporter: sends spans to a collector by OTLP/HTTP, in JSON over plain HTTP.
//
// Whoever adds one never waits: spans queue, up to a limit, and a thread sends them some at a time.
// What a collector that is away or too slow does not get is dropped, and counted; it costs the
// server nothing else. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cluster/address.h"
#include "doors/http/metrics.h"
#include "doors/telemetry/span.h"

namespace cloche::telemetry {

// Where a collector takes spans: http://HOST[:PORT][/PREFIX], to which /v1/traces is added.
class Collector {
 public:
  // Nothing for another text. The port is 4318 unless it is said.
  static std::optional<Collector> parse(std::string_view url);

  const std::string& host() const noexcept { return host_; }  // HOST:PORT
  const std::string& path() const noexcept { return path_; }
  // The address now; nothing: it cannot be resolved. Waits for the host's resolver.
  std::optional<cluster::Address> address() const;

 private:
  Collector(std::string host, std::string path, cluster::PeerSource place)
      : host_(std::move(host)), path_(std::move(path)), place_(std::move(place)) {}

  std::string host_;
  std::string path_;
  cluster::PeerSource place_;
};

class SpanExporter {
 public:
  struct Options {
    Collector collector;
    Resource resource;
    std::size_t queue_limit = 8192;
    std::size_t batch_limit = 512;
    std::chrono::milliseconds interval{2000};    // what is there is sent after that, at the latest
    std::chrono::milliseconds patience{10'000};  // for the collector's answer
    std::chrono::milliseconds first_pause{500};  // before what may pass is tried again
  };
  // `metrics` outlives it. cloche_spans_total says what has become of them.
  SpanExporter(Options options, http::Metrics& metrics);
  ~SpanExporter();  // stop()
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  // One whose context is not sampled is left out.
  void add(Span span);
  // Sends what there is, if that takes no more than two seconds; what is added later is dropped.
  void stop();

 private:
  enum class Answer : std::uint8_t { taken, away, refused };
  void work();
  void send(const std::vector<Span>& spans);
  Answer post(const std::string& text, std::chrono::steady_clock::time_point deadline,
              std::size_t& rejected) const;
  void count(std::string_view result, std::size_t spans);
  bool pause(std::chrono::milliseconds time);

  const Options options_;
  http::Metrics& metrics_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Span> queue_ GUARDED_BY(mutex_);
  bool closing_ GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point closing_deadline_ GUARDED_BY(mutex_);
  std::thread worker_;
};

}  // namespace cloche::telemetry
