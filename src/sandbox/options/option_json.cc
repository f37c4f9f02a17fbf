// SPDX-License-Identifier: Apache-2.0
#include "sandbox/options/option_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/options/sandbox_option.h"

namespace cloche::sandbox {
namespace {

using namespace option;

constexpr std::array<std::string_view, 2> groups{"limits", "network"};

// "limits." of "limits.memoryBytes"; empty for a name without a group.
std::string_view place_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == name.npos ? std::string_view() : name.substr(0, dot + 1);
}

std::string_view leaf_of(std::string_view name) { return name.substr(place_of(name).size()); }

void refuse_others(const Json& given, std::string_view place,
                   std::span<const std::string_view> names) {
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw WrongMember(fmt::format("there is no option '{}{}': there is {}", place,
                                  std::string_view(name).substr(0, 100), fmt::join(names, ", ")));
  }
}

Mount mount_of(const Json& given, OtherMembers others) {
  static constexpr std::array<std::string_view, 3> names{"host", "guest", "readOnly"};
  const JsonMembers members(given, "mounts.");
  if (others != OtherMembers::left_alone) refuse_others(given, "mounts.", names);
  return {members.word("host"), members.word("guest"),
          members.flag("readOnly") ? Mount::Access::read_only : Mount::Access::read_write};
}

// Sets one option from the member `name` of `members`, where that is there.
struct Reader {
  SandboxOptions& options;
  const JsonMembers& members;
  const char* name;
  OtherMembers others;

  void operator()(const Bytes& kind) const {
    const std::uint64_t least = kind.zero == Zero::refused ? 1 : 0;
    if (const auto bytes = members.optional_bytes(name, {.least = least}))
      kind.member(options) = *bytes;
  }
  void operator()(const Time& kind) const {
    if (const auto time = members.optional_ms(name)) kind.member(options) = *time;
  }
  void operator()(const Count& kind) const {
    if (const auto count = members.optional_count(name, {.least = 1, .most = kind.most}))
      kind.member(options) = static_cast<std::uint32_t>(*count);
  }
  void operator()(const LargeCount& kind) const {
    if (const auto count = members.optional_count(name, {.least = 1}))
      kind.member(options) = *count;
  }
  void operator()(const Words& kind) const {
    for (std::string& word : members.words(name)) kind.member(options).push_back(std::move(word));
  }
  void operator()(const Rules& kind) const {
    for (std::string& rule : members.words(name)) kind.member(options).push_back(std::move(rule));
  }
  void operator()(const Variables& kind) const {
    for (auto& [variable, value] : members.word_map(name)) {
      if (variable.empty() || variable.find('=') != variable.npos)
        throw members.wrong(name, "an object of strings, its names without '='");
      kind.member(options)[variable] = value;
    }
  }
  void operator()(const Name& kind) const {
    if (const auto word = members.optional_word(name)) kind.member(options) = *word;
  }
  void operator()(const option::Engine& kind) const {
    if (const auto word = members.optional_word(name))
      kind.member(options) = engine_named(name, *word);
  }
  void operator()(const IsolationName& kind) const {
    if (const auto word = members.optional_word(name))
      kind.member(options) = isolation_named(name, *word);
  }
  void operator()(const Path& kind) const {
    if (const auto path = members.optional_word(name)) kind.member(options) = *path;
  }
  void operator()(const FolderPath& kind) const {
    if (const auto path = members.optional_word(name)) kind.member(options) = *path;
  }
  void operator()(const FileContent& kind) const {
    if (const auto text = members.optional_text(name)) kind.member(options) = *text;
  }
  void operator()(const Mounts&) const {
    for (const Json& mount : members.objects(name))
      options.mounts.push_back(mount_of(mount, others));
  }
  void operator()(const WheelFolder&) const {}  // a mount says it
  void operator()(const Secrets&) const {
    const Json* secrets = members.find(name);
    if (secrets == nullptr) return;
    static constexpr std::array<std::string_view, 2> secret_names{"value", "hosts"};
    const char* const wanted = "an object of {value, hosts}";
    if (!secrets->is_object()) throw members.wrong(name, wanted);
    for (const auto& [secret, given] : secrets->items()) {
      if (!given.is_object()) throw members.wrong(name, wanted);
      const JsonMembers about(given, "network.secrets.");
      if (others != OtherMembers::left_alone)
        refuse_others(given, "network.secrets.", secret_names);
      options.network.secrets[secret] = {.value = about.word("value"),
                                         .hosts = about.words("hosts")};
    }
  }
};

Json limits_of(const JsonMembers& members) {
  const Json* limits = members.find("limits");
  if (limits == nullptr) return Json::object();
  if (!limits->is_object()) throw members.wrong("limits", "an object");
  return *limits;
}

Json network_of(const JsonMembers& members) {
  const Json* network = members.find("network");
  if (network == nullptr || (network->is_boolean() && !network->get<bool>())) return Json::object();
  if (network->is_array()) return {{"allow", *network}};
  if (network->is_object()) return *network;
  throw members.wrong("network", "false, a list of rules, or an object with 'allow'");
}

// The names of the options of a group, or of those without one and the groups themselves.
std::vector<std::string_view> names_in(std::string_view place) {
  std::vector<std::string_view> names;
  for (const SandboxOption& option : sandbox_options()) {
    if (!option.json.empty() && place_of(option.json) == place)
      names.push_back(leaf_of(option.json));
  }
  if (place.empty()) names.insert(names.end(), groups.begin(), groups.end());
  return names;
}

}  // namespace

void read_options(const Json& given, SandboxOptions& options, OtherMembers others) {
  const JsonMembers top(given);
  const Json limits = limits_of(top), network = network_of(top);
  if (others == OtherMembers::refused) refuse_others(given, "", names_in(""));
  if (others != OtherMembers::left_alone) {
    refuse_others(limits, "limits.", names_in("limits."));
    refuse_others(network, "network.", names_in("network."));
  }
  if (top.find("network") != nullptr) options.network.allow.clear();
  for (const SandboxOption& option : sandbox_options()) {
    if (option.json.empty()) continue;
    const std::string_view place = place_of(option.json);
    const JsonMembers members(place == "limits."    ? limits
                              : place == "network." ? network
                                                    : given,
                              place);
    const std::string name(leaf_of(option.json));
    std::visit(Reader{options, members, name.c_str(), others}, option.kind);
  }
}

Json option_members(const Json& given) {
  Json members = Json::object();
  for (const std::string_view name : names_in("")) {
    if (const auto found = given.find(name); found != given.end())
      members[std::string(name)] = *found;
  }
  return members;
}

}  // namespace cloche::sandbox
