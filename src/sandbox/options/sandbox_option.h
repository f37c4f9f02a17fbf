// SPDX-License-Identifier: Apache-2.0
// SandboxOption: one thing that can be said of a sandbox, under the name that it has at each door.
//
// The table is the one place that knows them all. `cloche run`, `shell`, `image build` and `serve`
// read their flags and print their help from it, `cloche rpc` reads `create` from it, and
// docs/options.md is made from it; a test holds the SDK and the pages to it. Units and defaults are
// SandboxOptions' own.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cloche/sandbox.h"

namespace cloche::sandbox {

// How a value is written, and where it goes.
namespace option {
template <typename T>
using Member = T& (*)(SandboxOptions & options);

enum class Zero : std::uint8_t { refused, means_none };
enum class Text : std::uint8_t { one, between_commas };  // what a command line gives in one value

struct Bytes {
  Member<std::uint64_t> member;
  Zero zero = Zero::refused;
};
struct Time {
  Member<std::chrono::milliseconds> member;
};
struct Count {
  Member<std::uint32_t> member;
  std::uint32_t most = UINT32_MAX;
};
struct LargeCount {
  Member<std::uint64_t> member;
};
struct Words {
  Member<std::vector<std::string>> member;
  Text text = Text::one;
};
struct Rules {  // of the network, that open something
  Member<std::vector<std::string>> member;
};
struct Variables {  // NAME=VALUE; an object of strings in JSON
  Member<std::map<std::string, std::string>> member;
};
struct Name {
  Member<std::string> member;
};
struct Engine {  // wasm, linux
  Member<EngineKind> member;
};
struct IsolationName {  // full, gvisor
  Member<Isolation> member;
};
struct Path {
  Member<std::filesystem::path> member;
};
struct FolderPath {  // of a folder that is there
  Member<std::filesystem::path> member;
};
struct FileContent {  // the name of a file on a command line, its text in JSON
  Member<std::string> member;
};
struct Mounts {};       // HOST:GUEST[:ro]; {host, guest, readOnly} in JSON
struct WheelFolder {};  // a mount where pip looks
struct Secrets {};      // JSON only: a command line is no place for them
}  // namespace option

using OptionKind =
    std::variant<option::Bytes, option::Time, option::Count, option::LargeCount, option::Words,
                 option::Rules, option::Variables, option::Name, option::Engine,
                 option::IsolationName, option::Path, option::FolderPath, option::FileContent,
                 option::Mounts, option::WheelFolder, option::Secrets>;

struct SandboxOption {
  std::string_view member;  // of SandboxOptions: "network.max_bytes"
  // --FLAG of `cloche run`, --session-FLAG of `cloche serve`; empty: not on a command line.
  std::string_view flag;
  std::string_view json;  // of `create` in JSON-RPC: "limits.memoryBytes"; empty: not there
  std::string_view sdk;   // the argument of Sandbox(...) in Python; empty: not there
  std::string_view
      variable;            // of this program's environment, where the flag is absent; empty: none
  std::string_view value;  // in the help: "BYTES"
  OptionKind kind;
  std::string_view help;
};

// In the order in which a person is told of them.
std::span<const SandboxOption> sandbox_options();

// Null when there is none with that flag.
const SandboxOption* find_option(std::string_view flag);

// Whether a command line may give it several times, each value being added.
bool is_repeatable(const SandboxOption& option);

// "wasm", "linux".
std::string_view engine_name(EngineKind engine) noexcept;
// Throws an Error of kind request for another one.
EngineKind engine_named(std::string_view name, std::string_view text);

// "full", "gvisor".
std::string_view isolation_name(Isolation isolation) noexcept;
Isolation isolation_named(std::string_view name, std::string_view text);

// What it is when nobody says anything: "1G", "30000", "none".
std::string default_text(const SandboxOption& option);

// What a command line says. `name` is the flag as it was written there. Throws an Error of kind
// request with one sentence.
void set_option(SandboxOptions& options, const SandboxOption& option, std::string_view name,
                const std::string& text);

// Lines of a help page, each flag after `prefix` ("--" or "--session-").
std::string option_lines(std::string_view prefix);

}  // namespace cloche::sandbox
