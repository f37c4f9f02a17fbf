// SPDX-License-Identifier: Apache-2.0
// Holes of the guests' programs that Debian has mended: of those that a Debian 12 machine may still
// have itself, so that a comparison with it tells nothing.
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

TEST(MendedPrograms, ZipTestsAnArchiveWhoseNameIsACommand) {
  EXPECT_EQ(output_of("cd /tmp; echo > a; zip -q \"x'; touch made; '.zip\" a;"
                      "zip -q '$(touch made).zip' a; for z in *.zip; do zip -qT \"$z\"; done; ls"),
            "$(touch made).zip\na\nx'; touch made; '.zip\n");
}

}  // namespace
}  // namespace cloche::testing
