// SPDX-License-Identifier: Apache-2.0
// edit_file: a text in a file replaced by another.
#include <fmt/format.h>

#include "base/utf8.h"
#include "doors/mcp/tools/file_text.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

ToolResult run_edit(Call& call) {
  const Arguments& arguments = call.arguments();
  const LiveSandbox live = call.live();
  const std::string path = arguments.text("path");
  const Edit edit =
      edit_file(live.sandbox->files(), path, arguments.text("old_text"), arguments.text("new_text"),
                arguments.flag("replace_all") ? Replace::all : Replace::one);
  const std::string shown_path = valid_utf8(path);
  const std::string diff = fmt::format("--- {0}\n+++ {0}\n{1}", shown_path, edit.diff);
  return {
      .text = diff,
      .structured = {{"path", shown_path}, {"replacements", edit.replacements}, {"diff", diff}}};
}

}  // namespace

Tool edit_file_tool() {
  Tool tool;
  tool.name = "edit_file";
  tool.title = "Change a part of a file";
  tool.description =
      "Replaces old_text by new_text in a file of the sandbox. old_text is as it is in the file, "
      "with its indentation and without line numbers, and must be there exactly once: give some of "
      "the lines around it where it is not. With replace_all it is replaced wherever it is. Line "
      "ends and mode of the file stay. The result is what has changed. Example: {\"path\": "
      "\"/workspace/app.py\", \"old_text\": \"return a - b\", \"new_text\": \"return a + b\"}";
  tool.parameters = {
      {"path", Kind::word, "Of the file: absolute, or from /workspace.", Need::required},
      {"old_text", Kind::text, "What is to be replaced, exactly.", Need::required},
      {"new_text", Kind::text, "What it is replaced by; may be empty.", Need::required},
      {"replace_all", Kind::flag, "Wherever it is, not just once."},
      sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{"path":{"type":"string"},
"replacements":{"type":"integer"},"diff":{"type":"string","description":"unified"}},
"required":["path","replacements","diff"]})";
  tool.run = run_edit;
  return tool;
}

}  // namespace cloche::mcp
