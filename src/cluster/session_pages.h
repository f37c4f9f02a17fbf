// SPDX-License-Identifier: Apache-2.0
// The list of an owner's sessions, put together from the lists of all cells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::cluster {

// An answer of GET /sessions.
struct SessionPage {
  struct Entry {
    std::string created;  // createdAt: times of one form sort as texts do
    std::string id;
    std::string json;
  };
  std::vector<Entry> sessions;  // newest first
  std::size_t total = 0;
};
std::optional<SessionPage> page_of_json(std::string_view json);

std::string page_json(const SessionPage& page, std::size_t limit, std::size_t offset);

// The page of all of them together: each of `pages` begins with its cell's newest, and has
// offset + limit of them where there are as many.
std::string merged_json(std::vector<SessionPage> pages, std::size_t limit, std::size_t offset);

}  // namespace cloche::cluster
