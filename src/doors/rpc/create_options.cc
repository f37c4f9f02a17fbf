// What `create` is given, as SandboxOptions.
#include <fmt/format.h>

#include <filesystem>

#include "cloche/archive.h"
#include "doors/rpc/methods.h"
#include "doors/rpc/state_file.h"

namespace cloche::rpc {
namespace {

Mount mount_of(const Json& given) {
  const Params params(given);
  Mount mount;
  mount.host_folder = params.word("host");
  mount.guest_path = params.word("guest");
  mount.access = params.flag("readOnly") ? Mount::Access::read_only : Mount::Access::read_write;
  std::error_code error;
  if (!std::filesystem::is_directory(mount.host_folder, error))
    throw sandbox_error(Errno::noent, mount.host_folder.string() + " is no folder of the host");
  return mount;
}

void set_limits(SandboxOptions& options, const Json& given) {
  if (!given.is_object()) throw RpcError{code::invalid_params, "'limits' must be an object"};
  const Params limits(given);
  const auto small = [&](const char* name, std::uint32_t& to) {
    if (const auto count = limits.optional_count(name))
      to = static_cast<std::uint32_t>(std::min<std::uint64_t>(*count, UINT32_MAX));
  };
  options.memory_limit_bytes =
      limits.optional_count("memoryBytes").value_or(options.memory_limit_bytes);
  options.file_limit_inodes =
      limits.optional_count("fileCount").value_or(options.file_limit_inodes);
  small("processes", options.process_limit);
  small("openFiles", options.open_file_limit);
}

}  // namespace

SandboxOptions sandbox_options(const Params& params) {
  SandboxOptions options;
  options.timeout = params.optional_ms("timeoutMs").value_or(options.timeout);
  options.file_limit_bytes =
      params.optional_count("fsLimitBytes").value_or(options.file_limit_bytes);
  options.environment = params.word_map("env");
  options.packages = params.words("packages");
  for (const Json& mount : params.objects("mounts")) options.mounts.push_back(mount_of(mount));
  if (const Json* limits = params.find("limits")) set_limits(options, *limits);
  if (const auto folder = params.optional_word("wasmDir")) {
    std::error_code error;
    if (!std::filesystem::is_directory(*folder, error))
      throw sandbox_error(Errno::noent, "wasmDir: " + *folder + " is no folder of the host");
    options.program_folder = *folder;
  }
  return options;
}

std::unique_ptr<Sandbox> create_sandbox(Connection& connection, const Params& params) {
  const SandboxOptions options = sandbox_options(params);
  const std::optional<std::string> image = params.optional_word("image");
  if (params.flag("progress")) connection.want_progress();
  Engine& engine = connection.engine();
  if (image) {
    std::string message;
    auto sandbox = import_state(engine, options, read_state_file(*image), &message);
    if (sandbox) return *std::move(sandbox);
    throw RpcError{code::sandbox_error,
                   fmt::format("{}: {}", errno_info(sandbox.error()).name, message)};
  }
  try {
    return engine.create(options);
  } catch (const std::runtime_error& problem) {
    throw RpcError{code::sandbox_error, fmt::format("EINVAL: {}", problem.what())};
  }
}

}  // namespace cloche::rpc
