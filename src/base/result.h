// The public header, for the layers.
#pragma once

#include "cloche/result.h"  // IWYU pragma: export
