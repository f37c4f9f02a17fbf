// SPDX-License-Identifier: Apache-2.0
// HttpChannel: the answer to a POST, or to a GET: one JSON object, or a stream of events that ends
// with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "doors/http/server.h"
#include "doors/mcp/request.h"

namespace cloche::mcp {

class HttpChannel final : public Channel, public std::enable_shared_from_this<HttpChannel> {
 public:
  // `fields` are of every answer.
  HttpChannel(std::shared_ptr<http::Exchange> exchange, Era era, http::Fields fields)
      : exchange_(std::move(exchange)), era_(era), fields_(std::move(fields)) {}

  enum class Form : std::uint8_t { json, events };
  // The answer takes longer: its head goes out now. `gone` is called once, on any thread, when the
  // client goes away before it is there; it must be quick. Nothing where it is there already.
  void go_on(Form form, std::function<void()> gone);

  void send(std::string message) override;  // makes it a stream of events
  void finish(std::string answer, int error_code) override;
  void abandon() override;

 private:
  void begin(Form form) REQUIRES(mutex_);
  void write_event(std::string_view message) REQUIRES(mutex_);
  void look();

  Mutex mutex_;
  std::shared_ptr<http::Exchange> exchange_ GUARDED_BY(mutex_);  // null: it was used
  const Era era_;
  http::Fields fields_ GUARDED_BY(mutex_);
  Form form_ GUARDED_BY(mutex_) = Form::json;
  std::shared_ptr<http::AnswerStream> stream_ GUARDED_BY(mutex_);  // null: not begun, or ended
  std::function<void()> gone_ GUARDED_BY(mutex_);
};

// {"jsonrpc", "id", "error"} with that status.
http::Response error_page(int status, const Reply& id, const ProtocolError& error);

}  // namespace cloche::mcp
