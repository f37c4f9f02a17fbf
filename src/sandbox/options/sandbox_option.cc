// SPDX-License-Identifier: Apache-2.0
#include "sandbox/options/sandbox_option.h"

#include <algorithm>
#include <array>

namespace cloche::sandbox {
namespace {

using namespace option;

constexpr std::uint32_t most_connections = 65'535;

constexpr std::array table{
    SandboxOption{"engine", "engine", "engine", "engine", "", "NAME",
                  option::Engine{[](SandboxOptions& o) -> auto& { return o.engine; }},
                  "wasm, or linux: any Linux program, behind namespaces of this machine's kernel "
                  "(docs/engines.md)"},
    SandboxOption{"isolation", "isolation", "isolation", "isolation", "", "NAME",
                  IsolationName{[](SandboxOptions& o) -> auto& { return o.isolation; }},
                  "of the linux engine: full, or gvisor: with a kernel of its own in between "
                  "(docs/engines.md)"},
    SandboxOption{"timeout", "timeout", "timeoutMs", "timeout_ms", "", "MS",
                  Time{[](SandboxOptions& o) -> auto& { return o.timeout; }},
                  "wall clock of one command; 0: no limit"},
    SandboxOption{"memory_limit_bytes", "memory", "limits.memoryBytes", "limits.memory_bytes", "",
                  "BYTES", Bytes{[](SandboxOptions& o) -> auto& { return o.memory_limit_bytes; }},
                  "memory of all its processes together"},
    SandboxOption{"cpus", "cpus", "limits.cpus", "limits.cpus", "", "N",
                  Count{[](SandboxOptions& o) -> auto& { return o.cpus; }},
                  "how many of its processes compute as fast as those of other sandboxes; further "
                  "ones get what is left over on a busy machine"},
    SandboxOption{"process_limit", "processes", "limits.processes", "limits.processes", "", "N",
                  Count{[](SandboxOptions& o) -> auto& { return o.process_limit; }},
                  "processes at a time"},
    SandboxOption{"open_file_limit", "open-files", "limits.openFiles", "limits.open_files", "", "N",
                  Count{[](SandboxOptions& o) -> auto& { return o.open_file_limit; }},
                  "open files of each process"},
    SandboxOption{"file_limit_bytes", "fs-limit", "fsLimitBytes", "fs_limit_bytes", "", "BYTES",
                  Bytes{[](SandboxOptions& o) -> auto& { return o.file_limit_bytes; }},
                  "files it may write"},
    SandboxOption{"file_limit_inodes", "fs-count", "limits.fileCount", "limits.files", "", "N",
                  LargeCount{[](SandboxOptions& o) -> auto& { return o.file_limit_inodes; }},
                  "how many files and folders it may make"},
    SandboxOption{"environment", "env", "env", "env", "", "NAME=VALUE",
                  Variables{[](SandboxOptions& o) -> auto& { return o.environment; }},
                  "a variable of its environment"},
    SandboxOption{
        "packages", "packages", "packages", "packages", "", "A,B",
        Words{[](SandboxOptions& o) -> auto& { return o.packages; }, Text::between_commas},
        "Python packages it can import"},
    SandboxOption{"mounts", "wheels", "", "", "CLOCHE_WHEELS", "DIR", WheelFolder{},
                  "a folder of pure-Python wheels that it may install, also by packages"},
    SandboxOption{"image", "image", "image", "image", "", "FILE",
                  Path{[](SandboxOptions& o) -> auto& { return o.image; }},
                  "its Python starts from a file of cloche image build; with the linux engine the "
                  "name of the image that it is made of"},
    SandboxOption{"user", "user", "user", "user", "", "NAME",
                  Name{[](SandboxOptions& o) -> auto& { return o.user; }},
                  "what its user is called; with the linux engine ID or ID:ID, by default the "
                  "image's"},
    SandboxOption{"mounts", "mount", "mounts", "mounts", "", "HOST:GUEST[:ro]", Mounts{},
                  "a folder or a file of this machine in the sandbox, writable unless :ro"},
    SandboxOption{"program_folder", "wasm-dir", "wasmDir", "wasm_dir", "", "DIR",
                  FolderPath{[](SandboxOptions& o) -> auto& { return o.program_folder; }},
                  "a folder of WebAssembly programs of this machine: NAME.wasm is the command NAME "
                  "in the sandbox"},
    SandboxOption{"network.allow", "net", "network.allow", "network", "", "RULE",
                  Rules{[](SandboxOptions& o) -> auto& { return o.network.allow; }},
                  "where it may connect: HOST, HOST:PORT, *.example.com, 10.0.0.0/8, "
                  "localhost:8080 (docs/network.md)"},
    SandboxOption{"network.deny", "net-deny", "network.deny", "network.deny", "", "RULE",
                  Words{[](SandboxOptions& o) -> auto& { return o.network.deny; }},
                  "where it may not connect, whatever is allowed"},
    SandboxOption{"network.max_connections", "net-connections", "network.maxConnections",
                  "network.maxConnections", "", "N",
                  Count{[](SandboxOptions& o) -> auto& { return o.network.max_connections; },
                        most_connections},
                  "connections at a time"},
    SandboxOption{
        "network.max_total_connections", "net-total", "network.maxTotalConnections",
        "network.maxTotalConnections", "", "N",
        LargeCount{[](SandboxOptions& o) -> auto& { return o.network.max_total_connections; }},
        "connections ever"},
    SandboxOption{
        "network.max_bytes", "net-bytes", "network.maxBytes", "network.maxBytes", "", "BYTES",
        Bytes{[](SandboxOptions& o) -> auto& { return o.network.max_bytes; }, Zero::means_none},
        "sent and received, ever; 0: no limit"},
    SandboxOption{"network.connect_timeout", "net-connect-timeout", "network.connectTimeoutMs",
                  "network.connectTimeoutMs", "", "MS",
                  Time{[](SandboxOptions& o) -> auto& { return o.network.connect_timeout; }},
                  "for a connection to each address of a name"},
    SandboxOption{"network.idle_timeout", "net-idle-timeout", "network.idleTimeoutMs",
                  "network.idleTimeoutMs", "", "MS",
                  Time{[](SandboxOptions& o) -> auto& { return o.network.idle_timeout; }},
                  "a connection without a byte for that long ends; 0: never"},
    SandboxOption{
        "network.trusted_certificates", "net-certificates", "network.trustedCertificates",
        "network.trustedCertificates", "", "FILE",
        FileContent{[](SandboxOptions& o) -> auto& { return o.network.trusted_certificates; }},
        "PEM certificates that TLS servers are checked against, instead of the system's"},
    SandboxOption{"network.secrets", "", "network.secrets", "network.secrets", "", "", Secrets{},
                  "by name {value, hosts}: values that the host puts into requests to these hosts, "
                  "and the sandbox never sees"},
};

}  // namespace

std::span<const SandboxOption> sandbox_options() { return table; }

const SandboxOption* find_option(std::string_view flag) {
  const auto* found = std::ranges::find(table, flag, &SandboxOption::flag);
  return flag.empty() || found == table.end() ? nullptr : found;
}

}  // namespace cloche::sandbox
