// SPDX-License-Identifier: Apache-2.0
#include "sandbox/clean_output.h"

#include <utility>

namespace cloche::sandbox {

void CleanOutput::pass(std::string_view text, const Reader& reader) const {
  if (!scrubber_) {
    if (!text.empty()) reader(text);
    return;
  }
  if (const std::string clean = scrubber_->take(text); !clean.empty()) reader(clean);
}

void CleanOutput::end(const Reader& reader) const {
  if (!scrubber_) return;
  if (const std::string rest = scrubber_->finish(); !rest.empty()) reader(rest);
}

std::string CleanOutput::clean(std::string kept, Text text) const {
  if (!scrubber_) return kept;
  std::string clean = scrubber_->take(kept);
  const std::string rest = scrubber_->finish();
  if (text == Text::whole) clean += rest;
  return clean;
}

}  // namespace cloche::sandbox
