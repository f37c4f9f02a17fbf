// SPDX-License-Identifier: Apache-2.0
// TemplatePlan: what a template is built of, as a client says it by
// POST /v2/templates/ID/builds/BUILD: read, and checked before anything is done.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doors/e2b/rest_wire.h"

namespace cloche::e2b {

struct TemplateStep {
  enum class Kind : std::uint8_t {
    run,            // a command, and the user who runs it; or the command alone
    copy,           // source, target, owner, mode; the last two may be empty or missing
    set_variables,  // name, value, name, value ...
    set_workdir,    // a folder
    set_user,       // user or root
  } kind = Kind::run;
  std::vector<std::string> arguments;
  std::string files_hash;  // of `copy`: of what was sent before
};

struct TemplatePlan {
  std::string from_template;  // empty: from_image, which begins with the usual computer
  std::string from_image;
  std::vector<TemplateStep> steps;
  std::string start_command;  // empty: none
  std::string ready_command;  // the same
};

Checked<TemplatePlan> read_plan(std::string_view body);

// Whether these are the 64 digits of a SHA-256.
bool is_files_hash(std::string_view text);

}  // namespace cloche::e2b
