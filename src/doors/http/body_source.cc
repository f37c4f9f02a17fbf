// SPDX-License-Identifier: Apache-2.0
#include "doors/http/body_source.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/json_string.h"

namespace cloche::http {
namespace {

constexpr std::size_t made_at_once_bytes = 64 << 10;
constexpr std::size_t piece_bytes = 64 << 10;

class OutputBody final : public BodySource {
 public:
  struct Part {
    std::string text;
    bool is_string;  // what the program has written, to be escaped
  };
  explicit OutputBody(std::array<Part, 5> parts) : parts_(std::move(parts)) {
    for (const Part& part : parts_) {
      kept_ += part.text.size();
      size_ += part.is_string ? json_text_size(part.text) : part.text.size();
    }
  }

  std::uint64_t size() const override { return size_; }
  std::uint64_t kept_bytes() const override { return kept_; }

  bool next(std::string& to) override {
    const std::size_t start = to.size();
    while (which_ < parts_.size() && to.size() - start < piece_bytes) {
      Part& part = parts_[which_];
      if (part.is_string) {
        at_ = append_json_text(to, part.text, at_, piece_bytes);
      } else {
        to += part.text;
        at_ = part.text.size();
      }
      if (at_ < part.text.size()) continue;
      part.text = {};
      at_ = 0;
      ++which_;
    }
    return true;
  }

 private:
  std::array<Part, 5> parts_;
  std::uint64_t kept_ = 0;
  std::uint64_t size_ = 0;
  std::size_t which_ = 0;
  std::size_t at_ = 0;  // in that part
};

}  // namespace

bool PieceSource::next(std::string& to) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end_ - at_, piece_bytes));
  if (wanted == 0) return true;
  const std::optional<std::string> piece = read(at_, wanted);
  if (!piece || piece->size() != wanted) return false;
  at_ += wanted;
  to += *piece;
  return true;
}

Response output_response(int status, std::string_view before, std::string output,
                         std::string_view between, std::string errors, std::string_view after) {
  if (output.size() + errors.size() <= made_at_once_bytes) {
    std::string body;
    body.reserve(before.size() + output.size() + between.size() + errors.size() + after.size() +
                 64);
    body += before;
    append_json_string(body, output);
    body += between;
    append_json_string(body, errors);
    body += after;
    return json_response(status, std::move(body));
  }
  Response response = json_response(status, {});
  response.source = std::make_shared<OutputBody>(
      std::array<OutputBody::Part, 5>{OutputBody::Part{std::string(before) + '"', false},
                                      {std::move(output), true},
                                      {'"' + std::string(between) + '"', false},
                                      {std::move(errors), true},
                                      {'"' + std::string(after), false}});
  return response;
}

}  // namespace cloche::http
