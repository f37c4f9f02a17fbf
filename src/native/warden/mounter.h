// SPDX-License-Identifier: Apache-2.0
// The mounter: a process of root's, where root runs Cloche, that makes trees of folders and files
// for boxes. Boxes are another user there, whom root's folders are closed to: in a tree of the
// mounter's the files of the folder's owner are that user's (an idmapped mount). It takes orders of
// Cloche alone.
#pragma once

#include <sys/types.h>

namespace cloche::warden {

// Starts it, where a socket with that number is open, which it alone has from then on. It ends with
// this process, and when the other end is closed. Its process; 0: nobody wants one; -1 with errno.
pid_t start_mounter(int socket) noexcept;

}  // namespace cloche::warden
