// SPDX-License-Identifier: Apache-2.0
// docs/options.md is the table of options in words; the other pages and the SDK say what the table
// says. CLOCHE_WRITE_DOCS=1 in the environment writes the page anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "sandbox/options/sandbox_option.h"

namespace cloche::sandbox {
namespace {

constexpr std::string_view page_head = R"page(# Options of a sandbox

Made from the table in `src/sandbox/options/`; a test holds the two together (`CLOCHE_WRITE_DOCS=1`
writes this page anew). An option has the same meaning, unit and default at every door:

- `cloche run --FLAG`, also of `shell` and `image build`; `cloche serve --session-FLAG` is what
  every session is given, and `--allow-session-FLAG` what may be asked for ([serve.md](serve.md))
- environment: the variable that is read where the flag is absent
- JSON-RPC: a parameter of `create`, and a member of `sandbox` in `POST /sessions`; `limits.x` is
  the member `x` of the object `limits`
- Python: an argument of `Sandbox(...)`; `limits.x` is the key `x` of `limits`
- C++: a member of `SandboxOptions`

Bytes may be written as `512M`, `2G`, `64KiB`, and times as `500ms`, `30s`, `5m`, `2h`; a number
alone counts in the option's unit. In JSON such a value is a number or a text.

| flag | environment | JSON-RPC | Python | C++ | unit | default | meaning |
|---|---|---|---|---|---|---|---|
)page";

std::string code(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("`{}`", text);
}

// What a number alone counts.
std::string_view unit_of(const SandboxOption& option) {
  if (std::holds_alternative<option::Bytes>(option.kind)) return "bytes";
  if (std::holds_alternative<option::Time>(option.kind)) return "ms";
  return "";
}

std::string page() {
  std::string text(page_head);
  for (const SandboxOption& option : sandbox_options()) {
    const std::string flag =
        option.flag.empty() ? "" : fmt::format("--{} {}", option.flag, option.value);
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {}{} |\n", code(flag),
                        code(option.variable), code(option.json), code(option.sdk),
                        code(option.member), unit_of(option), default_text(option), option.help,
                        is_repeatable(option) ? "; may be repeated" : "");
  }
  return text;
}

std::string content_of(const std::string& path) {
  std::ifstream file(CLOCHE_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "limits.memoryBytes": what stands after the dot.
std::string_view leaf(std::string_view name) { return name.substr(name.find('.') + 1); }

bool says(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

TEST(OptionsPage, SaysWhatTheTableSays) {
  if (std::getenv("CLOCHE_WRITE_DOCS") != nullptr)
    std::ofstream(CLOCHE_SOURCE_DIR "/docs/options.md") << page();
  EXPECT_EQ(content_of("docs/options.md"), page())
      << "write it anew: CLOCHE_WRITE_DOCS=1 sandbox_test --gtest_filter=OptionsPage.*";
}

TEST(OptionsPage, PagesAndSdkHaveEachOption) {
  const std::string rpc = content_of("docs/rpc.md");
  const std::string sdk_page = content_of("docs/python-sdk.md");
  const std::string sdk = content_of("sdk/python/src/cloche/sandbox.py");
  const std::string sdk_wire = content_of("sdk/python/src/cloche/_operations.py");
  const std::string members =
      content_of("include/cloche/sandbox.h") + content_of("include/cloche/network.h");
  for (const SandboxOption& option : sandbox_options()) {
    EXPECT_TRUE(says(members, fmt::format(" {}", leaf(option.member)))) << option.member;
    if (!option.json.empty()) {
      EXPECT_TRUE(says(rpc, std::string(leaf(option.json)))) << option.json;
    }
    // What is said of the network goes through the SDK as it is.
    if (option.sdk.empty() || option.sdk.starts_with("network")) continue;
    EXPECT_TRUE(says(sdk_page, std::string(leaf(option.sdk)))) << option.sdk;
    EXPECT_TRUE(says(sdk, std::string(leaf(option.sdk)))) << option.sdk;
    EXPECT_TRUE(says(sdk_wire, fmt::format("\"{}\"", leaf(option.json)))) << option.json;
  }
}

}  // namespace
}  // namespace cloche::sandbox
