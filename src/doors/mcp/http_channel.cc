// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http_channel.h"

namespace cloche::mcp {
namespace {

constexpr std::chrono::seconds silence{15};
// What a client may leave unread of events; one that leaves more counts as gone.
constexpr std::size_t unread_limit_bytes = std::size_t{8} << 20;

int status_of(Era era, int error_code) {
  if (era == Era::legacy || error_code == 0) return 200;
  switch (error_code) {
    case code::no_such_method: return 404;
    case code::internal_error: return 200;
    default: return 400;
  }
}

}  // namespace

http::Response error_page(int status, const Reply& id, const ProtocolError& error) {
  return http::json_response(status, error_response(id, error));
}

void HttpChannel::go_on(Form form, std::function<void()> gone) {
  const MutexLock lock(mutex_);
  if (!exchange_) return;
  gone_ = std::move(gone);
  begin(form);
}

void HttpChannel::begin(Form form) {
  form_ = form;
  http::Response head{200, std::move(fields_), {}};
  head.fields.emplace_back("Content-Type",
                           form == Form::json ? "application/json" : "text/event-stream");
  head.fields.emplace_back("Cache-Control", "no-cache");
  head.fields.emplace_back("X-Accel-Buffering", "no");
  // Blanks mean nothing before JSON, and a line with a colon nothing between events.
  http::StreamOptions options{.changed =
                                  [weak = weak_from_this()] {
                                    if (const auto channel = weak.lock()) channel->look();
                                  },
                              .silence = silence,
                              .pulse = form == Form::json ? " " : ":\n\n"};
  stream_ = std::exchange(exchange_, nullptr)->begin(std::move(head), std::move(options));
}

void HttpChannel::look() {
  std::function<void()> gone;
  {
    const MutexLock lock(mutex_);
    if (stream_ && stream_->gone()) gone = std::exchange(gone_, nullptr);
  }
  if (gone) gone();
}

void HttpChannel::write_event(std::string_view message) {
  std::string event = "event: message\ndata: ";
  event += message;
  event += "\n\n";
  stream_->write(std::move(event));
}

void HttpChannel::send(std::string message) {
  const MutexLock lock(mutex_);
  if (exchange_) begin(Form::events);
  if (!stream_ || form_ == Form::json) return;
  if (stream_->unsent_bytes() > unread_limit_bytes) return stream_->break_off();
  write_event(message);
}

void HttpChannel::finish(std::string answer, int error_code) {
  const MutexLock lock(mutex_);
  if (exchange_) {
    http::Response response = http::json_response(status_of(era_, error_code), std::move(answer));
    response.fields.insert(response.fields.end(), fields_.begin(), fields_.end());
    std::exchange(exchange_, nullptr)->send(std::move(response));
    return;
  }
  if (!stream_) return;
  if (form_ == Form::events) {
    write_event(answer);
  } else {
    stream_->write(std::move(answer));
  }
  stream_->end();
  stream_ = nullptr;
}

void HttpChannel::abandon() {
  const MutexLock lock(mutex_);
  if (exchange_) begin(Form::events);
  if (!stream_) return;
  if (form_ == Form::events) {
    stream_->end();
  } else {
    stream_->break_off();
  }
  stream_ = nullptr;
}

}  // namespace cloche::mcp
