// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/mcp/content.h"

namespace cloche::mcp {
namespace {

constexpr const char* folder = "/workspace/.cloche/figures";
constexpr std::uint64_t image_limit_bytes = 1U << 20;
constexpr std::size_t figure_limit = 100;
constexpr std::chrono::seconds patience{60};

// Saves the figures that matplotlib holds, no larger than a model takes, and closes them. Says how
// many of them are the same as in a file that was shown, then the files, a line each. Leaves no
// name behind.
constexpr std::string_view source = R"py(
def _cloche_collect(folder, pixels, most_bytes, most):
    import sys
    pyplot = sys.modules.get('matplotlib.pyplot')
    if pyplot is None or not pyplot.get_fignums():
        return
    import os
    os.makedirs(folder, exist_ok=True)
    taken = {int(name[7:-4]) for name in os.listdir(folder)
             if name.startswith('figure-') and name[7:-4].isdigit()}
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()][:most]
    print(sum(bool(getattr(figure, '_cloche_shown', False)) and not figure.stale for figure in figures))
    number = max(taken, default=0)
    for figure in figures:
        number += 1
        path = f'{folder}/figure-{number}.png'
        dpi = min(figure.dpi, (pixels - 1) / max(*figure.get_size_inches(), 0.01))
        for attempt in range(5):
            figure.savefig(path, format='png', dpi=dpi)
            if os.path.getsize(path) <= most_bytes:
                break
            dpi *= 0.6
        print(path)
    pyplot.close('all')
try:
    _cloche_collect(%s)
finally:
    del _cloche_collect
)py";

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// Whether the width and the height that a PNG begins with are what a model takes.
bool is_small(std::string_view png) {
  constexpr std::size_t width_at = 16, height_at = 20, head_bytes = 24;
  return png.size() >= head_bytes && big_endian(png.substr(width_at)) <= image_limit_pixels &&
         big_endian(png.substr(height_at)) <= image_limit_pixels;
}

}  // namespace

std::size_t add_figures(Reply& content, const std::string& sandbox, const Files& files,
                        const std::vector<std::string>& paths) {
  std::size_t count = 0, images = 0;
  for (const std::string& path : paths) {
    const Result<FileInfo> info = files.stat(path);
    if (!info || info->kind != FileKind::file || count == figure_limit) continue;
    const Result<std::string> bytes = files.read_range(path, 0, image_limit_bytes + 1);
    if (!bytes || picture_type(*bytes) != "image/png") continue;
    ++count;
    if (images < image_limit && bytes->size() <= image_limit_bytes && is_small(*bytes)) {
      ++images;
      content.push_back(image_content("image/png", *bytes));
    } else {
      content.push_back(link_content(sandbox, path, "image/png", info->size_bytes));
    }
  }
  return count;
}

std::vector<std::string> shown_figures(const Files& files) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  const Result<std::vector<FileInfo>> entries = files.list(folder);
  if (!entries) return {};
  for (const FileInfo& entry : *entries)
    found.emplace_back(entry.modified_ns, fmt::format("{}/{}", folder, entry.name));
  std::ranges::sort(found);
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (auto& [when, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::vector<std::string> collect_figures(PythonSession& python,
                                         const std::vector<std::string>& shown_before) {
  const auto is_new = [&](const std::string& path) {
    return std::ranges::find(shown_before, path) == shown_before.end();
  };
  std::vector<std::string> paths = shown_figures(python.sandbox().files());
  std::erase_if(paths, [&](const std::string& path) { return !is_new(path); });

  std::string code(source);
  code.replace(
      code.find("%s"), 2,
      fmt::format("'{}', {}, {}, {}", folder, image_limit_pixels, image_limit_bytes, figure_limit));
  ExecuteOptions options;
  options.limits.timeout = patience;
  options.limits.output_bytes = 1U << 20;
  const ExecuteResult result = python.execute(code, options);
  std::string_view lines = result.stdout_data;
  std::vector<std::string> open;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    open.emplace_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  if (open.empty()) return paths;
  // A figure that was shown and is open still has two files: what is open is the better one.
  std::size_t twice = 0;
  for (const char c : open.front()) {
    if (c >= '0' && c <= '9') twice = twice * 10 + static_cast<std::size_t>(c - '0');
    if (twice > figure_limit) break;
  }
  paths.resize(paths.size() - std::min(twice, paths.size()));
  paths.insert(paths.end(), open.begin() + 1, open.end());
  return paths;
}

}  // namespace cloche::mcp
