// SPDX-License-Identifier: Apache-2.0
// Figures that Python has drawn, as content of a result.
#pragma once

#include <string>
#include <vector>

#include "doors/mcp/tool.h"

namespace cloche::mcp {

inline constexpr std::size_t image_limit = 10;
inline constexpr unsigned image_limit_pixels = 1568;

// The files of figures as images; those beyond the limits, of number or size, as links. A file that
// is gone again, or is no PNG, is left out. Gives how many there are.
std::size_t add_figures(Reply& content, const std::string& sandbox, const Files& files,
                        const std::vector<std::string>& paths);

// Of a live Python: which figures there are files of already.
std::vector<std::string> shown_figures(const Files& files);
// The files of those that code has shown since, and then of those that it has left open, which are
// closed.
std::vector<std::string> collect_figures(PythonSession& python,
                                         const std::vector<std::string>& shown_before);

}  // namespace cloche::mcp
