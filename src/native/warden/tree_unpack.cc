// SPDX-License-Identifier: Apache-2.0
#include "native/warden/tree_unpack.h"

#include <sys/stat.h>
#include <unistd.h>

#include "native/warden/packet.h"
#include "native/warden/tree_writer.h"
#include "native/warden/wire.h"

namespace cloche::warden {

// The box's quota bounds what is made.
void unpack_tree(int channel, int from, const WallPlan& wall, const Filter& filter) noexcept {
  ::umask(0);
  const Outcome walled = enter_wall(wall, filter);
  const int error = walled ? write_tree(from, {}) : walled.error;
  (void)send_record(channel, Answer{.value = error});
  ::_exit(0);
}

}  // namespace cloche::warden
