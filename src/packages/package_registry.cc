// SPDX-License-Identifier: Apache-2.0
#include "packages/package_registry.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include "base/host_error.h"

namespace cloche::packages {
namespace {

constexpr std::string_view library_package = "python";
constexpr std::string_view library_folder = "usr/lib/python3.15";
constexpr std::string_view site_folder = "usr/lib/python3.15/site-packages";
constexpr std::string_view packages_folder = "usr/lib/python";
constexpr std::string_view pip_program =
    "#!/usr/bin/python3\nimport sys\nfrom pip import main\nsys.exit(main())\n";
// Before pytest is installed it says how to install it.
constexpr std::string_view pytest_program =
    "#!/usr/bin/python3\nimport sys\nfrom _pytest.config import "
    "_console_main\nsys.exit(_console_main())\n";
// What every sandbox has beside the library, by the name of its set of files in the bundle.
struct SharedData {
  std::string_view package;
  std::string_view folder;
};
constexpr std::array shared_data{
    SharedData{.package = "zoneinfo", .folder = "usr/share/zoneinfo"},
    SharedData{.package = "fonts", .folder = "usr/share/fonts/truetype/dejavu"},
};

bool is_listed(const BundledPackage& package) {
  return package.name != library_package &&
         std::none_of(shared_data.begin(), shared_data.end(),
                      [&](const SharedData& data) { return data.package == package.name; });
}

Result<vfs::Ino> folder_at(vfs::MemFs& files, std::string_view path) {
  vfs::Ino at = files.root();
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    CLOCHE_ASSIGN(at, files.lookup(at, path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return at;
}

// The names in site-packages that lead into the package's tree: modules, packages, and its
// dist-info folder.
Result<std::vector<std::string>> site_names(vfs::MemFs& files, const BundledPackage& package,
                                            vfs::Ino tree) {
  std::vector<std::string> names;
  for (const std::string& import_name : package.provides) {
    for (const std::string& file : {import_name, import_name + ".pyc", import_name + ".py"}) {
      if (files.lookup(tree, file)) names.push_back(file);
    }
  }
  std::string metadata = package.name;
  std::replace(metadata.begin(), metadata.end(), '-', '_');
  metadata += "-" + package.version + ".dist-info";
  if (files.lookup(tree, metadata)) names.push_back(metadata);
  return names;
}

Result<void> link_one(vfs::MemFs& files, const BundledPackage& package, const vfs::Frozen& tree) {
  CLOCHE_ASSIGN(const vfs::Ino packages, folder_at(files, packages_folder));
  CLOCHE_ASSIGN(const vfs::Ino site, folder_at(files, site_folder));
  CLOCHE_ASSIGN(const vfs::Ino root, files.graft(packages, package.name, tree));
  CLOCHE_ASSIGN(const std::vector<std::string> names, site_names(files, package, root));
  for (const std::string& name : names) {
    const std::string target = "../../python/" + package.name + "/" + name;
    const auto linked = files.symlink(site, name, target, {.mode = 0777, .uid = 0, .gid = 0});
    if (!linked && linked.error() != Errno::exist) return linked.error();
  }
  return {};
}

// "3.0.6rc1" -> {3, 0, 6}: what is compared.
std::vector<unsigned long> release_of(std::string_view version) {
  std::vector<unsigned long> parts;
  const char* at = version.data();
  const char* const end = at + version.size();
  while (at != end) {
    unsigned long part = 0;
    const auto [after, error] = std::from_chars(at, end, part);
    if (error != std::errc()) break;
    parts.push_back(part);
    at = after;
    if (at == end || *at != '.') break;
    ++at;
  }
  return parts;
}

// Negative, zero or positive; missing parts are 0.
int compare(std::vector<unsigned long> a, std::vector<unsigned long> b) {
  const std::size_t size = std::max(a.size(), b.size());
  a.resize(size);
  b.resize(size);
  return a < b ? -1 : a > b ? 1 : 0;
}

bool has_prefix(std::vector<unsigned long> version, const std::vector<unsigned long>& prefix) {
  version.resize(std::max(version.size(), prefix.size()));
  return std::equal(prefix.begin(), prefix.end(), version.begin());
}

// One ".*", at the end, and only where a version is like that or unlike it (PEP 440).
bool has_star_where_it_may(const Condition& condition) {
  const std::size_t star = condition.version.find('*');
  if (star == std::string::npos || condition.relation == "===") return true;
  return (condition.relation == "==" || condition.relation == "!=") && star >= 2 &&
         condition.version.substr(star - 1) == ".*";
}

bool satisfies(const std::string& version, const Condition& condition) {
  std::string_view wanted = condition.version;
  const std::vector<unsigned long> have = release_of(version);
  if (wanted.ends_with(".*")) {
    wanted.remove_suffix(2);
    return has_prefix(have, release_of(wanted)) == (condition.relation == "==");
  }
  std::vector<unsigned long> target = release_of(wanted);
  const int order = compare(have, target);
  if (condition.relation == "==") return version == wanted || order == 0;
  if (condition.relation == "===") return version == wanted;
  if (condition.relation == "!=") return order != 0;
  if (condition.relation == ">=") return order >= 0;
  if (condition.relation == "<=") return order <= 0;
  if (condition.relation == ">") return order > 0;
  if (condition.relation == "<") return order < 0;
  if (target.size() < 2) return false;  // ~= wants two parts
  target.pop_back();
  return order >= 0 && has_prefix(have, target);
}

bool satisfies(const std::string& version, const std::vector<Condition>& conditions) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& condition) { return satisfies(version, condition); });
}

}  // namespace

std::string normalized(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (result.empty() || result.back() != '-') result.push_back('-');
    } else {
      result.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  return result;
}

std::optional<Wish> parse_wish(std::string_view text) {
  const auto trimmed = [](std::string_view part) {
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.front())) != 0)
      part.remove_prefix(1);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back())) != 0)
      part.remove_suffix(1);
    return part;
  };
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  const auto is_version = [&](char c) { return is_plain(c) || c == '+' || c == '*' || c == '!'; };
  constexpr std::string_view relation_signs = "=<>!~";
  text = trimmed(text.substr(0, text.find(';')));
  Wish wish;
  std::string_view conditions;
  if (const std::size_t at = text.find_first_of(relation_signs); at != std::string_view::npos) {
    conditions = text.substr(at);
    text = trimmed(text.substr(0, at));
  }
  while (!conditions.empty()) {
    const std::string_view one = trimmed(conditions.substr(0, conditions.find(',')));
    conditions.remove_prefix(std::min(conditions.find(','), conditions.size() - 1) + 1);
    const std::size_t signs = std::min(one.find_first_not_of(relation_signs), one.size());
    Condition condition{std::string(one.substr(0, signs)), std::string(trimmed(one.substr(signs)))};
    constexpr std::array<std::string_view, 8> known{"==", "===", "!=", ">=", "<=", ">", "<", "~="};
    if (std::find(known.begin(), known.end(), condition.relation) == known.end() ||
        condition.version.empty() ||
        !std::all_of(condition.version.begin(), condition.version.end(), is_version)) {
      return std::nullopt;
    }
    wish.conditions.push_back(std::move(condition));
  }
  if (const std::size_t extras = text.find('['); extras != std::string_view::npos) {
    if (text.back() != ']') return std::nullopt;
    std::string_view names = text.substr(extras + 1, text.size() - extras - 2);
    while (!names.empty()) {
      const std::size_t comma = std::min(names.find(','), names.size());
      wish.extras.push_back(normalized(trimmed(names.substr(0, comma))));
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
    text = trimmed(text.substr(0, extras));
  }
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_plain)) return std::nullopt;
  wish.name = normalized(text);
  return wish;
}

void PackageRegistry::add_library(vfs::BaseBuilder& builder) const {
  if (const auto* library = bundle_.find(library_package))
    bundle_.add_files(builder, *library, library_folder);
  for (const SharedData& data : shared_data) {
    if (const auto* files = bundle_.find(data.package))
      bundle_.add_files(builder, *files, data.folder);
  }
  std::string catalogue;
  for (const BundledPackage* package : available()) {
    if (package->builtin) continue;
    for (const std::string& name : package->provides)
      catalogue += name + " " + package->name + "\n";
  }
  const auto must = [](const Result<void>& added) {
    if (!added) throw HostError("the system layer has no place for the Python library");
  };
  must(builder.add_dir(packages_folder));
  must(builder.add_dir(site_folder));
  must(builder.add_file(std::string(packages_folder) + "/.catalogue",
                        vfs::SharedBytes::from_string(std::move(catalogue))));
  must(builder.add_file("usr/bin/pip", vfs::SharedBytes::from_string(std::string(pip_program)),
                        {.mode = 0755}));
  if (bundle_.find("pytest") != nullptr) {
    must(builder.add_file("usr/bin/pytest",
                          vfs::SharedBytes::from_string(std::string(pytest_program)),
                          {.mode = 0755}));
  }
  must(builder.add_symlink("usr/bin/pip3", "pip"));
  must(builder.add_symlink("usr/bin/pip3.15", "pip"));
}

std::vector<const BundledPackage*> PackageRegistry::available() const {
  std::vector<const BundledPackage*> list;
  for (const BundledPackage& package : bundle_.packages()) {
    if (is_listed(package)) list.push_back(&package);
  }
  return list;
}

const BundledPackage* PackageRegistry::find(std::string_view name) const {
  const std::string plain = normalized(name);
  for (const BundledPackage& package : bundle_.packages()) {
    if (is_listed(package) && package.name == plain) return &package;
  }
  for (const BundledPackage& package : bundle_.packages()) {
    const auto& provides = package.provides;
    if (std::any_of(provides.begin(), provides.end(),
                    [&](const auto& import) { return normalized(import) == plain; })) {
      return &package;
    }
  }
  return nullptr;
}

Result<std::vector<const BundledPackage*>, Error> PackageRegistry::resolve(
    std::span<const std::string> wishes) const {
  std::vector<const BundledPackage*> order;
  std::set<const BundledPackage*> seen;
  const auto visit = [&](const auto& self, const BundledPackage& package) -> void {
    if (!seen.insert(&package).second) return;
    for (const std::string& name : package.requires_names) {
      if (const BundledPackage* needed = find(name)) self(self, *needed);
    }
    order.push_back(&package);
  };
  for (const std::string& text : wishes) {
    const std::optional<Wish> wish = parse_wish(text);
    if (!wish) return request_error("'" + text + "' is not the name of a package");
    if (!std::ranges::all_of(wish->conditions, has_star_where_it_may))
      return request_error("'" + text + "': .* is the end of a version, after == and != alone");
    const BundledPackage* package = find(wish->name);
    if (package == nullptr)
      return request_error(
          "Package not found. Available: " + names() + " (asked for: " + text + ")", Errno::noent);
    if (!satisfies(package->version, wish->conditions)) {
      return request_error("There is no " + package->name + " that is " + text +
                               ": this build has " + package->version,
                           Errno::noent);
    }
    visit(visit, *package);
    for (const std::string& extra : wish->extras) {
      const auto known = package->extras.find(extra);
      if (known == package->extras.end()) continue;  // pip only warns of it, too
      for (const std::string& name : known->second) {
        if (const BundledPackage* needed = find(name)) visit(visit, *needed);
      }
    }
  }
  return order;
}

vfs::Frozen PackageRegistry::tree_of(const BundledPackage& package) {
  const MutexLock lock(mutex_);
  vfs::Frozen& tree = trees_[&package];
  if (!tree) {
    vfs::BaseBuilder builder;
    bundle_.add_files(builder, package, "");
    tree = builder.freeze();
  }
  return tree;
}

Result<void> PackageRegistry::install(vfs::MemFs& files,
                                      std::span<const BundledPackage* const> packages) {
  for (const BundledPackage* package : packages) {
    if (is_installed(files, *package)) continue;
    CLOCHE_TRY(link_one(files, *package, tree_of(*package)));
  }
  return {};
}

Result<void> PackageRegistry::uninstall(vfs::MemFs& files, const BundledPackage& package) {
  if (package.builtin) return Errno::perm;
  CLOCHE_ASSIGN(const vfs::Ino packages, folder_at(files, packages_folder));
  CLOCHE_ASSIGN(const vfs::Ino site, folder_at(files, site_folder));
  CLOCHE_ASSIGN(const vfs::Ino root, files.lookup(packages, package.name));
  CLOCHE_ASSIGN(const std::vector<std::string> names, site_names(files, package, root));
  for (const std::string& name : names) (void)files.unlink(site, name);
  return files.ungraft(packages, package.name);
}

bool PackageRegistry::is_installed(vfs::MemFs& files, const BundledPackage& package) const {
  if (package.builtin) return true;
  const auto packages = folder_at(files, packages_folder);
  return packages && files.lookup(*packages, package.name);
}

std::vector<const BundledPackage*> PackageRegistry::installed(vfs::MemFs& files) const {
  std::vector<const BundledPackage*> found;
  for (const BundledPackage& package : bundle_.packages()) {
    if (is_listed(package) && !package.builtin && is_installed(files, package))
      found.push_back(&package);
  }
  return found;
}

std::string PackageRegistry::names() const {
  std::string text;
  for (const BundledPackage* package : available()) {
    if (!text.empty()) text += ", ";
    text += package->name;
  }
  return text;
}

}  // namespace cloche::packages
