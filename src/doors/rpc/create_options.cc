// SPDX-License-Identifier: Apache-2.0
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
  small("cpus", options.cpus);
  small("processes", options.process_limit);
  small("openFiles", options.open_file_limit);
}

// A list of rules, or an object with all that there is to say; false is none.
NetworkOptions network_of(const Json& given) {
  NetworkOptions network;
  if (given.is_boolean() && !given.get<bool>()) return network;
  if (given.is_array()) {
    const Json named = {{"allow", given}};
    network.allow = Params(named).words("allow");
    return network;
  }
  if (!given.is_object()) {
    throw RpcError{code::invalid_params,
                   "'network' must be false, a list of rules, or an object with 'allow'"};
  }
  const Params params(given);
  network.allow = params.words("allow");
  network.deny = params.words("deny");
  if (const auto count = params.optional_count("maxConnections"))
    network.max_connections = static_cast<std::uint32_t>(std::min<std::uint64_t>(*count, 65535));
  network.max_bytes = params.optional_count("maxBytes").value_or(network.max_bytes);
  network.connect_timeout =
      params.optional_ms("connectTimeoutMs").value_or(network.connect_timeout);
  network.trusted_certificates = params.optional_text("trustedCertificates").value_or("");
  if (const Json* secrets = params.find("secrets")) {
    if (!secrets->is_object()) throw RpcError{code::invalid_params, "'secrets' must be an object"};
    for (const auto& [name, secret] : secrets->items()) {
      const Params about(secret);
      network.secrets[name] = {.value = about.word("value"), .hosts = about.words("hosts")};
    }
  }
  return network;
}

}  // namespace

void take_options(const Params& params, SandboxOptions& options) {
  options.timeout = params.optional_ms("timeoutMs").value_or(options.timeout);
  options.file_limit_bytes =
      params.optional_count("fsLimitBytes").value_or(options.file_limit_bytes);
  for (auto& [name, value] : params.word_map("env")) options.environment[name] = value;
  for (std::string& name : params.words("packages")) options.packages.push_back(std::move(name));
  for (const Json& mount : params.objects("mounts")) options.mounts.push_back(mount_of(mount));
  if (const Json* limits = params.find("limits")) set_limits(options, *limits);
  if (const Json* network = params.find("network")) options.network = network_of(*network);
  if (const auto folder = params.optional_word("wasmDir")) {
    std::error_code error;
    if (!std::filesystem::is_directory(*folder, error))
      throw sandbox_error(Errno::noent, "wasmDir: " + *folder + " is no folder of the host");
    options.program_folder = *folder;
  }
}

std::unique_ptr<Sandbox> create_sandbox(Connection& connection, const Params& params) {
  SandboxOptions options;
  take_options(params, options);
  const std::optional<std::string> image = params.optional_word("image");
  if (params.flag("progress")) connection.want_progress();
  Engine& engine = connection.engine();
  if (image && is_image_file(*image)) {
    options.image = *image;
  } else if (image) {
    return read_state_file(*image, engine, options);
  }
  try {
    return engine.create(options);
  } catch (const std::runtime_error& problem) {
    throw RpcError{code::sandbox_error, fmt::format("EINVAL: {}", problem.what())};
  }
}

}  // namespace cloche::rpc
