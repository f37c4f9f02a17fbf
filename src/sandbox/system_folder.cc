// SPDX-License-Identifier: Apache-2.0
#include "sandbox/system_folder.h"

#include <charconv>
#include <optional>

#include "base/host_error.h"
#include "vfs/shared_bytes.h"

namespace cloche::sandbox {
namespace {

constexpr std::string_view first_line = "cloche-system 2";

// Takes what stands before the next `end`, which goes too; all of it where there is none.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

template <typename Number>
bool read_number(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number, base);
  return error == std::errc() && end == text.end();
}

std::optional<SystemEntry> read_entry(std::string_view line) {
  SystemEntry entry;
  const std::string_view kind = take_until(line, '\t');
  bool whole = true;
  if (kind == "l") {
    entry.kind = SystemEntry::Kind::symlink;
    entry.target = take_until(line, '\t');
    whole = !entry.target.empty();
  } else {
    whole = read_number(take_until(line, '\t'), entry.mode, 8) && entry.mode <= 07777;
    if (kind == "d") {
      entry.kind = SystemEntry::Kind::directory;
    } else if (kind == "p") {
      entry.kind = SystemEntry::Kind::program;
    } else {
      whole = whole && kind == "f" && read_number(take_until(line, '\t'), entry.offset, 10) &&
              read_number(take_until(line, '\t'), entry.size, 10);
    }
  }
  entry.path = line;
  if (!whole || entry.path.empty()) return std::nullopt;
  return entry;
}

}  // namespace

void for_each_entry(const std::filesystem::path& folder,
                    const std::function<void(const SystemEntry&)>& use) {
  const std::filesystem::path path = folder / "system.index";
  if (!std::filesystem::exists(path))
    throw HostError("cannot read " + path.string() + ": run `make` to build the guests' system");
  const vfs::SharedBytes content = vfs::SharedBytes::map_file(path.string());
  std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  bool readable = take_until(text, '\n') == first_line && text.ends_with('\n');
  while (readable && !text.empty()) {
    const std::optional<SystemEntry> entry = read_entry(take_until(text, '\n'));
    readable = entry.has_value();
    if (entry) use(*entry);
  }
  if (!readable) {
    throw HostError(path.string() +
                    " is damaged or of another version: remove its folder and run `make`");
  }
}

}  // namespace cloche::sandbox
