// SPDX-License-Identifier: Apache-2.0
#include "doors/http/date.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace cloche::http {
namespace {

std::tm utc(std::chrono::system_clock::time_point time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string http_date(std::chrono::system_clock::time_point time) {
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm t = utc(time);
  return fmt::format(
      "{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[static_cast<std::size_t>(t.tm_wday)], t.tm_mday,
      months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

std::string iso_timestamp(std::chrono::system_clock::time_point time) {
  const std::tm t = utc(time);
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, ((ms % 1000) + 1000) % 1000);
}

}  // namespace cloche::http
