// SPDX-License-Identifier: Apache-2.0
// The public header, for the layers.
#pragma once

#include "cloche/network.h"  // IWYU pragma: export
