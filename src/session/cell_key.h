// SPDX-License-Identifier: Apache-2.0
// CellKey: which cell a session belongs to, where several servers (cells) stand behind one name.
//
// The last four hexadecimal digits of a session's id are the key of its cell. So whoever has an id,
// a proxy too, knows whom to ask, and there is no table of sessions anywhere. The id is a UUID of
// version 4 all the same; 106 bits of it are random.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::session {

using CellKey = std::uint16_t;  // 0: no cell, a server on its own

std::string new_session_id(CellKey cell);

// Nothing for what is no such id, or has no cell.
std::optional<CellKey> cell_of(std::string_view session_id);

}  // namespace cloche::session
