// SPDX-License-Identifier: Apache-2.0
// The program that unpacks archives of OCI images. Descriptor 0 is the archive, 3 the folder that
// it goes into: that is the program's root before the first byte is read, with a user, a network
// and privileges of its own, behind the filter that guests have. So an evil archive can do no more
// than fill that folder, which is bounded.
//
//   cloche-unpack layer|archive|changes MOST_BYTES MOST_FILES
//
// `changes` is no archive, but a stream of a box's changes (native/warden/tree_stream.h), which
// come over what is there. With `layer` names that begin with .wh. take away what lower layers
// have, as OCI says. Owners, extended attributes, devices and set-id bits of programs are left out.
// The exit status is 0, with how many bytes and files an archive had on standard output, or 1 with
// one sentence there.
#pragma once

namespace cloche::unpack {

inline constexpr const char* program_name = "cloche-unpack";

int unpack_main(int argc, char** argv);

}  // namespace cloche::unpack
