// SPDX-License-Identifier: Apache-2.0
// cloche image: an interpreter after its imports and set-up, as a file.
#include <fmt/core.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/host_error.h"
#include "base/write_fully.h"
#include "cloche/python_session.h"
#include "doors/cli/commands.h"
#include "doors/cli/script_file.h"
#include "doors/cli/support.h"
#include "python/image_file.h"

namespace cloche::cli {
namespace {

// Runs a script of the set-up; the exit status, 0 when it did its work.
int run_setup(PythonSession& session, const std::string& path, const std::string& text) {
  ExecuteOptions options;
  options.output = [](Stream stream, std::string_view data) {
    (void)write_fully(static_cast<int>(stream), data);
  };
  const ExecuteResult result = session.execute(text, options);
  if (result.status == ExecuteStatus::ok) return 0;
  if (result.status == ExecuteStatus::exited && result.exit_code == 0) return 0;
  if (result.error) (void)write_fully(STDERR_FILENO, result.error->traceback);
  complain(fmt::format("{} {}: no image was written", path,
                       result.status == ExecuteStatus::exited
                           ? fmt::format("ended with status {}", result.exit_code)
                       : result.reason.empty() ? "failed"
                                               : "failed: " + result.reason));
  return 1;
}

}  // namespace

int image_build_command(const Options& options) {
  std::vector<std::pair<std::string, std::string>> scripts;
  scripts.reserve(options.setup_scripts.size());
  for (const std::string& path : options.setup_scripts)
    scripts.emplace_back(path, read_script(path));
  Engine engine(engine_options());
  PythonSession session(engine, sandbox_options(options));
  for (const auto& [path, text] : scripts) {
    if (const int status = run_setup(session, path, text); status != 0) return status;
  }
  session.checkpoint(options.image_file, CheckpointFile::whole);
  return 0;
}

int image_show_command(const Options& options) {
  const python::ImageHeader header = python::read_image_header(options.image_file);
  fmt::print("memory    {} MB\npackages  {}\nbuild     {:.16} {:.16}\n", header.content_bytes >> 20,
             header.packages.empty() ? "none" : fmt::format("{}", fmt::join(header.packages, ", ")),
             header.build.program, header.build.library);
  return 0;
}

}  // namespace cloche::cli
