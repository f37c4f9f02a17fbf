// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace cloche {
namespace {

// Of an object whose members stand in order: resolves names that occur more than once, when all of
// it is there. The last value stays, at the place of the first. True when there were some.
bool drop_repeated(OrderedJson::object_t& object) {
  constexpr std::size_t few = 8;
  auto* const members = object.data();
  const std::size_t count = object.size();
  if (count <= few) {
    bool any = false;
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t k = 0; k < i; ++k) any = any || members[i].first == members[k].first;
    }
    if (!any) return false;
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int less = members[a].first.compare(members[b].first);
    return less != 0 ? less < 0 : a < b;
  });
  std::vector<bool> dropped(count);
  bool any = false;
  for (std::size_t i = 0; i < count;) {
    std::size_t last = i;
    while (last + 1 < count && members[order[last + 1]].first == members[order[i]].first) ++last;
    if (last > i) {
      members[order[i]].second = std::move(members[order[last]].second);
      for (std::size_t k = i + 1; k <= last; ++k) dropped[order[k]] = any = true;
    }
    i = last + 1;
  }
  if (!any) return false;
  OrderedJson::object_t kept;
  for (std::size_t i = 0; i < count; ++i) {
    if (!dropped[i]) kept.emplace_back(members[i].first, std::move(members[i].second));
  }
  object = std::move(kept);
  return true;
}

// Builds the value as the parser goes. Beyond the bounds it builds nothing more, and looks only for
// one member of the outermost object. Every function answers whether to go on; names and signatures
// are those that nlohmann's parser calls.
template <typename Value>
class Builder {
  static constexpr bool is_ordered = std::is_same_v<Value, OrderedJson>;
  static constexpr const char* repeated_name = "a member name occurs twice in one object";

 public:
  Builder(const JsonBounds& bounds, std::string_view wanted) : bounds_(bounds), wanted_(wanted) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(typename Value::number_integer_t value) { return put(value); }
  bool number_unsigned(typename Value::number_unsigned_t value) { return put(value); }
  bool number_float(typename Value::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(typename Value::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Value::object()); }
  bool start_array(std::size_t) { return open(Value::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (problem_) {
      at_wanted_ = depth_ == 1 && name == wanted_;
      return true;
    }
    auto& object = open_.back()->template get_ref<typename Value::object_t&>();
    if constexpr (is_ordered) {
      object.emplace_back(std::move(name), nullptr);
      member_ = &object.back().second;
    } else {
      const auto [place, is_new] = object.emplace(std::move(name), nullptr);
      if (!is_new && bounds_.repeated == RepeatedNames::refused)
        return refuse(repeated_name, open_.size());
      member_ = &place->second;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) {
    if (problem_) return false;  // the first thing that is wrong is told
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": the last part says
    // it, with all of a text that does not end.
    constexpr std::size_t enough = 300;
    std::string_view text = problem.what();
    if (const std::size_t start = text.find("] "); start != text.npos)
      text.remove_prefix(start + 2);
    problem_ = {JsonProblem::Kind::not_json,
                fmt::format("not JSON: {}{} (byte {})", text.substr(0, enough),
                            text.size() > enough ? "..." : "", position)};
    return false;
  }

  std::variant<Value, JsonProblem> take() {
    if (problem_) return *std::move(problem_);
    return std::move(root_);
  }

  Value take_wanted() { return std::move(found_); }

 private:
  // `depth`: how many containers are open now. Goes on only where there may be what is wanted.
  bool refuse(std::string why, std::size_t depth) {
    problem_ = {JsonProblem::Kind::beyond_bounds, std::move(why)};
    depth_ = depth;
    if (wanted_.empty() || !root_.is_object()) return false;
    if (const auto there = root_.find(wanted_); there != root_.end() && !there->is_structured())
      found_ = *there;
    return true;
  }

  template <typename Part>
  Value* place(Part&& part) {
    if (open_.empty()) {
      root_ = Value(std::forward<Part>(part));
      return &root_;
    }
    Value& parent = *open_.back();
    if (parent.is_object()) {
      *member_ = Value(std::forward<Part>(part));
      return member_;
    }
    parent.push_back(Value(std::forward<Part>(part)));
    return &parent.back();
  }

  template <typename Part>
  bool put(Part&& part) {
    if (problem_) {
      if (std::exchange(at_wanted_, false)) found_ = Value(std::forward<Part>(part));
      return true;
    }
    if (++values_ > bounds_.values) return refuse("too many values", open_.size());
    place(std::forward<Part>(part));
    return true;
  }

  bool open(Value container) {
    if (problem_) {
      at_wanted_ = false;
      ++depth_;
      return true;
    }
    if (++values_ > bounds_.values) return refuse("too many values", open_.size() + 1);
    if (open_.size() >= bounds_.depth)
      return refuse("values are nested too deep", open_.size() + 1);
    // The container's address is stable: nothing is added to its parent before it is closed.
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    if (problem_) {
      --depth_;
      return true;
    }
    Value& closed = *open_.back();
    open_.pop_back();
    if constexpr (is_ordered) {
      if (closed.is_object() &&
          drop_repeated(closed.template get_ref<typename Value::object_t&>()) &&
          bounds_.repeated == RepeatedNames::refused)
        return refuse(repeated_name, open_.size());
    }
    return true;
  }

  const JsonBounds bounds_;
  const std::string_view wanted_;
  Value root_;
  std::vector<Value*> open_;
  Value* member_ = nullptr;  // of the innermost object: where its next value goes
  std::size_t values_ = 0;
  std::optional<JsonProblem> problem_;
  // Once there is a problem:
  std::size_t depth_ = 0;
  bool at_wanted_ = false;  // the next value is the wanted one
  Value found_;
};

template <typename Value>
std::string written(const Value& value) {
  return value.dump(-1, ' ', false, Value::error_handler_t::replace);
}

}  // namespace

template <typename Value>
std::variant<Value, JsonProblem> read_json(std::string_view text, const JsonBounds& bounds,
                                           std::string_view member_name, Value* member) {
  Builder<Value> builder(bounds, member == nullptr ? std::string_view() : member_name);
  (void)Value::sax_parse(text.begin(), text.end(), &builder);
  if (member != nullptr) *member = builder.take_wanted();
  return builder.take();
}

template std::variant<Json, JsonProblem> read_json(std::string_view, const JsonBounds&,
                                                   std::string_view, Json*);
template std::variant<OrderedJson, JsonProblem> read_json(std::string_view, const JsonBounds&,
                                                          std::string_view, OrderedJson*);

std::string write_json(const Json& value) { return written(value); }
std::string write_json(const OrderedJson& value) { return written(value); }

}  // namespace cloche
