// SPDX-License-Identifier: Apache-2.0
// JsonSchema: checks the arguments of callbacks. It knows what describes parameters in practice
// (JSON Schema 2020-12): type, enum, const, properties, required, additionalProperties,
// minProperties, maxProperties, items, prefixItems, minItems, maxItems, uniqueItems, minLength,
// maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, anyOf, oneOf, allOf,
// not, and $ref within the schema. Other words, pattern and format among them, are not looked at.
//
// Immutable; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "python/json_text.h"

namespace cloche::python {

class JsonSchema {
 public:
  // Throws Error with one sentence for text that is no JSON object. Empty text:
  // anything goes.
  explicit JsonSchema(std::string_view text);

  const Json& json() const noexcept { return schema_; }

  // Empty when `value` satisfies the schema; otherwise one clause that says what does not:
  // "count: 'three' is not of type integer". `limit`ed in work: a schema that sends the check in
  // circles is answered with a clause that says so.
  std::string problem(const Json& value) const;

 private:
  Json schema_;
};

}  // namespace cloche::python
