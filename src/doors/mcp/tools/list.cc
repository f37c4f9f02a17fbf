// SPDX-License-Identifier: Apache-2.0
// list_files: what is in a folder, and in those below it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/utf8.h"
#include "doors/mcp/content.h"
#include "doors/mcp/tools/written.h"
#include "vfs/glob_match.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

constexpr std::size_t entry_limit = 1000;
constexpr std::size_t looked_at_limit = 200'000;
constexpr std::int64_t usual_depth = 2;
constexpr std::int64_t most_depth = 20;

const char* type_name(FileKind kind) {
  switch (kind) {
    case FileKind::file: return "file";
    case FileKind::directory: return "directory";
    case FileKind::symlink: return "symlink";
    case FileKind::other: break;
  }
  return "other";
}

using Parts = std::vector<std::string_view>;

// Whether a path, in parts, is what a pattern says; "**" is any number of folders.
bool matches(const Parts& pattern, const Parts& path) {
  // reached[i]: the first i parts of the pattern can be all of the path so far.
  std::vector<char> reached(pattern.size() + 1, 0);
  const auto skip_stars = [&] {
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      if (reached[at] != 0 && pattern[at] == "**") reached[at + 1] = 1;
    }
  };
  reached[0] = 1;
  skip_stars();
  for (const std::string_view part : path) {
    std::vector<char> next(pattern.size() + 1, 0);
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      if (reached[at] == 0) continue;
      if (pattern[at] == "**") {
        next[at] = 1;
      } else if (vfs::glob_match(pattern[at], part)) {
        next[at + 1] = 1;
      }
    }
    reached = std::move(next);
    skip_stars();
  }
  return reached.back() != 0;
}

// A walk through folders, depth first, by name.
class Walk {
 public:
  Walk(const Files& files, const Arguments& arguments, std::stop_token stop)
      : files_(files),
        stop_(std::move(stop)),
        root_(arguments.optional_text("path").value_or(".")),
        glob_(arguments.text("glob")),
        pattern_(vfs::split_pattern(glob_)),
        hidden_(arguments.flag("hidden")),
        // What a pattern is looked for in is as deep as it is.
        depth_(arguments.integer("depth", glob_.empty() ? usual_depth : most_depth)) {
    go(root_, {}, must(files_.list(root_), root_), 1);
  }

  Reply entries = Reply::array();
  std::string text;
  bool truncated = false;

 private:
  void go(const std::string& folder, const std::string& shown_folder,
          const std::vector<FileInfo>& found, std::int64_t depth) {
    for (const FileInfo& info : found) {
      if (truncated || stop_.stop_requested()) return;
      if (!hidden_ && info.name.starts_with('.')) continue;
      const std::string path = folder + "/" + info.name;
      const std::string shown_path =
          shown_folder.empty() ? info.name : shown_folder + "/" + info.name;
      if (++looked_at_ > looked_at_limit) truncated = true;
      if (pattern_.empty() || matches(pattern_, vfs::split_pattern(shown_path)))
        add(shown_path, info);
      if (info.kind != FileKind::directory || depth >= depth_) continue;
      // One that must not be read, or is gone, has nothing to show.
      if (const auto inside = files_.list(path)) go(path, shown_path, *inside, depth + 1);
    }
  }

  void add(const std::string& shown_path, const FileInfo& info) {
    if (entries.size() >= entry_limit) {
      truncated = true;
      return;
    }
    const std::string path = valid_utf8(
        root_ == "." ? shown_path : root_ + (root_.ends_with('/') ? "" : "/") + shown_path);
    entries.push_back({{"path", path},
                       {"type", type_name(info.kind)},
                       {"size", info.size_bytes},
                       {"modified", time_text(std::chrono::system_clock::time_point(
                                        std::chrono::nanoseconds(info.modified_ns)))}});
    text += path;
    if (info.kind == FileKind::directory) {
      text += '/';
    } else if (info.kind == FileKind::symlink) {
      text += " -> " + valid_utf8(info.target);
    } else {
      text += fmt::format("  {} bytes", info.size_bytes);
    }
    text += '\n';
  }

  const Files& files_;
  const std::stop_token stop_;
  const std::string root_;
  const std::string glob_;
  const Parts pattern_;
  const bool hidden_;
  const std::int64_t depth_;
  std::size_t looked_at_ = 0;
};

ToolResult run_list(Call& call) {
  const LiveSandbox live = call.live();
  Walk walk(live.sandbox->files(), call.arguments(), call.stop());
  if (walk.text.empty()) walk.text = "(nothing)\n";
  if (walk.truncated) {
    walk.text +=
        fmt::format("[{} entries are the most: say a deeper path, or a glob]\n", entry_limit);
  }
  return {.text = std::move(walk.text),
          .structured = {{"entries", std::move(walk.entries)}, {"truncated", walk.truncated}}};
}

}  // namespace

Tool list_files_tool() {
  Tool tool;
  tool.name = "list_files";
  tool.title = "List files";
  tool.description =
      "Lists the files in a folder of the sandbox and in the folders below it, depth first, by "
      "name, 1,000 at most. With glob only those whose path from there fits: `*` and `?` within a "
      "name, `**` for any number of folders. Example: {\"path\": \"/workspace\", \"glob\": "
      "\"**/*.py\"}";
  tool.parameters = {{"path", Kind::word, "Of the folder: absolute, or from /workspace (.)."},
                     {"depth", Kind::integer, "How many folders deep (2; with glob 20).",
                      Need::optional, 1, static_cast<double>(most_depth)},
                     {"glob", Kind::word, "Which paths, from the folder on."},
                     {"hidden", Kind::flag, "Those too whose names begin with a dot."},
                     sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{"entries":{"type":"array","items":{
"type":"object","properties":{"path":{"type":"string"},
"type":{"type":"string","enum":["file","directory","symlink","other"]},
"size":{"type":"integer"},"modified":{"type":"string","description":"UTC"}},
"required":["path","type","size","modified"]}},
"truncated":{"type":"boolean","description":"there are more"}},"required":["entries","truncated"]})";
  tool.run = run_list;
  tool.effect = Tool::Effect::reads;
  return tool;
}

}  // namespace cloche::mcp
