// SPDX-License-Identifier: Apache-2.0
// RefusedThreads: while one lives, the host gives this process no new thread, as where a limit of
// its user or of its memory is reached: pthread_create is EAGAIN.
//
// Sanitizers have a pthread_create of their own: under them nothing is refused, and a test leaves
// itself out (CLOCHE_SANITIZED).
#pragma once

namespace cloche {

class RefusedThreads {
 public:
  // The first `given` of them are given.
  explicit RefusedThreads(int given = 0) noexcept;
  ~RefusedThreads();
  RefusedThreads(const RefusedThreads&) = delete;
  RefusedThreads& operator=(const RefusedThreads&) = delete;
};

}  // namespace cloche
