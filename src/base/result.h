// SPDX-License-Identifier: Apache-2.0
// The public header, for the layers.
#pragma once

#include "cloche/result.h"  // IWYU pragma: export
