#include "doors/rpc/json_reader.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace cloche::rpc {
namespace {

// Builds the value as the parser goes, and stops it at the first thing out of bounds. Every
// function answers whether to go on; names and signatures are those that nlohmann::json's parser
// calls.
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
    Json& object = *open_.back();
    const auto [place, is_new] =
        object.get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    if (!is_new) return refuse("a member name occurs twice in one object");
    member_ = &place->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& problem) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": the last part says
    // it.
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

 private:
  bool refuse(std::string why) {
    error_ = RpcError{code::invalid_request, std::move(why)};
    return false;
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
    if (++values_ > value_limit) return refuse("too many values in one request");
    place(std::forward<Value>(value));
    return true;
  }

  bool open(Json container) {
    if (++values_ > value_limit) return refuse("too many values in one request");
    if (open_.size() >= depth_limit) return refuse("values are nested too deep");
    // The container's address is stable: nothing is added to its parent before it is closed.
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  Json* member_ = nullptr;  // of the innermost object: where its next value goes
  std::size_t values_ = 0;
  std::optional<RpcError> error_;
};

}  // namespace

std::variant<Json, RpcError> read_json(std::string_view text) {
  Builder builder;
  (void)Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace cloche::rpc
