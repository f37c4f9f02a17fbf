// SPDX-License-Identifier: Apache-2.0
// Options as a command line has them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/guest_folders.h"
#include "base/host_error.h"
#include "base/json_members.h"
#include "base/read_fully.h"
#include "base/units.h"
#include "net/rule.h"
#include "sandbox/host_folders.h"
#include "sandbox/options/mountable.h"
#include "sandbox/options/sandbox_option.h"

namespace cloche::sandbox {
namespace {

using namespace option;

constexpr std::size_t most_certificate_bytes = 4 << 20;

[[noreturn]] void refuse(std::string_view name, std::string_view wanted, std::string_view given) {
  throw request_error(fmt::format("{} wants {}; not '{}'", name, wanted, given));
}

std::uint64_t count_of(std::string_view name, const std::string& text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value == 0 ||
      value > most)
    refuse(name, fmt::format("a number from 1 to {}", most), text);
  return value;
}

std::filesystem::path folder_of(std::string_view name, std::string_view given) {
  std::filesystem::path folder(given);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw request_error(fmt::format("{}: '{}' is not a folder of this machine", name, given),
                        Errno::noent);
  return folder;
}

constexpr std::array<std::pair<std::string_view, EngineKind>, 2> engines{
    {{"wasm", EngineKind::wasm}, {"linux", EngineKind::native_linux}}};

constexpr std::array<std::pair<std::string_view, Isolation>, 2> isolations{
    {{"full", Isolation::full}, {"gvisor", Isolation::gvisor}}};

// What one value of a command line does.
struct Setter {
  SandboxOptions& options;
  std::string_view name;
  const std::string& text;

  void operator()(const Bytes& kind) const {
    const auto bytes = parse_bytes(text);
    if (!bytes || (*bytes == 0 && kind.zero == Zero::refused))
      refuse(name, "a number of bytes, such as 268435456, 512K, 256M or 2G", text);
    kind.member(options) = *bytes;
  }
  void operator()(const Time& kind) const {
    constexpr std::chrono::milliseconds longest = JsonMembers::longest_time;
    const auto time = parse_duration(text, std::chrono::milliseconds(1));
    if (!time || *time > longest)
      refuse(name,
             fmt::format("milliseconds from 0 to {}, or a time such as 30s or 5m; 0 for no limit",
                         longest.count()),
             text);
    kind.member(options) = *time;
  }
  void operator()(const Count& kind) const {
    kind.member(options) = static_cast<std::uint32_t>(count_of(name, text, kind.most));
  }
  void operator()(const LargeCount& kind) const {
    kind.member(options) = count_of(name, text, UINT64_MAX);
  }
  void operator()(const Words& kind) const {
    if (kind.text == Text::one) return kind.member(options).push_back(text);
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t end = std::min(text.find(',', start), text.size());
      if (end > start) kind.member(options).push_back(text.substr(start, end - start));
      start = end + 1;
    }
  }
  void operator()(const Rules& kind) const { kind.member(options).push_back(text); }
  void operator()(const Variables& kind) const {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) refuse(name, "NAME=VALUE", text);
    kind.member(options).insert_or_assign(text.substr(0, equals), text.substr(equals + 1));
  }
  void operator()(const Name& kind) const {
    if (text.empty()) refuse(name, "a name", text);
    kind.member(options) = text;
  }
  void operator()(const option::Engine& kind) const {
    kind.member(options) = engine_named(name, text);
  }
  void operator()(const IsolationName& kind) const {
    kind.member(options) = isolation_named(name, text);
  }
  void operator()(const Path& kind) const {
    if (text.empty()) refuse(name, "a file", text);
    kind.member(options) = text;
  }
  void operator()(const FolderPath& kind) const { kind.member(options) = folder_of(name, text); }
  void operator()(const FileContent& kind) const {
    const auto file = guest_folders().open_to_read(text);
    if (!file)
      throw request_error(fmt::format("{}: cannot read {}", name, file.error().sentence()),
                          file.error().code());
    Result<std::string> content = read_fully(file->get(), most_certificate_bytes);
    if (!content && content.error() == Errno::fbig) refuse(name, "a file of 4 MiB at most", text);
    if (!content)
      throw request_error(fmt::format("{}: cannot read '{}'", name, text), content.error());
    kind.member(options) = *std::move(content);
  }
  void operator()(const Mounts&) const {
    std::string_view rest = text;
    Mount mount;
    if (rest.ends_with(":ro")) mount.access = Mount::Access::read_only;
    if (rest.ends_with(":ro") || rest.ends_with(":rw")) rest.remove_suffix(3);
    const std::size_t colon = rest.rfind(":/");
    if (colon == 0 || colon == rest.npos)
      refuse(name, "HOST:GUEST or HOST:GUEST:ro, GUEST an absolute path", text);
    mount.host_path = rest.substr(0, colon);
    need_mountable(mount.host_path, name);
    mount.guest_path = rest.substr(colon + 1);
    if (mount.guest_path.find(':') != std::string::npos)
      refuse(name, "HOST:GUEST or HOST:GUEST:ro, GUEST without a colon", text);
    options.mounts.push_back(std::move(mount));
  }
  void operator()(const WheelFolder&) const {
    options.mounts.push_back(
        {folder_of(name, text), std::string(wheels_path), Mount::Access::read_only});
  }
  void operator()(const Secrets&) const { refuse(name, "no value on a command line", text); }
};

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::string_view units = "KMGT";
  std::size_t power = 0;
  while (power < units.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return power == 0 ? std::to_string(bytes) : fmt::format("{}{}", bytes, units[power - 1]);
}

}  // namespace

std::string_view engine_name(EngineKind engine) noexcept {
  return std::ranges::find(engines, engine, &decltype(engines)::value_type::second)->first;
}

EngineKind engine_named(std::string_view name, std::string_view text) {
  const auto* found = std::ranges::find(engines, text, &decltype(engines)::value_type::first);
  if (found == engines.end()) refuse(name, "wasm or linux", text);
  return found->second;
}

std::string_view isolation_name(Isolation isolation) noexcept {
  return std::ranges::find(isolations, isolation, &decltype(isolations)::value_type::second)->first;
}

Isolation isolation_named(std::string_view name, std::string_view text) {
  const auto* found = std::ranges::find(isolations, text, &decltype(isolations)::value_type::first);
  if (found == isolations.end()) refuse(name, "full or gvisor", text);
  return found->second;
}

void set_option(SandboxOptions& options, const SandboxOption& option, std::string_view name,
                const std::string& text) {
  // A sandbox that may connect to nothing reads none of them.
  if (option.value == "RULE") (void)net::Rule(text);
  std::visit(Setter{options, name, text}, option.kind);
}

bool is_repeatable(const SandboxOption& option) {
  return std::holds_alternative<Words>(option.kind) || std::holds_alternative<Rules>(option.kind) ||
         std::holds_alternative<Variables>(option.kind) ||
         std::holds_alternative<Mounts>(option.kind);
}

std::string default_text(const SandboxOption& option) {
  SandboxOptions usual;
  if (const auto* kind = std::get_if<Bytes>(&option.kind)) return bytes_text(kind->member(usual));
  if (const auto* kind = std::get_if<Time>(&option.kind))
    return std::to_string(kind->member(usual).count());
  if (const auto* kind = std::get_if<Count>(&option.kind))
    return std::to_string(kind->member(usual));
  if (const auto* kind = std::get_if<LargeCount>(&option.kind))
    return std::to_string(kind->member(usual));
  if (const auto* kind = std::get_if<Name>(&option.kind)) return kind->member(usual);
  if (const auto* kind = std::get_if<option::Engine>(&option.kind))
    return std::string(engine_name(kind->member(usual)));
  if (const auto* kind = std::get_if<IsolationName>(&option.kind))
    return std::string(isolation_name(kind->member(usual)));
  return "none";
}

std::string option_lines(std::string_view prefix) {
  constexpr std::size_t column = 28, width = 100;
  std::string page;
  for (const SandboxOption& option : sandbox_options()) {
    if (option.flag.empty()) continue;
    std::string line = fmt::format("  {}{} {}", prefix, option.flag, option.value);
    const std::string words = fmt::format("{} ({}{})", option.help, default_text(option),
                                          is_repeatable(option) ? "; may be repeated" : "");
    // A long flag has a line of its own.
    if (line.size() + 2 > column) {
      page += line + "\n";
      line.clear();
    }
    line.resize(column, ' ');
    for (std::size_t start = 0; start < words.size();) {
      const std::size_t end = std::min(words.find(' ', start), words.size());
      if (line.size() + (end - start) > width) {
        page += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line.assign(column, ' ');
      }
      line.append(words, start, end - start).push_back(' ');
      start = end + 1;
    }
    page += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return page;
}

}  // namespace cloche::sandbox
