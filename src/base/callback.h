// The public header, for the layers.
#pragma once

#include "cloche/callback.h"  // IWYU pragma: export
