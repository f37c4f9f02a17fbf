// SPDX-License-Identifier: Apache-2.0
#include "session/state_file_head.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/hex.h"
#include "base/json_lookup.h"
#include "base/sha256.h"

namespace cloche::session {
namespace {

constexpr std::string_view any_release = "cloche session ";
constexpr std::string_view this_release = "cloche session 2\n";
constexpr int old_format = 1;
constexpr std::size_t piece_bytes = 16 << 10;
constexpr std::size_t head_max_bytes = 16 << 20;

std::int64_t milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// A file may say any time: the clock has those of some centuries.
WallTime wall_time(std::int64_t ms) {
  using std::chrono::milliseconds;
  const auto most = std::chrono::floor<milliseconds>(WallTime::max().time_since_epoch());
  return WallTime(milliseconds(std::clamp(ms, -most.count(), most.count())));
}

bool read_facts(const Json& json, StateHead& head) try {
  head.facts = {.id = json.at("id"),
                .owner = json.at("owner"),
                .metadata = json.at("metadata"),
                .image = json.at("image"),
                .ssh_public_key = json.at("ssh_public_key"),
                .parent = json.value("parent", ""),
                .door = json.value("door", ""),
                .wish = json.value("wish", ""),
                .created = wall_time(json.at("created_ms")),
                .expires = json.at("expires_ms").is_null() ? WallTime::max()
                                                           : wall_time(json.at("expires_ms")),
                .sequence = 0};
  head.status = json.at("paused") ? Status::paused : Status::running;
  if (head.is_old) return json.at("format") == old_format;
  head.name = json.at("name");
  head.after = json.at("after");
  head.has_part = json.at("part");
  head.live = json.value("live", "");
  // It becomes a part of a file's name.
  return head.live.size() <= 64 &&
         head.live.find_first_not_of("0123456789abcdef") == std::string::npos;
} catch (const Json::exception&) {
  return false;
}

// The text of a file, as much of it as is asked for.
class Beginning {
 public:
  Beginning(HostFiles& files, int fd) : files_(files), fd_(fd) {}

  // Up to the end of the file.
  Result<void> have(std::size_t bytes) {
    while (text_.size() < bytes && !ended_) {
      const std::size_t old = text_.size();
      text_.resize(old + piece_bytes);
      const auto count =
          files_.read_at(fd_, old, std::as_writable_bytes(std::span(text_).subspan(old)));
      text_.resize(old + (count ? *count : 0));
      if (!count) return count.error();
      ended_ = *count == 0;
    }
    return {};
  }
  // The place after the next newline from `at` on; nothing: there is none.
  Result<std::optional<std::size_t>> line_end(std::size_t at) {
    for (std::size_t seen = at;;) {
      const std::size_t end = text_.find('\n', seen);
      if (end != text_.npos) return std::optional(end + 1);
      if (ended_ || text_.size() > head_max_bytes) return std::optional<std::size_t>();
      seen = text_.size();
      CLOCHE_TRY(have(seen + 1));
    }
  }
  const std::string& text() const { return text_; }
  bool has_more_than(std::size_t bytes) const { return text_.size() > bytes; }

 private:
  HostFiles& files_;
  const int fd_;
  std::string text_;
  bool ended_ = false;
};

Result<std::optional<StateHead>> parse(Beginning& file) {
  const std::optional<StateHead> damaged;
  StateHead head;
  head.is_old = !file.text().starts_with(this_release);
  const std::size_t begin = head.is_old ? Sha256::size : this_release.size();
  if (file.text().size() < begin) return damaged;
  CLOCHE_ASSIGN(const auto end, file.line_end(begin));
  if (!end) return damaged;
  const std::optional<Json> json =
      parse_json(std::string_view(file.text()).substr(begin, *end - begin));
  if (!json || !json->is_object() || !read_facts(*json, head)) return damaged;
  head.bytes = *end;
  if (head.is_old) {
    const auto digest = std::as_bytes(std::span(file.text()).first(Sha256::size));
    head.name = to_hex({reinterpret_cast<const std::uint8_t*>(digest.data()), digest.size()});
    CLOCHE_TRY(file.have(*end + 1));
    head.has_part = file.has_more_than(*end);
    // What follows has a checksum of its own.
    if (!head.has_part &&
        head.name != to_hex(sha256(std::string_view(file.text()).substr(Sha256::size))))
      return damaged;
    return std::optional(std::move(head));
  }
  CLOCHE_ASSIGN(const auto digest_end, file.line_end(*end));
  const std::string_view text = file.text();
  if (!digest_end ||
      text.substr(*end, *digest_end - *end - 1) != to_hex(sha256(text.substr(0, *end))))
    return damaged;
  head.bytes = *digest_end;
  return std::optional(std::move(head));
}

}  // namespace

std::string head_text(const StateHead& head) {
  const Facts& facts = head.facts;
  Json json = {{"id", facts.id},
               {"owner", facts.owner},
               {"metadata", facts.metadata},
               {"image", facts.image},
               {"ssh_public_key", facts.ssh_public_key},
               {"parent", facts.parent},
               {"door", facts.door},
               {"wish", facts.wish},
               {"created_ms", milliseconds(facts.created)},
               {"expires_ms", nullptr},
               {"paused", head.status == Status::paused},
               {"name", head.name},
               {"after", head.after},
               {"part", head.has_part}};
  if (!head.live.empty()) json["live"] = head.live;
  if (facts.expires != WallTime::max()) json["expires_ms"] = milliseconds(facts.expires);
  std::string text(this_release);
  text += json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  return text + to_hex(sha256(text)) + "\n";
}

std::variant<StateHead, HeadProblem> read_head(HostFiles& files, const std::string& path) {
  const auto opened = files.open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0);
  if (!opened) {
    const bool no_file = opened.error() == Errno::loop || opened.error() == Errno::nxio;
    return no_file ? HeadProblem::no_file : HeadProblem::unreadable;
  }
  struct stat status{};
  if (::fstat(opened->get(), &status) != 0) return HeadProblem::unreadable;
  if (!S_ISREG(status.st_mode)) return HeadProblem::no_file;
  Beginning file(files, opened->get());
  if (!file.have(1)) return HeadProblem::unreadable;
  if (file.text().starts_with(any_release) && !file.text().starts_with(this_release) &&
      file.text().substr(any_release.size(), 1).find_first_of("3456789") == 0)
    return HeadProblem::of_later_release;
  Result<std::optional<StateHead>> head = parse(file);
  if (!head) return HeadProblem::unreadable;
  if (!*head) return HeadProblem::damaged;
  return **std::move(head);
}

}  // namespace cloche::session
