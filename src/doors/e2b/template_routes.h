// SPDX-License-Identifier: Apache-2.0
// TemplateRoutes: templates by REST: they are named, their files are sent, they are built, tagged
// and deleted. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/e2b/templates.h"
#include "doors/http/message.h"

namespace cloche::e2b {

class TemplateRoutes {
 public:
  explicit TemplateRoutes(Templates& templates) : templates_(templates) {}

  // Whether it is about templates.
  static bool is_mine(std::string_view path);
  // Whether files are sent to an address that was given for them, which needs no key.
  static bool is_upload(const http::Request& head);
  // Whose address that is.
  std::optional<std::string> owner_of_upload(const http::Request& head);

  http::Response answer(const std::string& owner, const http::Request& request);

 private:
  using Words = std::vector<std::string>;

  http::Response publish(const Templates::Template& which, const http::Request& request);
  http::Response request_build(const std::string& owner, const http::Request& request);
  http::Response begin_build(const std::string& owner, const Words& words,
                             const http::Request& request);
  http::Response status(const std::string& owner, const Words& words, const http::Request& request);
  http::Response address_of_files(const std::string& owner, const Words& words,
                                  const http::Request& request);
  http::Response take_files(const std::string& owner, const Words& words,
                            const http::Request& request);
  http::Response tags(const std::string& owner, const http::Request& request);
  http::Response of_template(const std::string& owner, const Words& words,
                             const http::Request& request);

  Templates& templates_;
};

}  // namespace cloche::e2b
