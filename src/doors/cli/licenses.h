// SPDX-License-Identifier: Apache-2.0
// What runs in a sandbox, by whom it may be used how: each guest program with its version, licence
// and source, the libraries that are linked into it, Python and its packages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace cloche::cli {

enum class ListFormat : std::uint8_t { text, json };

// The list for the guests' system in this folder, from its manifest and its Python bundle. Throws
// HostError when it cannot be read. As JSON: an object with `programs`, `libraries` (linked into
// many programs) and `pythonPackages`.
std::string list_licenses(const std::filesystem::path& system_folder, ListFormat format);

// The command: prints the list for this program's own system. The exit status of the program.
int licenses_command(ListFormat format);

}  // namespace cloche::cli
