// SPDX-License-Identifier: Apache-2.0
#include "native/unpack/unpack_program.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "native/unpack/archive.h"
#include "native/unpack/jail.h"
#include "native/warden/tree_writer.h"

namespace cloche::unpack {
namespace {

constexpr int target_folder = 3;

bool read_number(const char* text, std::uint64_t& to) {
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, to);
  return error == std::errc() && at == end;
}

// A stream of changes, over what is in the folder.
void write_changes(const Limits& limits) {
  const int error =
      warden::write_tree(STDIN_FILENO, {.bytes = limits.bytes, .files = limits.files});
  if (error == EDQUOT) throw Refused("it has too many files, or too many bytes");
  if (error == EINVAL) throw Refused("it is damaged");
  if (error != 0) throw Refused(std::strerror(error));
}

}  // namespace

int unpack_main(int argc, char** argv) {
  Limits limits;
  const std::string_view kind(argc == 4 ? argv[1] : "");
  if ((kind != "layer" && kind != "archive" && kind != "changes") ||
      !read_number(argv[2], limits.bytes) || !read_number(argv[3], limits.files)) {
    std::puts("cloche-unpack is a part of cloche: it is not called by hand");
    return 1;
  }
  std::signal(SIGXFSZ, SIG_IGN);
  // Names are taken as they are; before the folder is the root, where no locales are.
  std::setlocale(LC_ALL, "C.UTF-8");
  try {
    if (const char* problem = enter_folder(target_folder, limits.bytes)) {
      std::printf("the unpacker cannot be jailed: %s (%s)\n", problem, std::strerror(errno));
      return 1;
    }
    if (kind == "changes") {
      write_changes(limits);
    } else {
      const Limits had = unpack_archive(
          STDIN_FILENO, kind == "layer" ? ArchiveKind::layer : ArchiveKind::archive, limits);
      std::printf("%llu %llu\n", static_cast<unsigned long long>(had.bytes),
                  static_cast<unsigned long long>(had.files));
    }
  } catch (const std::exception& problem) {
    std::printf("%s\n", problem.what());
    return 1;
  }
  return 0;
}

}  // namespace cloche::unpack
