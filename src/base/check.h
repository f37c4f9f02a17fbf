// The public header, for the layers.
#pragma once

#include "cloche/check.h"  // IWYU pragma: export
