// SPDX-License-Identifier: Apache-2.0
// The public header, for the layers.
#pragma once

#include "cloche/callback.h"  // IWYU pragma: export
