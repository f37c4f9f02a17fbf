// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/box_base.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/host_error.h"
#include "doors/e2b/box_tools.h"

namespace cloche::e2b {
namespace {

constexpr const char* home = "/home/user";
constexpr std::uint64_t accounts_max_bytes = 1 << 20;

void need(const Result<void>& done) {
  if (!done) throw HostError("cannot set up the sandboxes of E2B's door");
}

// The image's programs are nobody else's to choose, and its one id is root's, so that `sudo` and
// who asks as root do what they are meant to.
SandboxOptions linux_options(SandboxOptions options, const std::string& image) {
  options.engine = EngineKind::native_linux;
  if (!image.empty()) options.image = image;
  options.packages.clear();
  options.user = "0";
  for (const auto& [name, value] : {std::pair("HOME", home), {"USER", "user"}, {"LOGNAME", "user"}})
    options.environment[name] = value;
  return options;
}

// A name for the id, where the image has none: programs say `chown user`.
void add_account(Files& files, const std::string& path, std::string_view line) {
  const Result<std::string> known = files.read(path, accounts_max_bytes);
  std::string text = known ? *known : std::string();
  if (("\n" + text).find("\nuser:") != std::string::npos) return;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  need(files.write(path, text + std::string(line), 0644));
}

bool has_program(const Files& files, std::string_view name) {
  static constexpr std::array<std::string_view, 4> folders{"/usr/sbin/", "/usr/bin/", "/sbin/",
                                                           "/bin/"};
  for (const std::string_view folder : folders) {
    if (files.stat(std::string(folder) + std::string(name))) return true;
  }
  return false;
}

void prepare_linux(Sandbox& sandbox) {
  Files& files = sandbox.files(Account::root);
  if (!files.stat("/bin/bash"))
    throw request_error("the image has no /bin/bash, by which E2B's clients run all commands");
  need(files.make_directories("/usr/local/bin"));
  for (const auto& [path, script] : box_tools()) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name != "sudo" && has_program(files, name)) continue;
    need(files.write(std::string(path), script, 0755));
  }
  add_account(files, "/etc/passwd", "user:x:0:0::/home/user:/bin/bash\n");
  add_account(files, "/etc/group", "user:x:0:\n");
  if (!files.link_stat("/workspace")) need(files.make_symlink(home, "/workspace"));
}

}  // namespace

std::unique_ptr<Sandbox> make_base(Engine& engine, const SandboxOptions& usual,
                                   const std::string& image) {
  const bool is_linux = !image.empty() || usual.engine == EngineKind::native_linux;
  SandboxOptions options = is_linux ? linux_options(usual, image) : usual;
  if (!is_linux) {
    options.user = "user";
    options.isolation = Isolation::full;
  }
  options.home = home;
  options.timeout = std::chrono::milliseconds(0);
  std::unique_ptr<Sandbox> made = engine.create(options);
  if (is_linux) {
    prepare_linux(*made);
    return made;
  }
  for (const auto& [path, script] : box_tools())
    need(made->files(Account::root).write(std::string(path), script, 0755));
  return made;
}

void try_images(Engine& engine, const SandboxOptions& usual, const TemplateImages& images) {
  for (const auto& [name, image] : images) {
    try {
      (void)make_base(engine, usual, image);
    } catch (const Error& error) {
      throw request_error(fmt::format("--e2b-template {}={}: {}", name, image, error.sentence()),
                          error.code());
    }
  }
}

}  // namespace cloche::e2b
