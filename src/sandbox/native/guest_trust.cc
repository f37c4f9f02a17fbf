// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/guest_trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"

namespace cloche::sandbox {
namespace {

// Where distributions have the authorities that they trust, as one text.
constexpr auto bundles = std::to_array<const char*>({
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // the same
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // LibreSSL
});
// Where Python brings its own: better than none, where there is none of the above.
constexpr auto bundles_of_python = std::to_array<const char*>({
    "/usr/local/lib/python3*/site-packages/certifi/cacert.pem",
    "/usr/lib/python3*/*-packages/certifi/cacert.pem",
    "/usr/local/lib/python3*/site-packages/pip/_vendor/certifi/cacert.pem",
    "/usr/lib/python3*/*-packages/pip/_vendor/certifi/cacert.pem",
});
// From here distributions make those texts anew (update-ca-certificates, update-ca-trust).
constexpr const char* own_file = "/usr/local/share/ca-certificates/cloche-sandbox.crt";
constexpr const char* anchors_of_fedora = "/etc/pki/ca-trust/source/anchors";
constexpr const char* folder_of_hashes = "/etc/ssl/certs/";

// What reads authorities instead of those it knows, and what reads some more.
constexpr auto bundle_variables = std::to_array<const char*>(
    {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
     "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO"});
constexpr auto extra_variables = std::to_array<const char*>({"NODE_EXTRA_CA_CERTS", "DENO_CERT"});

constexpr std::string_view mark = "# Cloche: the authority of this sandbox\n";
constexpr std::string_view certificate_end = "-----END CERTIFICATE-----\n";
constexpr std::uint64_t most_bundle_bytes = 4 << 20;

}  // namespace

std::string with_authority(std::string_view certificates, std::string_view authority) {
  std::string text;
  for (;;) {
    const std::size_t at = certificates.find(mark);
    text += certificates.substr(0, at);
    if (at == std::string_view::npos) break;
    certificates.remove_prefix(at);
    const std::size_t end = certificates.find(certificate_end);
    // One that is not whole is no reason to lose what follows.
    certificates.remove_prefix(end == std::string_view::npos ? mark.size()
                                                             : end + certificate_end.size());
  }
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text.append(mark).append(authority);
}

// Where a path leads, of which the end need not be there.
std::string GuestTrust::place_of(const std::string& path) {
  for (std::size_t end = path.size(); end != 0 && end != std::string::npos;
       end = path.rfind('/', end - 1)) {
    if (Result<std::string> there = files_.resolve(path.substr(0, end)))
      return *std::move(there) + path.substr(end);
  }
  return path;
}

// Whether it leads into a folder of the host, which is not ours to write to.
bool GuestTrust::is_of_host(const std::string& path) {
  const std::string whole = place_of(path);
  return std::ranges::any_of(mounts_, [&](const Mount& mount) {
    std::string_view folder = mount.guest_path;
    while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
    return whole.starts_with(folder) &&
           (whole.size() == folder.size() || whole[folder.size()] == '/');
  });
}

void GuestTrust::write(const std::string& path, const std::string& text) {
  if (is_of_host(path)) {
    throw request_error(
        fmt::format("the authority for the sandbox's secrets belongs into {}, where something of "
                    "the host is mounted: mount it elsewhere, or leave the secrets out",
                    path));
  }
  if (!files_.stat(path)) (void)files_.remove(path);  // a link to nowhere
  if (const Result<void> written = files_.write(path, text, 0644); !written)
    throw Error(written.error(), path);
}

void GuestTrust::add_to(const std::string& bundle, const std::string& text) {
  std::string before;
  if (files_.stat(bundle)) {
    Result<std::string> read = files_.read(bundle, most_bundle_bytes);
    if (!read) throw Error(read.error(), bundle);
    before = *std::move(read);
  }
  write(bundle, with_authority(before, text));
}

// The one that programs are told of.
std::string GuestTrust::find_bundle() {
  const auto is_there = [&](const std::string& path) {
    const Result<FileInfo> info = files_.stat(path);
    return info && info->kind == FileKind::file && !is_of_host(path);
  };
  for (const char* path : bundles) {
    if (is_there(path)) return path;
  }
  const std::string usual = bundles.front();
  for (const char* pattern : bundles_of_python) {
    const Result<std::vector<std::string>> found = files_.glob(pattern);
    if (!found || found->empty() || !is_there(found->front())) continue;
    const Result<std::string> known = files_.read(found->front(), most_bundle_bytes);
    if (!known) continue;
    write(usual, *known);
    break;
  }
  return usual;
}

void GuestTrust::add(const net::GuestAuthority& authority,
                     std::map<std::string, std::string>& environment) {
  const std::string& text = authority.certificate();
  const std::string marked = with_authority({}, text);
  write(own_file, marked);
  if (files_.stat(anchors_of_fedora))
    write(std::string(anchors_of_fedora) + "/cloche-sandbox.pem", marked);
  const std::string usual = find_bundle();
  const std::string usual_place = place_of(usual);
  for (const char* name : bundle_variables) environment.try_emplace(name, usual);
  for (const char* name : extra_variables) environment.try_emplace(name, own_file);

  // Those that the image or the user names instead are not less good.
  std::set<std::string> all{usual_place};
  for (const char* path : bundles) {
    if (files_.stat(path)) all.insert(place_of(path));
  }
  for (const auto& names : {std::span<const char* const>(bundle_variables),
                            std::span<const char* const>(extra_variables)}) {
    for (const char* name : names) {
      const std::string& path = environment.at(name);
      if (path.starts_with('/') && path != own_file && files_.stat(path))
        all.insert(place_of(path));
    }
  }
  for (const std::string& bundle : all) {
    if (bundle == usual_place || !is_of_host(bundle)) add_to(bundle, text);
  }
  const std::string link = folder_of_hashes + authority.hash() + ".0";
  if (is_of_host(link)) return;
  (void)files_.remove(link);
  if (const Result<void> made = files_.make_symlink(own_file, link); !made)
    throw Error(made.error(), link);
}

}  // namespace cloche::sandbox
