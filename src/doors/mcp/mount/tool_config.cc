// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_config.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/guest_folders.h"
#include "base/host_error.h"
#include "base/read_fully.h"
#include "doors/mcp/message.h"

namespace cloche::mcp::mount {
namespace {

constexpr std::size_t config_limit_bytes = std::size_t{1} << 20;
constexpr std::size_t server_limit = 64;
constexpr std::size_t word_limit_bytes = std::size_t{64} << 10;
constexpr double longest_call_s = 24 * 60 * 60;

// One server of the file, and how it is called in sentences.
class Entry {
 public:
  Entry(std::string name, const Json& value, const Variables& variables)
      : name_(std::move(name)), value_(value), variables_(variables) {
    if (!value_.is_object()) fail("must be an object");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw request_error(fmt::format("the tool server '{}' {}", shown(name_), what));
  }

  bool is_disabled() const {
    const Json* disabled = member(value_, "disabled");
    return disabled != nullptr && disabled->is_boolean() && disabled->get<bool>();
  }

  // Empty: it is not there.
  std::string text(const char* name) const {
    const Json* there = member(value_, name);
    if (there == nullptr || there->is_null()) return {};
    if (!there->is_string()) fail(fmt::format("has a '{}' that is no text", name));
    return there->get<std::string>();
  }

  std::optional<std::vector<std::string>> texts(const char* name) const {
    const Json* there = member(value_, name);
    if (there == nullptr || there->is_null()) return std::nullopt;
    if (!there->is_array()) fail(fmt::format("has '{}' that is no list of texts", name));
    std::vector<std::string> all;
    for (const Json& one : *there) {
      if (!one.is_string()) fail(fmt::format("has '{}' that is no list of texts", name));
      all.push_back(one.get<std::string>());
    }
    return all;
  }

  std::map<std::string, std::string> env() const {
    const Json* there = member(value_, "env");
    std::map<std::string, std::string> all;
    if (there == nullptr || there->is_null()) return all;
    if (!there->is_object()) fail("has an 'env' that is no object of texts");
    for (const auto& [variable, text] : there->items()) {
      if (!text.is_string() || variable.empty() || variable.find('=') != std::string::npos)
        fail("has an 'env' that is no object of texts");
      all.emplace(for_a_process(variable), filled(text.get<std::string>()));
    }
    return all;
  }

  std::optional<double> number(const char* name) const {
    const Json* there = member(value_, name);
    if (there == nullptr || there->is_null()) return std::nullopt;
    if (!there->is_number()) fail(fmt::format("has a '{}' that is no number", name));
    return there->get<double>();
  }

  bool has(const char* name) const { return member(value_, name) != nullptr; }

  // With the values of variables in the place of ${NAME} and ${NAME:-WORD}.
  std::string filled(const std::string& text) const {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t start = text.find("${", at);
      const std::size_t end = start == std::string::npos ? start : text.find('}', start);
      if (end == std::string::npos) {
        result.append(text, at, std::string::npos);
        break;
      }
      result.append(text, at, start - at);
      result += value_of(text.substr(start + 2, end - start - 2));
      at = end + 1;
    }
    return for_a_process(std::move(result));
  }

 private:
  // NAME or NAME:-WORD.
  std::string value_of(const std::string& inside) const {
    const std::size_t dash = inside.find(":-");
    const std::string variable = inside.substr(0, dash);
    const std::optional<std::string> value = variables_(variable);
    if (dash != std::string::npos)
      return value && !value->empty() ? *value : inside.substr(dash + 2);
    if (!value) fail(fmt::format("wants the variable {}, which is not set", shown(variable)));
    return *value;
  }

  std::string for_a_process(std::string text) const {
    if (text.find('\0') != std::string::npos) fail("has a text with a NUL byte");
    if (text.size() > word_limit_bytes)
      fail(fmt::format("has a text of more than {} bytes", word_limit_bytes));
    return text;
  }

  const std::string name_;
  const Json& value_;
  const Variables& variables_;
};

ToolServerConfig server_of(const std::string& name, const Entry& entry) {
  ToolServerConfig server;
  server.name = name;
  server.prefix = entry.text("prefix");
  server.tools = entry.texts("tools");
  const std::string command = entry.text("command");
  if (command.empty() && (entry.has("url") || entry.has("serverUrl"))) {
    entry.fail(
        "is one at a url: only those that a 'command' starts can be mounted, and a bridge such as "
        "npx mcp-remote URL makes it one");
  }
  if (command.empty()) entry.fail("has no 'command'");
  server.words.push_back(entry.filled(command));
  for (const std::string& word : entry.texts("args").value_or(std::vector<std::string>()))
    server.words.push_back(entry.filled(word));
  server.env = entry.env();
  server.cwd = entry.filled(entry.text("cwd"));
  if (const std::optional<double> seconds = entry.number("timeout_s")) {
    if (!(*seconds > 0 && *seconds <= longest_call_s))
      entry.fail(fmt::format("has a 'timeout_s' that is not from 0 to {}", longest_call_s));
    server.call_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000) + 1);
  }
  return server;
}

// What it names is started outside of all sandboxes: no guest is to write it.
std::string text_of(const std::string& path) {
  const auto fail = [](const HostError& problem) {
    throw HostError("--mount-tools: cannot read " + std::string(problem.sentence()),
                    problem.code());
  };
  const auto place = guest_folders().find(path, GuestFolders::LastLink::followed);
  if (!place) fail(place.error());
  if (place->is_guests)
    throw HostError(fmt::format("--mount-tools: {} lies in a folder that guests may write to, and "
                                "names programs that this machine starts: have it elsewhere",
                                path),
                    Errno::acces);
  const auto file = open_to_read(*place, path);
  if (!file) fail(file.error());
  Result<std::string> text = read_fully(file->get(), config_limit_bytes);
  if (!text && text.error() == Errno::fbig)
    throw request_error(
        fmt::format("--mount-tools: {} has more than {} bytes", path, config_limit_bytes));
  if (!text) fail(HostError::from_errno(path, static_cast<int>(text.error())));
  if (text->empty()) throw request_error(fmt::format("--mount-tools: {} is empty", path));
  return *std::move(text);
}

}  // namespace

std::vector<ToolServerConfig> read_tool_config(std::string_view text, const Variables& variables) {
  const auto read = read_json<Json>(text, {.depth = 16, .values = 100'000});
  if (const auto* problem = std::get_if<JsonProblem>(&read))
    throw request_error(fmt::format("the list of tool servers is wrong: {}", problem->sentence));
  const Json* servers = member(std::get<Json>(read), "mcpServers");
  if (servers == nullptr || !servers->is_object()) {
    throw request_error(
        R"(a list of tool servers is {"mcpServers": {"NAME": {"command": "...", "args": [...]}}})");
  }
  if (servers->size() > server_limit)
    throw request_error(fmt::format("there are more than {} tool servers", server_limit));
  std::vector<ToolServerConfig> all;
  for (const auto& [name, value] : servers->items()) {
    const Entry entry(name, value, variables);
    if (!entry.is_disabled()) all.push_back(server_of(name, entry));
  }
  return all;
}

std::vector<ToolServerConfig> load_tool_config(const std::string& path) {
  const std::string text = text_of(path);
  try {
    return read_tool_config(text, [](const std::string& name) -> std::optional<std::string> {
      const char* value =
          std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets any
      if (value == nullptr) return std::nullopt;
      return value;
    });
  } catch (const Error& problem) {
    throw request_error(fmt::format("--mount-tools: {}: {}", path, problem.sentence()),
                        problem.code());
  }
}

}  // namespace cloche::mcp::mount
