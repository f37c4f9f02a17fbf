// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/options.h"
#include "sandbox/options/sandbox_option.h"

namespace cloche::cli {
namespace {

constexpr const char* general_page =
    R"page(cloche - a private computer for an agent, ready in a millisecond

  cloche run 'SCRIPT' [ARG ...]   run a shell command in a fresh sandbox
  cloche run --file FILE          a script of this machine; - for one on standard input
  cloche shell                    an interactive shell in a fresh sandbox
  cloche rpc                      serve a program: JSON-RPC 2.0 on standard input and output
  cloche mcp [OPTIONS]            serve an agent: Model Context Protocol on standard input and output
  cloche serve [OPTIONS]          sessions for agents over HTTP and SSH; see cloche serve --help
  cloche sbs run                  the same with the steps of session-based-sandbox at the root
  cloche cells ...                several servers and the keys that they have; see cloche cells --help
  cloche route --haproxy ...      what leads requests to several servers; see cloche route --help
  cloche skill [DOOR]             a page from which an agent learns to use it
  cloche image build -o FILE      an image of a Python that has imported and set up things already
  cloche image pull, import, make, commit, list, remove
                                  images of systems, for --engine linux
  cloche prepare                  compile all programs of the sandbox now, once; with --ship FOLDER
                                  for other machines too, into FOLDER (to lie beside the system's)
  cloche doctor [--json]          what this machine can do for sandboxes, and what to change
  cloche licenses [--json]        the programs of the sandbox, with version, licence and source
  cloche help [COMMAND]           this page, or a command's
  cloche --version

A sandbox has a shell, the usual tools, Python, and files of its own; nothing of this machine shows in it, and it has
no network. What runs in it is WebAssembly, or with --engine linux any Linux program. When the command has ended the
sandbox is gone.

  cloche run 'echo hello | tr a-z A-Z'
  cloche run --packages pandas 'python3 -c "import pandas; print(pandas.__version__)"'
  cloche run --mount ./data:/data:ro --out result.csv:./result.csv 'sort /data/*.csv > result.csv'
)page";

constexpr const char* run_page = R"page(cloche run [OPTIONS] [--] 'SCRIPT' [ARG ...]
cloche run [OPTIONS] --file FILE [ARG ...]
cloche run [OPTIONS] - [ARG ...]

Runs SCRIPT with `bash -c` in a fresh sandbox: the first ARG is $0, the next ones $1, $2 ... Where
SCRIPT is one word, as in `cloche run ls -l /`, it is a command, and each ARG one of its own. The
command's output, errors and exit status are those of cloche. SCRIPT is never the name of a file of
this machine: that is --file, which runs a copy of FILE in the sandbox, by its #! line, or
with bash where it has none, and ARG are $1, $2 ... `-` is a script on standard input, run likewise.

Standard input is the command's, as with `ssh`, unless it is a terminal; it is read from when the
command asks for input, so that `while read LINE; do cloche run 'echo hi'; done` keeps its lines.

  --cwd DIR                 where it starts (/workspace)
  -f, --file FILE           the script is in a file of this machine
  -i, --stdin               gives it the standard input of cloche, also a terminal
  -n, --no-stdin            gives it none
  --out GUEST:HOST          copies a file out of the sandbox when the command has ended, to - for
                            standard output; may be repeated (none)
  --trace-syscalls          writes each system call of the guests to standard error

The sandbox:

)page";

constexpr const char* after_options = R"page(
BYTES may end in K, M, G or T, MS in s, m, h or d: 512M, 30s. Over its time the command ends with
status 124.

  cloche run 'echo hello | tr a-z A-Z'
  git log --oneline | cloche run 'wc -l'
  cloche run --file ./report.sh --verbose data.csv

Exit status: the command's own; 124 over its time; 128 + N ended by signal N; 2 when cloche cannot
do what is asked, with one sentence on standard error.
)page";

constexpr const char* image_page =
    R"page(cloche image build [OPTIONS] [--exec SCRIPT.py ...] -o FILE
cloche image show FILE
cloche image pull REFERENCE [--name NAME] [--registry-auth FILE] [--insecure]
cloche image import FILE|FOLDER [--name NAME]
cloche image make debian [--packages A,B] [--suite NAME] [--name NAME]
cloche image commit --image IMAGE [OPTIONS] [--state FILE] NAME [COMMAND [ARG ...]]
cloche image list [--json]
cloche image remove NAME

For --engine linux: pull brings [HOST[:PORT]/]NAME[:TAG][@sha256:DIGITS] from a registry into the store
of images, and says its name; import takes an OCI layout, an archive of one or of docker save, an archive of
a file system, or a folder of one; make debian makes one with bash, git, Python and pip by mmdebstrap; commit runs
COMMAND in a sandbox of IMAGE, with the options of cloche run, and where its status is 0 keeps what the files and the environment are
then as the image NAME.
What follows is of the wasm engine's images of Python.

Starts a Python with the packages of --packages imported, runs the scripts in it, one after the other in one __main__, and writes the
interpreter as it is then to FILE. With --image FILE a sandbox's Python starts from there, and has the packages: no import and no set-up
runs again. Sessions (PythonSession, run_python of the SDK and of cloche rpc) have the scripts' names too; a python3 command has the
modules as the scripts left them, and a __main__ of its own. Files that the scripts write are not part of an image, nor are open files,
tasks and connections. An image is good for the build of cloche that made it.

The options are those of cloche run (see cloche run --help) but --stdin, --no-stdin, --file and --out; without --timeout there is no
time limit (0).

  --exec SCRIPT.py          a script to run in it; may be repeated (none)
  -o, --output FILE         where the image goes; to be given
  --name NAME               of pull, import and make: what the image is called (as its source says; debian)
  --registry-auth FILE      of pull: users and passwords, as docker login writes them ($REGISTRY_AUTH_FILE,
                            then config.json in $DOCKER_CONFIG or ~/.docker); $CLOCHE_REGISTRY_USER and
                            $CLOCHE_REGISTRY_PASSWORD say them instead
  --insecure                of pull: asks without TLS, as it does at localhost (no)
  --state FILE              of commit: the sandbox begins as the one that was exported to FILE
  --suite NAME              of make: the release of Debian (bookworm)

  cloche image pull debian:12
  cloche image make debian --packages build-essential
  cloche image commit --image debian --mount .:/src:ro with-app 'pip install --no-index --find-links /src/wheels app'
  cloche image build --packages numpy,pandas --exec setup.py -o my.image
  cloche run --image my.image 'python3 -c "import pandas; print(pandas.__version__)"'

Exit status: 0; 1 when a script fails, with its traceback; 2 when cloche cannot do what is asked.
)page";

constexpr const char* rpc_page = R"page(cloche rpc [--parent PID]

Serves one client with JSON-RPC 2.0, one object a line: requests on standard input, answers on standard output; log lines go to
standard error. It ends at the end of input, when nobody reads its output any more, by the method kill, and with the process PID.
docs/rpc.md has the methods.

  --parent PID              the process with which it ends (none)

  {"jsonrpc":"2.0","id":1,"method":"create"}
  {"jsonrpc":"2.0","id":2,"method":"run","params":{"command":"echo hello"}}
)page";

constexpr const char* mcp_page = R"page(cloche mcp [OPTIONS]

Gives an agent sandboxes by the Model Context Protocol (revisions 2024-11-05 to 2026-07-28) on standard input and output; log lines
go to standard error. It ends at the end of input, and all sandboxes with it. docs/mcp.md has the tools, and what to paste for the
usual hosts; cloche serve has the same over HTTP, at /mcp.

What is given here holds for each sandbox:

  --engine wasm|linux       linux: any Linux program, in a box of this machine's kernel; needs --image (wasm; docs/engines.md)
  --isolation full|gvisor   with --engine linux: gvisor has a kernel of its own in between (full; docs/engines.md)
  --image FILE              its Python starts from an image; see cloche image --help. With --engine linux the NAME of a system's image
  --user ID[:ID]            with --engine linux: who it is inside (the image's)
  --packages A,B            Python packages it can import; may be repeated (numpy,pandas,matplotlib,scikit-learn)
  --mount HOST:GUEST[:ro]   a folder or a file of this machine in it, writable unless :ro; may be repeated (none)
  --network RULE            where it may connect from the start; may be repeated (none; docs/network.md)
  --allow RULE              what the agent may open without the user being asked; may be repeated (none)
  --limits NAME=VALUE,...   memory=1G, files=256M, inodes=200000, processes=64, open-files=1024, cpus=3
  --tools all|minimal|anthropic
                            all 13; bash, Python and files; the two that Claude was trained on (all)
  --mount-tools FILE        tools of other MCP servers, which it starts, are commands in each sandbox (none): the
                            {"mcpServers": {...}} of other hosts; NAME --help says what one takes

  claude mcp add cloche -- cloche mcp
  cloche mcp --mount ~/project:/workspace/project --allow api.github.com:443
  cloche mcp --engine linux --image debian
)page";

constexpr const char* prepare_page = R"page(cloche prepare [--ship FOLDER]

Compiles all programs of the sandbox to machine code, and makes Python's images: once for this
machine, into the cache folder ($CLOCHE_CACHE, or ~/.cache/cloche), so that no first command waits.
With --ship machine code for any CPU of its kind (x86-64-v3) goes to FOLDER instead, which is to lie
beside the guests' system under the name `code`. What machine code was there before is gone; a folder
with anything else in it is refused.

  --ship FOLDER             where to (none: this machine's cache folder)

  cloche prepare
)page";

constexpr const char* licenses_page = R"page(cloche licenses [--json]

The programs, libraries and Python packages of the sandbox, each with version, licence and source.

  --json                    as JSON (a list for people)

  cloche licenses --json | jq '.programs[] | .name + " " + .licence'
)page";

constexpr const char* doctor_page = R"page(cloche doctor [--json]

Looks at this machine: processor and memory, the cache folder, limits, what the kernel offers, and
whether a command runs in a sandbox. Each line is `ok`, a `fact`, a `note` (works, but could be
better) or a `problem`, with what to do about the last two. It changes nothing but the cache folder.

  --json                    {"ok", "version", "findings": [{"kind", "name", "said", "advice"}]}
                            (lines for people)

  cloche doctor || echo "sandboxes do not run here"

Exit status: 0; 1 when there is a problem.
)page";

constexpr const char* shell_page = R"page(cloche shell [OPTIONS] [--] [ARG ...]

bash in a fresh sandbox. On a terminal it is interactive, with history, completion and job control; Ctrl-D or `exit` ends it, and the
sandbox is gone then. Without a terminal it reads its script from standard input. Each ARG is one of bash: cloche shell -- -x

  echo 'echo $((6 * 7))' | cloche shell

The options are those of cloche run (see cloche run --help) but --stdin, --no-stdin and --file; without --timeout there is no time limit
(0). The exit status is that of the shell.

  cloche shell --packages numpy --mount .:/workspace/here
)page";

}  // namespace

std::optional<std::string> help_page(const std::string& topic) {
  if (topic == "run") return run_page + sandbox::option_lines("--") + after_options;
  if (topic == "shell") return shell_page;
  if (topic == "rpc") return rpc_page;
  if (topic == "mcp") return mcp_page;
  if (topic == "image") return image_page;
  if (topic == "prepare") return prepare_page;
  if (topic == "licenses") return licenses_page;
  if (topic == "doctor") return doctor_page;
  if (topic.empty() || topic == "help" || topic == "version") return general_page;
  return std::nullopt;
}

}  // namespace cloche::cli
