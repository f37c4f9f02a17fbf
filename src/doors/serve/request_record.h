// SPDX-License-Identifier: Apache-2.0
// RequestRecord: what is kept of a request besides its answer: a number in the metrics, a span of
// its trace, a line of the audit. Recorded is an exchange that writes it when there is an answer.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/trace_context.h"
#include "doors/http/metrics.h"
#include "doors/http/server.h"
#include "doors/telemetry/recorders.h"

namespace cloche::serve {

// The pattern that a path is of, from a small set, such as "/sessions/{id}/commands"; empty: none.
std::string route_of(std::string_view path);

class RequestRecord {
 public:
  // `to` and `metrics` outlive it. `owner`: whose request it is, where that is known.
  RequestRecord(const http::Request& request, const telemetry::Recorders& to,
                http::Metrics& metrics, std::string owner);
  // Where end() was not called it ends with 500, as its client sees it.
  ~RequestRecord();
  RequestRecord(const RequestRecord&) = delete;
  RequestRecord& operator=(const RequestRecord&) = delete;

  // What the request is part of; null: nobody traces it. It lives as long as this.
  const TraceContext* trace() const noexcept { return trace_ ? &*trace_ : nullptr; }

  // Once; later calls do nothing. No status: whoever has the connection now answers.
  void end(std::optional<int> status, std::string_view outcome);
  void end(int status);

 private:
  void count(int status);

  const telemetry::Recorders to_;
  http::Metrics& metrics_;
  const std::chrono::system_clock::time_point begin_ = std::chrono::system_clock::now();
  const std::string method_;
  const std::string path_;
  const std::string session_;
  const std::string from_;
  const std::string owner_;
  const bool is_quiet_;  // asked all the time, by whoever watches the server
  std::string parent_id_;
  std::optional<TraceContext> trace_;
  std::atomic<bool> ended_ = false;
};

// Passes everything on, and ends the record with the answer.
class Recorded final : public http::Exchange {
 public:
  Recorded(std::shared_ptr<http::Exchange> inner, std::shared_ptr<RequestRecord> record)
      : inner_(std::move(inner)), record_(std::move(record)) {}

  void send(http::Response response) override {
    record_->end(response.status);
    inner_->send(std::move(response));
  }
  void send_blanks_until_answer(std::chrono::milliseconds interval) override {
    inner_->send_blanks_until_answer(interval);
  }
  void open_tunnel(http::Fields fields, std::function<void(int fd)> opened) override {
    record_->end(200);
    inner_->open_tunnel(std::move(fields), std::move(opened));
  }
  void hand_over(std::function<void(int fd)> taken) override {
    record_->end(std::nullopt, "done");
    inner_->hand_over(std::move(taken));
  }
  std::shared_ptr<http::AnswerStream> begin(http::Response head,
                                            http::StreamOptions options) override {
    record_->end(head.status);
    return inner_->begin(std::move(head), std::move(options));
  }
  void open_web_socket(http::Request head, std::string protocol,
                       std::shared_ptr<http::WebSocketUser> user) override {
    record_->end(101);
    inner_->open_web_socket(std::move(head), std::move(protocol), std::move(user));
  }
  void relay_to(UniqueFd fd) override {
    record_->end(std::nullopt, "passed_on");
    inner_->relay_to(std::move(fd));
  }

 private:
  const std::shared_ptr<http::Exchange> inner_;
  const std::shared_ptr<RequestRecord> record_;
};

}  // namespace cloche::serve
