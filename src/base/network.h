// The public header, for the layers.
#pragma once

#include "cloche/network.h"  // IWYU pragma: export
