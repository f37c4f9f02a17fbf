// SPDX-License-Identifier: Apache-2.0
#include "cluster/session_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/json_string.h"

namespace cloche::cluster {
namespace {

// Who says a page may be in somebody else's hands, and metadata is what clients say: hundreds of
// sessions with 64 KiB each, which as values would be a hundred times as large. So it is told again
// as it is read, in its order, and no value is made of it.
class PageReader final : public nlohmann::json_sax<Json> {
 public:
  // Nothing: it is no page.
  std::optional<SessionPage> take() {
    if (!has_total_ || !has_sessions_) return std::nullopt;
    return std::move(page_);
  }

  bool null() override { return value("null"); }
  bool boolean(bool is) override { return value(is ? "true" : "false"); }
  bool number_integer(std::int64_t number) override { return value(fmt::format("{}", number)); }
  bool number_unsigned(std::uint64_t number) override {
    if (depth_ == 1 && key_ == "total") {
      page_.total = number;
      has_total_ = true;
    }
    return value(fmt::format("{}", number));
  }
  bool number_float(double number, const std::string&) override {
    return value(Json(number).dump());
  }
  bool string(std::string& text) override {
    if (in_list_ && depth_ == session_depth) {
      if (key_ == "createdAt") created_ = text;
      if (key_ == "sessionId") id_ = text;
    }
    return value(json_string(text));
  }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open('{'); }
  bool start_array(std::size_t) override {
    const bool is_list = depth_ == 1 && key_ == "sessions";
    if (!may_be_no_object() || !open('[')) return false;
    if (is_list) in_list_ = has_sessions_ = true;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ <= session_depth) key_ = name;
    if (in_session()) tell(json_string(name) + ":");
    return true;
  }
  bool end_object() override {
    close('}');
    if (!in_list_ || depth_ != list_depth) return true;
    if (!created_ || !id_) return false;
    page_.sessions.push_back({*std::move(created_), *std::move(id_), std::move(text_)});
    created_.reset();
    id_.reset();
    text_.clear();
    return true;
  }
  bool end_array() override {
    close(']');
    in_list_ = in_list_ && depth_ >= list_depth;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  // Of the page, its list, a session in that; what is nested deeper is nobody's metadata.
  static constexpr std::size_t list_depth = 2;
  static constexpr std::size_t session_depth = 3;
  static constexpr std::size_t most_depth = 128;

  bool in_session() const { return in_list_ && depth_ >= session_depth; }
  // A page is one, and a session.
  bool may_be_no_object() const { return depth_ > 0 && (!in_list_ || depth_ != list_depth); }
  // Of a session's text.
  void tell(std::string_view piece) {
    static constexpr std::string_view before_first("{[:");
    if (!text_.empty() && before_first.find(text_.back()) == before_first.npos) text_ += ',';
    text_ += piece;
  }
  bool value(std::string_view piece) {
    if (in_session()) tell(piece);
    return may_be_no_object();
  }
  bool open(char with) {
    if (in_list_) tell(std::string_view(&with, 1));
    return ++depth_ <= most_depth;
  }
  void close(char with) {
    if (--depth_ >= list_depth && in_list_) text_ += with;
  }

  SessionPage page_;
  std::size_t depth_ = 0;
  std::string key_;
  bool in_list_ = false;
  bool has_total_ = false;
  bool has_sessions_ = false;
  std::optional<std::string> created_;
  std::optional<std::string> id_;
  std::string text_;
};

}  // namespace

std::optional<SessionPage> page_of_json(std::string_view text) {
  PageReader reader;
  if (!Json::sax_parse(text, &reader)) return std::nullopt;
  return reader.take();
}

std::string page_json(const SessionPage& page, std::size_t limit, std::size_t offset) {
  std::string sessions;
  for (const SessionPage::Entry& entry : page.sessions)
    sessions += (sessions.empty() ? "" : ",") + entry.json;
  return fmt::format(R"({{"sessions":[{}],"total":{},"limit":{},"offset":{}}})", sessions,
                     page.total, limit, offset);
}

std::string merged_json(std::vector<SessionPage> pages, std::size_t limit, std::size_t offset) {
  SessionPage all;
  for (SessionPage& page : pages) {
    all.total += page.total;
    std::ranges::move(page.sessions, std::back_inserter(all.sessions));
  }
  // Two that were made in the same millisecond have some order, which is always the same.
  std::ranges::stable_sort(all.sessions, std::greater<>(), [](const SessionPage::Entry& entry) {
    return std::tie(entry.created, entry.id);
  });
  SessionPage page{.sessions = {}, .total = all.total};
  for (std::size_t i = offset; i < all.sessions.size() && i - offset < limit; ++i)
    page.sessions.push_back(std::move(all.sessions[i]));
  return page_json(page, limit, offset);
}

}  // namespace cloche::cluster
