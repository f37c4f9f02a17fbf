// SPDX-License-Identifier: Apache-2.0
// What `create` is given, as SandboxOptions: the table of options says what there is.
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "cloche/archive.h"
#include "doors/rpc/methods.h"
#include "doors/rpc/state_file.h"
#include "sandbox/options/mountable.h"
#include "sandbox/options/option_json.h"

namespace cloche::rpc {
namespace {

void need_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw request_error(folder.string() + " is no folder of the host", Errno::noent);
}

// A file of `persistence.export` or of `cloche image build`: which, its first bytes say.
bool is_built_image(const std::string& file) try {
  return is_image_file(file);
} catch (const Error& error) {
  if (error.code() != Errno::noent) throw;
  throw request_error(
      "there is no file " + file +
          ": `persistence.export` and `cloche image build` make some; an image that "
          "`cloche image list` names is for the linux engine",
      Errno::noent);
}

}  // namespace

std::unique_ptr<Sandbox> create_sandbox(Connection& connection, const Params& params) {
  SandboxOptions options;
  sandbox::read_options(params.all(), options, sandbox::OtherMembers::refused_within);
  for (const Mount& mount : options.mounts) sandbox::need_mountable(mount.host_path, "mounts");
  if (!options.program_folder.empty()) need_folder(options.program_folder);
  if (params.flag("progress")) connection.want_progress();
  Engine& engine = connection.engine();
  if (options.image.empty() || options.engine == EngineKind::native_linux ||
      is_built_image(options.image))
    return engine.create(options);
  const std::string state = std::exchange(options.image, {}).string();
  return read_state_file(state, engine, options);
}

}  // namespace cloche::rpc
