// SPDX-License-Identifier: Apache-2.0
// The program that brings an image from a registry: the OCI distribution API, over libcurl, in a
// jail that lets it write into one folder. Descriptor 3 is that folder; the image's blobs, its
// manifest among them, are then there as blobs/sha256/DIGITS, each as its digest says. Those that
// were there are not brought again.
//
//   cloche-pull REFERENCE secure|plain MOST_BYTES AUTH_FILE
//
// `plain` lets any registry be asked without TLS, `secure` those of this machine alone. AUTH_FILE
// is Docker's config.json; empty: what the environment names (see credentials.h).
//
// The exit status is 0, with the manifest's digest on standard output, or 1 with one sentence
// there. What is being brought is told on standard error where that is a terminal.
#pragma once

namespace cloche::pull {

int pull_main(int argc, char** argv);

}  // namespace cloche::pull
