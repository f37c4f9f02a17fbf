// SPDX-License-Identifier: Apache-2.0
// What `create` is given, as SandboxOptions: the table of options says what there is.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "cloche/archive.h"
#include "doors/rpc/methods.h"
#include "doors/rpc/state_file.h"
#include "sandbox/options/sandbox_option.h"

namespace cloche::rpc {
namespace {

// A file of persistence.export or of `cloche image build`: which, its first bytes say.
constexpr std::string_view image_name = "image";

void need_folder(const std::filesystem::path& folder, std::string_view about) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw request_error(std::string(about) + folder.string() + " is no folder of the host",
                        Errno::noent);
  }
}

Mount mount_of(const Json& given) {
  const Params params(given);
  Mount mount;
  mount.host_folder = params.word("host");
  mount.guest_path = params.word("guest");
  mount.access = params.flag("readOnly") ? Mount::Access::read_only : Mount::Access::read_write;
  need_folder(mount.host_folder, "");
  return mount;
}

// Sets one option from the member `name` of `params`, where that is there.
struct Reader {
  SandboxOptions& options;
  const Params& params;
  const char* name;

  void operator()(const sandbox::option::Bytes& kind) const {
    if (const auto bytes = params.optional_bytes(name)) kind.member(options) = *bytes;
  }
  void operator()(const sandbox::option::Time& kind) const {
    if (const auto time = params.optional_ms(name)) kind.member(options) = *time;
  }
  void operator()(const sandbox::option::Count& kind) const {
    if (const auto count = params.optional_count(name))
      kind.member(options) = static_cast<std::uint32_t>(std::min<std::uint64_t>(*count, kind.most));
  }
  void operator()(const sandbox::option::LargeCount& kind) const {
    if (const auto count = params.optional_count(name)) kind.member(options) = *count;
  }
  void operator()(const sandbox::option::Words& kind) const {
    for (std::string& word : params.words(name)) kind.member(options).push_back(std::move(word));
  }
  void operator()(const sandbox::option::Variables& kind) const {
    for (auto& [variable, value] : params.word_map(name)) kind.member(options)[variable] = value;
  }
  void operator()(const sandbox::option::Name& kind) const {
    if (const auto word = params.optional_word(name)) kind.member(options) = *word;
  }
  void operator()(const sandbox::option::Engine& kind) const {
    if (const auto word = params.optional_word(name))
      kind.member(options) = sandbox::engine_named(name, *word);
  }
  void operator()(const sandbox::option::Path& kind) const {
    if (const auto path = params.optional_word(name)) kind.member(options) = *path;
  }
  void operator()(const sandbox::option::FolderPath& kind) const {
    const auto path = params.optional_word(name);
    if (!path) return;
    need_folder(*path, std::string(name) + ": ");
    kind.member(options) = *path;
  }
  void operator()(const sandbox::option::FileContent& kind) const {
    if (const auto text = params.optional_text(name)) kind.member(options) = *text;
  }
  void operator()(const sandbox::option::Mounts&) const {
    for (const Json& mount : params.objects(name)) options.mounts.push_back(mount_of(mount));
  }
  void operator()(const sandbox::option::WheelFolder&) const {}  // a mount says it
  void operator()(const sandbox::option::Secrets&) const {
    const Json* secrets = params.find(name);
    if (secrets == nullptr) return;
    if (!secrets->is_object()) throw RpcError{code::invalid_params, "'secrets' must be an object"};
    for (const auto& [secret, given] : secrets->items()) {
      const Params about(given);
      options.network.secrets[secret] = {.value = about.word("value"),
                                         .hosts = about.words("hosts")};
    }
  }
};

Json limits_of(const Params& params) {
  const Json* limits = params.find("limits");
  if (limits == nullptr) return Json::object();
  if (!limits->is_object()) throw RpcError{code::invalid_params, "'limits' must be an object"};
  return *limits;
}

// A list of rules, or an object with all that there is to say; false is none.
Json network_of(const Params& params) {
  const Json* network = params.find("network");
  if (network == nullptr || (network->is_boolean() && !network->get<bool>())) return Json::object();
  if (network->is_array()) return {{"allow", *network}};
  if (network->is_object()) return *network;
  throw RpcError{code::invalid_params,
                 "'network' must be false, a list of rules, or an object with 'allow'"};
}

}  // namespace

// What is said is added to what is there; a word on the network replaces all that was said of it.
void take_options(const Params& params, SandboxOptions& options) {
  const Json limits = limits_of(params), network = network_of(params);
  const Params of_limits(limits), of_network(network);
  if (params.find("network") != nullptr) options.network = {};
  for (const sandbox::SandboxOption& option : sandbox::sandbox_options()) {
    if (option.json.empty() || option.json == image_name) continue;
    const Params& from = option.json.starts_with("limits.")    ? of_limits
                         : option.json.starts_with("network.") ? of_network
                                                               : params;
    const std::string name(option.json.substr(option.json.find('.') + 1));
    std::visit(Reader{options, from, name.c_str()}, option.kind);
  }
}

std::unique_ptr<Sandbox> create_sandbox(Connection& connection, const Params& params) {
  SandboxOptions options;
  take_options(params, options);
  const std::optional<std::string> image = params.optional_word(image_name.data());
  if (params.flag("progress")) connection.want_progress();
  Engine& engine = connection.engine();
  if (image && (options.engine == EngineKind::native_linux || is_image_file(*image))) {
    options.image = *image;
  } else if (image) {
    return read_state_file(*image, engine, options);
  }
  return engine.create(options);
}

}  // namespace cloche::rpc
