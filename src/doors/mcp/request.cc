// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/request.h"

namespace cloche::mcp {

Request::Request(Message message, Asker asker, std::shared_ptr<Channel> stream, Ending ending)
    : message_(std::move(message)),
      asker_(std::move(asker)),
      id_(message_.id),
      stream_(std::move(stream)),
      ending_(std::move(ending)) {}

bool Request::end() {
  const MutexLock lock(mutex_);
  return !std::exchange(is_over_, true);
}

void Request::finish(Reply result) {
  if (!end()) return;
  if (asker_.era == Era::modern) {
    if (!result.contains("resultType")) result["resultType"] = "complete";
    result["_meta"][meta::server] = server_info();
  }
  answer(response(id_, std::move(result)), 0);
}

void Request::fail(const ProtocolError& error) {
  if (!end()) return;
  answer(error_response(id_, error), error.code);
}

void Request::answer(std::string text, int error_code) {
  const std::function<void()> after = ending_();
  stream_->finish(std::move(text), error_code);
  after();
}

void Request::cancel() {
  if (!end()) return;
  stop_.request_stop();
  const std::function<void()> after = ending_();
  stream_->abandon();
  after();
}

void Request::call_off(const ProtocolError& why) {
  if (!end()) return;
  stop_.request_stop();
  answer(error_response(id_, why), why.code);
}

void Request::notify(std::string_view method, Reply params) {
  send(notification(method, std::move(params)));
}

void Request::send(std::string message) {
  const MutexLock lock(mutex_);
  if (!is_over_) stream_->send(std::move(message));
}

Reply Request::progress_token() const {
  const Json* about = member(message_.params, "_meta");
  const Json* token = about == nullptr ? nullptr : member(*about, "progressToken");
  if (token == nullptr || !(token->is_string() || token->is_number_integer())) return nullptr;
  return *token;
}

}  // namespace cloche::mcp
