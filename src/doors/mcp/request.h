// SPDX-License-Identifier: Apache-2.0
// Request: one that is being served. It is answered once, in the manner of its era, or never: when
// it was cancelled. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "doors/mcp/message.h"

namespace cloche::mcp {

// Where what belongs to a request goes. Thread-safe; it may be used when the client is gone.
class Channel {
 public:
  virtual ~Channel() = default;
  // A notification or a request of ours; before the answer.
  virtual void send(std::string message) = 0;
  // The answer; nothing comes after it. `error_code` is that of an error; 0: it is a result.
  virtual void finish(std::string answer, int error_code) = 0;
  // Instead: there will be none.
  virtual void abandon() = 0;
};

class Request {
 public:
  // Called once, before the answer goes out or the request is cancelled: from then on its id is
  // free, for a client that has the answer may take it again. What it gives is called after that.
  using Ending = std::function<std::function<void()>()>;

  Request(Message message, Asker asker, std::shared_ptr<Channel> stream, Ending ending);
  ~Request() { fail({code::internal_error, "the request was not answered"}); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  const Reply& id() const noexcept { return id_; }
  const std::string& method() const noexcept { return message_.method; }
  const Json& params() const noexcept { return message_.params; }
  Era era() const noexcept { return asker_.era; }
  const Json& capabilities() const noexcept { return asker_.capabilities; }

  // The first of these four counts.
  void finish(Reply result);
  void fail(const ProtocolError& error);
  void cancel();
  // Cancels it where its client has not asked for that, and waits to hear.
  void call_off(const ProtocolError& why);
  // Asked to stop when it is cancelled, or called off.
  std::stop_token stop() const { return stop_.get_token(); }

  // Before the answer; dropped after it.
  void notify(std::string_view method, Reply params);
  void send(std::string message);
  // What the client gave to hear of progress; null: it does not want to.
  Reply progress_token() const;

 private:
  bool end();
  void answer(std::string text, int error_code);

  const Message message_;
  const Asker asker_;
  const Reply id_;
  const std::shared_ptr<Channel> stream_;
  const Ending ending_;
  std::stop_source stop_;
  Mutex mutex_;
  bool is_over_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::mcp
