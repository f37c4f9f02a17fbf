// SPDX-License-Identifier: Apache-2.0
// What the sandboxes of a template are forks of: a sandbox with the users, folders and programs
// that this door promises.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cloche/engine.h"

namespace cloche::e2b {

// Templates of the operator: system images of the linux engine, by the template's name.
using TemplateImages = std::map<std::string, std::string>;

// `usual`: what all sandboxes have. `image`: of the linux engine; empty: the engine and the image
// that are usual. Throws Error with one sentence.
std::unique_ptr<Sandbox> make_base(Engine& engine, const SandboxOptions& usual,
                                   const std::string& image);

// One sandbox of each, so that the operator hears of an image that is none. Throws Error.
void try_images(Engine& engine, const SandboxOptions& usual, const TemplateImages& images);

}  // namespace cloche::e2b
