// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/written.h"

#include <fmt/format.h>

#include "base/random.h"
#include "base/utf8.h"

namespace cloche::mcp {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// How many bytes the first `count` characters have.
std::size_t bytes_of_first(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && count-- == 0) break;
  }
  return at;
}

// Where the whole is, or why it is nowhere.
std::string place_of_whole(Sandbox& sandbox, const Capture::Bytes& bytes, std::string_view name) {
  const std::string path = fmt::format("/tmp/{}-{}.txt", name, random_hex(4));
  const Result<void> kept = sandbox.files().write(path, bytes.text);
  if (!kept) {
    return fmt::format("the whole could not be kept in {}: {}", path,
                       errno_info(kept.error()).message);
  }
  if (bytes.dropped_bytes == 0)
    return fmt::format("the whole is in {}: search it with bash, such as grep -n", path);
  return fmt::format("the first {} bytes are in {}, {} more were dropped", bytes.text.size(), path,
                     bytes.dropped_bytes);
}

std::string cut(Sandbox& sandbox, const Capture::Bytes& bytes, std::string_view name,
                bool& truncated) {
  std::string text = valid_utf8(bytes.text);
  const std::size_t characters = characters_of(text);
  if (characters <= stream_limit_characters && bytes.dropped_bytes == 0) return text;
  truncated = true;
  constexpr std::size_t half = stream_limit_characters / 2;
  const std::size_t first = bytes_of_first(text, half);
  const std::size_t last = bytes_of_first(text, std::max(characters, half) - half);
  if (last <= first) {  // nothing is cut here, but there was more than was kept
    return fmt::format("{}\n[{}]\n", text, place_of_whole(sandbox, bytes, name));
  }
  return fmt::format("{}\n[... {} characters are left out here; {} ...]\n{}",
                     std::string_view(text).substr(0, first), characters - 2 * half,
                     place_of_whole(sandbox, bytes, name), std::string_view(text).substr(last));
}

}  // namespace

void Capture::take(Stream stream, std::string_view data) {
  progress_.note(data);
  const MutexLock lock(mutex_);
  Bytes& to = stream == Stream::out ? out_ : err_;
  const std::size_t fits = std::min(data.size(), limit_bytes - to.text.size());
  to.text.append(data.substr(0, fits));
  to.dropped_bytes += data.size() - fits;
}

Written written(Sandbox& sandbox, const Capture::Bytes& out, const Capture::Bytes& err) {
  Written text;
  text.out = cut(sandbox, out, "stdout", text.truncated);
  text.err = cut(sandbox, err, "stderr", text.truncated);
  return text;
}

void add_part(std::string& text, std::string_view part) {
  if (part.empty()) return;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += part;
}

std::string text_of(const Written& written, std::string_view between, std::string_view ending) {
  std::string text = written.out;
  add_part(text, between);
  if (!written.err.empty()) {
    add_part(text, "stderr:\n");
    text += written.err;
  }
  if (text.empty()) text = "(no output)";
  add_part(text, ending);
  return text;
}

std::string seconds_text(std::chrono::nanoseconds time) {
  return fmt::format("{:.3g}", std::chrono::duration<double>(time).count());
}

std::int64_t milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

}  // namespace cloche::mcp
