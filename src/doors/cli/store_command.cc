// SPDX-License-Identifier: Apache-2.0
// cloche image pull, import, list, remove, make: the images of native sandboxes.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/host_error.h"
#include "doors/cli/commands.h"
#include "doors/cli/support.h"
#include "native/images/image_store.h"
#include "sandbox/host_folders.h"
#include "sandbox/native/default_images.h"

extern char** environ;

namespace cloche::cli {
namespace {

namespace fs = std::filesystem;

images::ImageStore store() {
  return sandbox::default_image_store(sandbox::default_system_folder());
}

// A folder for a while.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "cloche-image-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw HostError::from_errno("a temporary folder", errno);
    path_ = name;
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What the program writes goes to standard error. Its exit status.
int run_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw HostError::from_errno(
        fmt::format("cannot start {} (Debian has it in the package of that name)", words.front()),
        failed);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int image_import_command(const Options& options) {
  fmt::print("{}\n", store().import(options.image_file, options.image_name));
  return 0;
}

int image_pull_command(const Options& options) {
  fmt::print("{}\n", store().pull(options.image_file, options.image_name, options.pull));
  return 0;
}

int image_list_command(const Options& options) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const images::ImageSummary& image : store().list()) {
    if (options.list_format == ListFormat::json) {
      list.push_back(
          {{"name", image.name}, {"digest", image.digest}, {"architecture", image.architecture}});
    } else {
      fmt::print("{:<40} {:<8} {:.19}\n", image.name, image.architecture, image.digest);
    }
  }
  if (options.list_format == ListFormat::json)
    fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return 0;
}

int image_remove_command(const Options& options) {
  store().remove(options.image_name);
  return 0;
}

// Servers that are installed are not started: they have no other user to be.
constexpr const char* no_servers =
    R"(--customize-hook=printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d" && )"
    R"(chmod 755 "$1/usr/sbin/policy-rc.d")";

// Debian by mmdebstrap, from where this machine has its packages from.
int image_make_command(const Options& options) {
  images::check_image_name(options.image_name);
  store().expect_archives();
  const Scratch scratch;
  const fs::path archive = scratch.path() / "debian.tar";
  std::string packages = "bash,git,python3,python3-pip,python3-venv,ca-certificates";
  for (const std::string& name : options.image_packages) packages += "," + name;
  const int status = run_program(
      {"mmdebstrap", "--quiet", "--variant=minbase", "--include=" + packages,
       // There is one user only: apt has no other to become.
       "--aptopt=APT::Sandbox::User \"root\"", no_servers, options.suite, archive.string()});
  if (status != 0)
    throw HostError(fmt::format("mmdebstrap ended with status {}: no image was made", status));
  fmt::print("{}\n", store().import(archive, options.image_name));
  return 0;
}

}  // namespace cloche::cli
