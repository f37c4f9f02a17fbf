// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/jail.h"

#include <array>
#include <filesystem>

#include "doors/ssh/ssh_door.h"
#include "sandbox/host_needs.h"
#include "sandbox/options/mountable.h"

namespace cloche::serve {
namespace {

// A file that is replaced, by another of its name, is a new file: its folder is named.
std::filesystem::path folder_of(const std::string& file) {
  return std::filesystem::absolute(file).parent_path();
}

// Whoever has these has all sessions, also where he may but read them; or says what was done.
void need_apart_from_own(const Options& options) {
  const std::array places{
      sandbox::OwnPlace{options.sessions.state_folder, "the folder of states"},
      sandbox::OwnPlace{options.isolation.state_folder, "the folder of states"},
      sandbox::OwnPlace{options.tokens_file, "the file of tokens"},
      sandbox::OwnPlace{options.http.tls_key, "the key of TLS"},
      sandbox::OwnPlace{options.ssh_host_key, "the key of SSH"},
      sandbox::OwnPlace{options.peer_token_file, "the secret of cells"},
      sandbox::OwnPlace{options.peers ? options.peers->file() : std::string(), "the list of cells"},
      sandbox::OwnPlace{options.audit_log ? options.audit_log->file : "", "the audit log"}};
  const auto look = [&](const SandboxOptions& sandbox) {
    for (const Mount& mount : sandbox.mounts) sandbox::need_apart(mount, places);
  };
  look(options.sessions.sandbox);
  for (const sandbox::Grant& grant : options.sessions.grants) look(grant.value);
}

}  // namespace

std::vector<std::string> enter_jail(Options& options, EngineOptions& engine_options) {
  JailRules rules{.readable = system_files(), .writable = {}, .executable = {}, .connects = true};
  sandbox::add_needs(rules, engine_options);
  need_apart_from_own(options);
  // A session may have one of these, and a later one another that lies in it.
  for (const sandbox::Grant& grant : options.sessions.grants)
    sandbox::note_guest_folders(grant.value.mounts);
  sandbox::add_needs(rules, options.sessions.sandbox);
  bool has_linux =
      options.sessions.sandbox.engine == EngineKind::native_linux || !options.e2b.images.empty();
  for (const sandbox::Grant& grant : options.sessions.grants) {
    sandbox::add_needs(rules, grant.value);
    has_linux |= grant.value.engine == EngineKind::native_linux;
  }
  if (has_linux) sandbox::begin_natives(rules, engine_options);
  options.ssh_host_key = ssh::prepare_host_key(options.ssh_host_key);
  rules.readable.emplace_back(options.ssh_host_key);
  for (const std::string& file :
       {options.tokens_file, options.http.tls_certificate, options.http.tls_key,
        options.peer_authorities == cluster::PeerWire::system ? std::string()
                                                              : options.peer_authorities,
        options.peers ? options.peers->file() : std::string()}) {
    if (!file.empty()) rules.readable.push_back(folder_of(file));
  }
  // After it has been renamed a new one is made.
  if (options.audit_log && !options.audit_log->file.empty())
    rules.writable.push_back(folder_of(options.audit_log->file));
  for (const std::string& folder :
       {options.takes_keys ? options.sessions.state_folder
                           : session::state_folder_of(options.sessions, options.sessions.cell),
        options.isolation.state_folder}) {
    if (folder.empty()) continue;
    std::error_code error;  // who uses it says what is wrong
    std::filesystem::create_directories(folder, error);
    rules.writable.emplace_back(folder);
  }
  return cloche::enter_jail(rules);
}

}  // namespace cloche::serve
