// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/connection.h"

#include <fmt/format.h>

#include "doors/rpc/json_reader.h"
#include "doors/rpc/methods.h"

namespace cloche::rpc {
namespace {

constexpr std::size_t thread_limit = 512;
constexpr const char* main_name = "main";
constexpr std::size_t id_within_bytes = 512;  // of an answer

Error cancelled() { return request_error("the request was cancelled", Errno::canceled); }

bool is_id(const Json& id) { return id.is_string() || id.is_number() || id.is_null(); }

// Counts the bytes of a request as long as there is one.
class HeldBytes {
 public:
  HeldBytes(std::atomic<std::size_t>& count, std::size_t bytes) : count_(count), bytes_(bytes) {
    count_ += bytes_;
  }
  ~HeldBytes() { count_ -= bytes_; }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

 private:
  std::atomic<std::size_t>& count_;
  const std::size_t bytes_;
};

// The id of the request that begins so, where it comes before what is long; or null.
Reply id_in(std::string_view beginning) {
  // Up to the last member that is whole.
  for (std::size_t end = beginning.rfind(','); end != std::string_view::npos && end > 0;
       end = beginning.rfind(',', end - 1)) {
    const auto read = read_json(std::string(beginning.substr(0, end)) + '}');
    const auto* message = std::get_if<Json>(&read);
    if (message == nullptr) continue;
    const auto id = message->is_object() ? message->find("id") : message->end();
    return id != message->end() && is_id(*id) ? Reply(*id) : Reply(nullptr);
  }
  return nullptr;
}

// An unknown name, as an error tells it: a line has room for a long one.
std::string_view shown(std::string_view name) { return name.substr(0, 100); }

// The checks of a request's envelope; what is wrong, or nothing.
std::optional<std::string> fault_of(const Json& message) {
  if (message.is_array()) return "batches are not served: send one request a line";
  if (!message.is_object()) return "a request is an object";
  const auto id = message.find("id");
  if (id != message.end() && !is_id(*id)) return "'id' must be a string or a number";
  const auto version = message.find("jsonrpc");
  if (version == message.end() || *version != "2.0") return "'jsonrpc' must be \"2.0\"";
  const auto method = message.find("method");
  if (method == message.end() || !method->is_string()) return "'method' must be a string";
  if (id == message.end()) return "notifications are not served: give the request an 'id'";
  return std::nullopt;
}

}  // namespace

Connection::Connection(Sink& sink, Backend& backend)
    : sink_(sink),
      backend_(backend),
      client_commands_(std::make_shared<ClientCommands>(*this)),
      pool_(thread_limit),
      commands_(sink, pool_) {
  main_ = std::make_shared<SandboxQueue>(main_name, pool_);
  queues_.emplace(main_name, main_);
  order_.emplace_back(main_name);
}

Connection::~Connection() {
  (void)stop(std::chrono::steady_clock::time_point::max());
  client_commands_->detach();
}

void Connection::tell_progress(std::string_view line) noexcept {
  if (progress_) sink_.send(Sink::Kind::notice, server_message("progress", {{"message", line}}));
}

void Connection::refuse(const RpcError& error, std::string_view beginning) noexcept {
  Reply id = nullptr;
  try {
    id = id_in(beginning);
    if (id.is_string() && fail_question(id.get_ref<const std::string&>(), error.message)) return;
  } catch (const std::exception&) {  // no memory for it: the answer is nobody's
  }
  sink_.send(Sink::Kind::answer, error_response(id, error));
}

void Connection::take(std::string_view line) noexcept try {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  Json id;
  std::variant<Json, RpcError> read = read_json(line, &id);
  if (const auto* error = std::get_if<RpcError>(&read)) {
    // What is no JSON has no id, but an answer's is at its beginning.
    const Reply whose = id.is_string() ? Reply(id) : id_in(line.substr(0, id_within_bytes));
    if (whose.is_string() && fail_question(whose.get_ref<const std::string&>(), error->message))
      return;
    sink_.send(Sink::Kind::answer, error_response(is_id(id) ? Reply(id) : Reply(nullptr), *error));
    return;
  }
  dispatch(std::get<Json>(std::move(read)), line.size());
} catch (const std::exception& problem) {
  refuse(rpc_error(Error(ErrorKind::host, Errno::nomem, problem.what())));
}

void Connection::dispatch(Json message, std::size_t bytes) {
  if (take_answer(message)) return;
  const std::optional<std::string> fault = fault_of(message);
  const Json* given = message.is_object() && message.contains("id") ? &message["id"] : nullptr;
  const Reply id = given != nullptr && is_id(*given) ? Reply(*given) : Reply(nullptr);
  const auto answer = [&](const RpcError& error) {
    sink_.send(Sink::Kind::answer, error_response(id, error));
  };
  if (fault) return answer({code::invalid_request, *fault});

  const std::string& name = message["method"].get_ref<const std::string&>();
  const Method* method = find_method(name);
  if (method == nullptr) method = backend_.find_method(name);
  if (method == nullptr) {
    return answer({code::no_such_method, fmt::format("there is no method '{}'", shown(name))});
  }
  auto params = std::make_shared<Json>(message.contains("params") ? std::move(message["params"])
                                                                  : Json(nullptr));
  if (!params->is_object() && !params->is_null())
    return answer({code::invalid_params, "'params' must be an object"});

  std::shared_ptr<SandboxQueue> queue;
  try {
    const std::optional<std::string> sandbox = Params(*params).optional_text("sandboxId");
    queue = method->serve == sandboxes::create_another ? add_queue()
            : sandbox                                  ? find_queue(*sandbox)
                                                       : main_;
  } catch (const RpcError& error) {
    return answer(error);
  } catch (const WrongMember& wrong) {
    return answer({code::invalid_params, wrong.what()});
  } catch (const Error& error) {
    return answer(rpc_error(error));
  }
  if (method->order == Order::overtakes) return serve(*method, queue, id, *params);
  // The place of a sandbox that nobody will make, or the name of none.
  const std::string place =
      method->serve == sandboxes::create_another ? queue->name() : std::string();
  if (held_bytes_ > 0 && held_bytes_ + bytes > queue_limit_bytes) {
    remove_queue(place);
    return answer(rpc_error(request_error(
        fmt::format("requests with {} bytes wait already: wait for their answers", +held_bytes_),
        Errno::again)));
  }
  const auto held = std::make_shared<const HeldBytes>(held_bytes_, bytes);
  const bool queued = queue->post(
      {.id = id.dump(),
       .runs = method->runs,
       .work = [this, method, queue, id, params, held] { serve(*method, queue, id, *params); },
       .cancelled =
           [this, id, held, place] {
             remove_queue(place);
             sink_.send(Sink::Kind::answer, error_response(id, rpc_error(cancelled())));
           }});
  if (!queued) {
    remove_queue(place);
    answer(rpc_error(request_error(
        fmt::format("{} requests wait for this sandbox already, or it is closed", queue_limit),
        Errno::again)));
  }
}

void Connection::serve(const Method& method, const std::shared_ptr<SandboxQueue>& queue,
                       const Reply& id, const Json& params) noexcept {
  std::string line;
  std::function<void()> after;
  try {
    Call call{*this, queue, id, Params(params)};
    if (method.needs == Needs::sandbox) (void)call.live();
    Reply result = method.serve(call);
    if (method.needs == Needs::sandbox && method.order == Order::queued)
      must(call.subject()->keep(), "what was done is not saved");
    line = response(id, std::move(result));
    after = std::move(call.after);
  } catch (const RpcError& error) {
    line = error_response(id, error);
  } catch (const WrongMember& wrong) {
    line = error_response(id, {code::invalid_params, wrong.what()});
  } catch (const Error& error) {
    line = error_response(id, rpc_error(error));
  } catch (const std::bad_alloc&) {
    const Error error(ErrorKind::host, Errno::nomem, "the server has no memory for this");
    line = error_response(id, rpc_error(error));
  } catch (const std::exception& problem) {
    line = error_response(id, rpc_error(Error(ErrorKind::host, Errno::io, problem.what())));
  }
  if (is_over() && method.serve == sandboxes::kill) {
    sink_.send_last(std::move(line));
  } else {
    sink_.send(Sink::Kind::answer, std::move(line));
  }
  if (after) after();
}

std::shared_ptr<SandboxQueue> Connection::find_queue(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = queues_.find(name);
  if (found != queues_.end()) return found->second;
  throw RpcError{code::sandbox_error,
                 named_sentence(request_error(fmt::format("there is no sandbox '{}'", shown(name)),
                                              Errno::noent)),
                 reason::no_sandbox};
}

std::shared_ptr<SandboxQueue> Connection::add_queue() {
  const MutexLock lock(mutex_);
  if (queues_.size() >= backend_.sandbox_limit()) {
    throw request_error(
        fmt::format("a connection holds {} sandboxes at most", backend_.sandbox_limit()),
        Errno::again);
  }
  const std::string name = fmt::format("s{}", ++last_sandbox_);
  auto queue = std::make_shared<SandboxQueue>(name, pool_);
  queues_.emplace(name, queue);
  order_.push_back(name);
  return queue;
}

void Connection::remove_queue(const std::string& name) {
  std::shared_ptr<SandboxQueue> queue;
  {
    const MutexLock lock(mutex_);
    const auto found = queues_.find(name);
    if (found == queues_.end()) return;
    queue = found->second;
    queues_.erase(found);
    std::erase(order_, name);
  }
  queue->close();
}

std::vector<std::shared_ptr<SandboxQueue>> Connection::queues() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<SandboxQueue>> list;
  list.reserve(order_.size());
  for (const std::string& name : order_) list.push_back(queues_.at(name));
  return list;
}

// An answer to `ask` is an object without a method; one that nobody waits for any more is dropped.
bool Connection::take_answer(Json& message) {
  if (!message.is_object() || message.contains("method")) return false;
  const auto id = message.find("id");
  const auto result = message.find("result");
  const auto error = message.find("error");
  if (id == message.end() || !id->is_string()) return false;
  if ((result == message.end()) == (error == message.end())) {
    return fail_question(id->get_ref<const std::string&>(),
                         "an answer has either 'result' or 'error'");
  }
  std::function<void(Answer)> answered;
  {
    const MutexLock lock(mutex_);
    const auto found = asked_.find(id->get_ref<const std::string&>());
    if (found == asked_.end()) return true;
    answered = std::move(found->second);
    asked_.erase(found);
  }
  if (result != message.end()) {
    answered({true, result->dump(), {}});
  } else {
    const Params fault(*error);
    const Json* data = fault.find("data");
    const auto text_of = [](const Json* value) {
      return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
    };
    answered({false, text_of(fault.find("message")),
              text_of(data == nullptr ? nullptr : Params(*data).find("type"))});
  }
  return true;
}

// Whoever waits for an answer that cannot be read hears why. Nobody: false.
bool Connection::fail_question(const std::string& id, std::string_view why) {
  std::function<void(Answer)> answered;
  {
    const MutexLock lock(mutex_);
    const auto found = asked_.find(id);
    if (found == asked_.end()) return false;
    answered = std::move(found->second);
    asked_.erase(found);
  }
  answered({false, fmt::format("the client's answer cannot be read: {}", why), {}});
  return true;
}

std::string Connection::ask(std::string_view method, Reply params,
                            std::function<void(Answer)> answered) {
  const auto id = [&]() -> std::string {
    const MutexLock lock(mutex_);
    if (stopping_) return {};
    const std::string next = fmt::format("server-{}", ++last_question_);
    asked_.emplace(next, answered);
    return next;
  }();
  if (id.empty()) {
    answered({false, "the connection ends", {}});
  } else {
    sink_.send(Sink::Kind::answer, server_message(method, std::move(params), id));
  }
  return id;
}

void Connection::forget(const std::string& id) {
  const MutexLock lock(mutex_);
  asked_.erase(id);
}

bool Connection::wait_idle(std::chrono::steady_clock::time_point deadline) {
  bool idle = true;
  for (const std::shared_ptr<SandboxQueue>& queue : queues())
    idle = queue->wait_idle(deadline) && idle;
  return idle;
}

bool Connection::stop(std::chrono::steady_clock::time_point deadline) {
  std::unordered_map<std::string, std::function<void(Answer)>> asked;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    asked.swap(asked_);
  }
  for (const auto& [id, answered] : asked) answered({false, "the connection ends", {}});
  commands_.stop();
  const std::vector<std::shared_ptr<SandboxQueue>> all = queues();
  for (const std::shared_ptr<SandboxQueue>& queue : all) queue->close();
  bool idle = true;
  for (const std::shared_ptr<SandboxQueue>& queue : all) idle = queue->wait_idle(deadline) && idle;
  return idle;
}

}  // namespace cloche::rpc
