// SPDX-License-Identifier: Apache-2.0
#include "native/images/image_config.h"

#include <optional>

#include "base/error.h"
#include "base/json_lookup.h"

namespace cloche::images {
namespace {

std::vector<std::string> texts_in(const Json& object, const char* name) {
  std::vector<std::string> texts;
  const auto it = object.find(name);
  if (it == object.end() || !it->is_array()) return texts;
  for (const Json& one : *it) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

}  // namespace

ImageConfig ImageConfig::parse(std::string_view text) {
  const std::optional<Json> read = parse_json(text);
  if (!read || !read->is_object())
    throw request_error("the image's configuration is no JSON object");
  const Json& whole = *read;
  ImageConfig config;
  config.architecture = text_in(whole, "architecture");
  const auto it = whole.find("config");
  if (it == whole.end() || !it->is_object()) return config;
  config.environment = texts_in(*it, "Env");
  config.entrypoint = texts_in(*it, "Entrypoint");
  config.command = texts_in(*it, "Cmd");
  config.directory = text_in(*it, "WorkingDir");
  config.user = text_in(*it, "User");
  return config;
}

std::string ImageConfig::text() const {
  const Json whole{{"architecture", architecture},
                   {"config",
                    {{"Env", environment},
                     {"Entrypoint", entrypoint},
                     {"Cmd", command},
                     {"WorkingDir", directory},
                     {"User", user}}}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string_view own_architecture() {
#if defined(__x86_64__)
  return "amd64";
#else
  return "arm64";
#endif
}

}  // namespace cloche::images
