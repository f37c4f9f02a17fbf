// SPDX-License-Identifier: Apache-2.0
// Times as text.
#pragma once

#include <chrono>
#include <string>

namespace cloche::http {

std::string http_date(std::chrono::system_clock::time_point time);      // RFC 9110
std::string iso_timestamp(std::chrono::system_clock::time_point time);  // 2026-01-02T03:04:05.678Z

}  // namespace cloche::http
