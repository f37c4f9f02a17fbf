// SPDX-License-Identifier: Apache-2.0
#include "sandbox/options/option_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "net/rule.h"
#include "sandbox/options/option_json.h"

namespace cloche::sandbox {
namespace {

using namespace option;

constexpr std::size_t shown_max = 100;  // of what a client has written

// Of two spellings of one folder both are the same; links are not followed.
std::filesystem::path spelled(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  return one == other || (!one.empty() && !other.empty() && spelled(one) == spelled(other));
}

// Holds one option to its bounds.
struct Bound {
  SandboxOptions& options;
  const SandboxOptions& usual;
  std::span<const Grant> grants;
  const SandboxOption& option;
  Beyond beyond;

  [[noreturn]] void refuse(std::string_view wanted) const {
    throw request_error(
        fmt::format("'{}' may not be {} here: ask for what this server allows, or have its "
                    "operator say --allow-session-{}",
                    option.json, wanted.substr(0, shown_max), option.flag),
        Errno::acces);
  }

  // The values of this option that the operator has named.
  template <typename T>
  std::vector<T> named(Member<T> member) const {
    const auto value_in = [member](SandboxOptions in) { return std::move(member(in)); };
    std::vector<T> values{value_in(usual)};
    for (const Grant& grant : grants) {
      if (grant.option == &option) values.push_back(value_in(grant.value));
    }
    return values;
  }

  template <typename T>
  void hold_amount(Member<T> member, Zero zero) const {
    const auto is_less = [zero](T one, T other) {
      const bool none = zero == Zero::means_none;
      return none && one == 0 ? false : none && other == 0 ? one != 0 : one < other;
    };
    const std::vector<T> values = named(member);
    const T most = *std::ranges::max_element(values, is_less);
    T& value = member(options);
    if (!is_less(most, value)) return;
    if (beyond != Beyond::refused) {
      value = most;
      return;
    }
    throw request_error(
        fmt::format("'{}' may be {} here at most, not {}: ask for less, or have the server's "
                    "operator say --allow-session-{}",
                    option.json, most, value == 0 ? "0 (no limit)" : std::to_string(value),
                    option.flag),
        Errno::acces);
  }

  // One of those that the operator has named.
  template <typename T, typename Same>
  void hold_choice(Member<T> member, const Same& same, std::string_view text) const {
    const std::vector<T> values = named(member);
    T& value = member(options);
    const auto found =
        std::ranges::find_if(values, [&](const T& each) { return same(each, value); });
    if (found != values.end()) {
      value = *found;
    } else if (beyond == Beyond::cut) {
      value = values.front();
    } else {
      refuse(text);
    }
  }

  void operator()(const Bytes& kind) const { hold_amount(kind.member, kind.zero); }
  void operator()(const Count& kind) const { hold_amount(kind.member, Zero::refused); }
  void operator()(const LargeCount& kind) const { hold_amount(kind.member, Zero::refused); }
  void operator()(const Rules& kind) const {
    std::vector<std::string> named_rules;
    for (const std::vector<std::string>& rules : named(kind.member))
      named_rules.insert(named_rules.end(), rules.begin(), rules.end());
    const auto is_allowed = [&](const std::string& text) {
      if (std::ranges::find(named_rules, text) != named_rules.end()) return true;
      const net::Rule wanted(text);
      return std::ranges::any_of(
          named_rules, [&](const std::string& each) { return net::Rule(each).covers(wanted); });
    };
    std::vector<std::string>& rules = kind.member(options);
    if (beyond == Beyond::cut) {
      std::erase_if(rules, [&](const std::string& text) { return !is_allowed(text); });
      return;
    }
    for (const std::string& text : rules) {
      if (!is_allowed(text)) refuse(fmt::format("the rule {}", text));
    }
  }
  void operator()(const option::Engine& kind) const {
    hold_choice(kind.member, std::equal_to<>(), engine_name(kind.member(options)));
  }
  void operator()(const IsolationName& kind) const {
    hold_choice(kind.member, std::equal_to<>(), isolation_name(kind.member(options)));
  }
  void operator()(const Path& kind) const {
    hold_choice(kind.member, is_same_file, kind.member(options).string());
  }
  void operator()(const FolderPath& kind) const {
    hold_choice(kind.member, is_same_file, kind.member(options).string());
  }
  void operator()(const Mounts&) const {
    std::vector<Mount> wished(
        options.mounts.begin() + static_cast<std::ptrdiff_t>(usual.mounts.size()),
        options.mounts.end());
    options.mounts = usual.mounts;
    for (const Mount& wish : wished) {
      if (const std::optional<Mount> mount = named_mount(wish)) {
        std::erase_if(options.mounts,
                      [&](const Mount& each) { return each.guest_path == mount->guest_path; });
        options.mounts.push_back(*mount);
      } else if (beyond != Beyond::cut) {
        refuse(fmt::format("{} at {}{}", wish.host_path.string(), wish.guest_path,
                           wish.access == Mount::Access::read_write ? " to write to" : ""));
      }
    }
  }
  // What concerns that sandbox alone.
  void operator()(const auto&) const {}

  // As the operator has named it, with what it was wished for.
  std::optional<Mount> named_mount(const Mount& wish) const {
    std::vector<Mount> named = usual.mounts;
    for (const Grant& grant : grants)
      named.insert(named.end(), grant.value.mounts.begin(), grant.value.mounts.end());
    for (Mount mount : named) {
      const bool fits = mount.guest_path == wish.guest_path &&
                        is_same_file(mount.host_path, wish.host_path) &&
                        (wish.access == Mount::Access::read_only || mount.access == wish.access);
      if (!fits) continue;
      mount.access = wish.access;
      return mount;
    }
    return std::nullopt;
  }
};

}  // namespace

bool is_grantable(const SandboxOption& option) {
  return std::visit(
      []<typename Kind>(const Kind&) {
        return !std::is_same_v<Kind, Time> && !std::is_same_v<Kind, Words> &&
               !std::is_same_v<Kind, Variables> && !std::is_same_v<Kind, Name> &&
               !std::is_same_v<Kind, FileContent> && !std::is_same_v<Kind, Secrets>;
      },
      option.kind);
}

Grant grant_of(const SandboxOption& option, std::string_view name, const std::string& text) {
  if (!is_grantable(option)) {
    throw request_error(
        fmt::format("{} is of no use: whoever asks for a session may say that of it anyway", name));
  }
  Grant grant{&option, {}};
  set_option(grant.value, option, name, text);
  for (const std::string& rule : grant.value.network.allow) (void)net::Rule(rule);
  return grant;
}

SandboxOptions options_within(const SandboxOptions& usual, std::span<const Grant> grants,
                              const Json& wish, Beyond beyond) {
  SandboxOptions options = usual;
  read_options(wish, options,
               beyond == Beyond::refused       ? OtherMembers::refused
               : beyond == Beyond::amounts_cut ? OtherMembers::refused_within
                                               : OtherMembers::left_alone);
  for (const SandboxOption& option : sandbox_options())
    std::visit(Bound{options, usual, grants, option, beyond}, option.kind);
  // A sandbox without a rule that allows reads none of these.
  for (const std::string& rule : options.network.deny) (void)net::Rule(rule);
  return options;
}

}  // namespace cloche::sandbox
