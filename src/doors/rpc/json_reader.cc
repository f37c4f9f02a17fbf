#include "doors/rpc/json_reader.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace cloche::rpc {
namespace {

// Builds the value as the parser goes. Beyond the bounds it builds nothing more, and looks only for
// the id of the request. Every function answers whether to go on; names and signatures are those
// that nlohmann::json's parser calls.
class Builder {
 public:
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(Json::number_integer_t value) { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return put(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (error_) {
      at_id_ = depth_ == 1 && name == "id";
      return true;
    }
    Json& object = *open_.back();
    const auto [place, is_new] =
        object.get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    if (!is_new) return refuse("a member name occurs twice in one object", open_.size());
    member_ = &place->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& problem) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": the last part says
    // it.
    if (error_) return false;  // the first thing that is wrong is told
    const std::string_view text = problem.what();
    const std::size_t start = text.find("] ");
    error_ = RpcError{code::parse_error,
                      fmt::format("not JSON: {} (byte {})",
                                  start == text.npos ? text : text.substr(start + 2), position)};
    return false;
  }

  std::variant<Json, RpcError> take() {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

  Json take_id() { return std::move(id_); }

 private:
  // `depth`: how many containers are open now. Goes on only where there may be an id.
  bool refuse(std::string why, std::size_t depth) {
    error_ = RpcError{code::invalid_request, std::move(why)};
    depth_ = depth;
    if (!root_.is_object()) return false;
    if (const auto id = root_.find("id"); id != root_.end()) id_ = *id;
    return true;
  }

  template <typename Value>
  Json* place(Value&& value) {
    if (open_.empty()) {
      root_ = Json(std::forward<Value>(value));
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_object()) {
      *member_ = Json(std::forward<Value>(value));
      return member_;
    }
    parent.push_back(Json(std::forward<Value>(value)));
    return &parent.back();
  }

  template <typename Value>
  bool put(Value&& value) {
    if (error_) {
      if (std::exchange(at_id_, false)) id_ = Json(std::forward<Value>(value));
      return true;
    }
    if (++values_ > value_limit) return refuse("too many values in one request", open_.size());
    place(std::forward<Value>(value));
    return true;
  }

  bool open(Json container) {
    if (error_) {
      at_id_ = false;
      ++depth_;
      return true;
    }
    if (++values_ > value_limit) return refuse("too many values in one request", open_.size() + 1);
    if (open_.size() >= depth_limit) return refuse("values are nested too deep", open_.size() + 1);
    // The container's address is stable: nothing is added to its parent before it is closed.
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    if (error_) {
      --depth_;
      return true;
    }
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  Json* member_ = nullptr;  // of the innermost object: where its next value goes
  std::size_t values_ = 0;
  std::optional<RpcError> error_;
  // Once there is an error:
  std::size_t depth_ = 0;
  bool at_id_ = false;  // the next value is the request's id
  Json id_;
};

}  // namespace

std::variant<Json, RpcError> read_json(std::string_view text, Json* id) {
  Builder builder;
  (void)Json::sax_parse(text.begin(), text.end(), &builder);
  if (id != nullptr) *id = builder.take_id();
  return builder.take();
}

}  // namespace cloche::rpc
