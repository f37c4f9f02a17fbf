// SPDX-License-Identifier: Apache-2.0
// The public header, for the layers.
#pragma once

#include "cloche/errno.h"  // IWYU pragma: export
