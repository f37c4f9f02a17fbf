// SPDX-License-Identifier: Apache-2.0
// pip and indexes: what it takes from one, where the policy lets it, and what it refuses.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "loopback_server_testing.h"
#include "sandbox/host_folders.h"
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// An index of wheels, made by a program in a sandbox: `index.py` makes the files and then serves
// them inside the sandbox, which needs no policy.
constexpr const char* index_program = R"py(
import base64, hashlib, http.server, io, json, os, sys, tarfile, zipfile
pages, files = {}, {}
def digest(data): return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
def add(name, version, requires=(), tag="py3-none-any", head="", meta=False, load=0, **fields):
    info, file = f"{name}-{version}.dist-info", f"{name}-{version}-{tag}.whl"
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{head}" + "".join(f"Requires-Dist: {r}\n" for r in requires)
    parts = {f"{name}/__init__.py": f"version = {version!r}\n", f"{info}/METADATA": text, f"{info}/WHEEL": "Wheel-Version: 1.0\n"}
    if load: parts[f"{name}/load"] = version * load
    with zipfile.ZipFile(file, "w") as box:
        for part, content in parts.items(): box.writestr(part, content)
        box.writestr(f"{info}/RECORD", "".join(f"{p},sha256={digest(c.encode())},{len(c)}\n" for p, c in parts.items()) + f"{info}/RECORD,,\n")
    data = files[file] = open(file, "rb").read()
    if load: os.unlink(file)
    entry = {"filename": file, "url": f"../../f/{file}", "hashes": {"sha256": hashlib.sha256(data).hexdigest()}, **fields}
    if meta:
        files[file + ".metadata"] = text.encode()
        entry["core-metadata"] = {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    pages.setdefault(name, []).append(entry)
add("app", "1.0", ["lib<2"], meta=True)
add("app", "2.0", ["lib>=2", "other[fast]; python_version > '3'", "nope; sys_platform == 'win32'"], meta=True)
add("other", "1.0", ["six", "speedy; extra == 'fast'"], head="Provides-Extra: fast\n")
for version in "1.0", "1.5", "2.0", "3.0a1": add("lib", version)
add("lib", "2.1", yanked="it is broken"); add("lib", "9.0", **{"requires-python": ">=3.99"})
add("lost", "1.0"); add("lost", "2.0"); add("away", "1.0"); del files["lost-2.0-py3-none-any.whl"], files["away-1.0-py3-none-any.whl"]
add("speedy", "0.1"); add("native", "1.0", tag="cp312-cp312-manylinux_2_17_x86_64"); add("native", "0.9", tag="cp39-cp39-win_amd64")
for version in range(60): add("many", str(version), ["absent-thing"], meta=True)
add("once", "1.0"); add("once", "2.0", tag="cp312-cp312-win_amd64")
add("bad", "1.0", hashes={"sha256": "0" * 64}); pages["source"] = [{"filename": "source-1.0.tar.gz", "url": "s"}]
def source(name, version, *requires):
    file, text = f"{name}-{version}.tar.gz", f"[build-system]\nrequires = {list(requires)}\nbuild-backend = 'maker'\n".encode()
    with tarfile.open(file, "w:gz") as box:
        member = tarfile.TarInfo(f"{name}-{version}/pyproject.toml"); member.size = len(text); box.addfile(member, io.BytesIO(text))
    data = files[file] = open(file, "rb").read()
    pages.setdefault(name, []).append({"filename": file, "url": f"../../f/{file}", "hashes": {"sha256": hashlib.sha256(data).hexdigest()}})
add("maker", "1.0", tag="py3-none-win_amd64"); source("maker", "1.0"); source("rusty", "1.0", "maker"); source("rusty", "0.9", "maker")
add("polars", "1.0", ["polars-runtime-32"], meta=True)
add("needy", "1.0"); add("needy", "2.0", ["odd"], meta=True); source("odd", "1.0", "absent-tool")
add("modern", "1.0"); add("modern", "2.0", ["rusty"], meta=True); add("modern", "2.1", ["rusty"], meta=True)
for version in sys.argv[2:]: add("heavy", version, ["lib<1"] if version > "1" else [], load=7 << 20)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        word = self.path.strip("/").split("/")
        if word[0] == "f": body = files.get(word[1])
        else: body = json.dumps({"meta": {"api-version": "1.1"}, "files": pages[word[1]]}).encode() if word[1] in pages else None
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(body or b""))); self.end_headers(); self.wfile.write(body or b"")
    def log_message(self, *_): print(self.path, file=sys.stderr, flush=True)
if len(sys.argv) > 1:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Handler)
    print("ready", flush=True)
    server.serve_forever()
)py";

// A script in a sandbox where the index is served; `heavy`: versions of that package that it has.
RunResult run_beside_index(const std::string& script, const std::string& heavy = "",
                           SandboxOptions options = {}) {
  options.environment = {{"PIP_INDEX_URL", "http://127.0.0.1:8080/simple"}, {"PIP_RETRIES", "0"}};
  const auto sandbox = make_sandbox(options);
  EXPECT_TRUE(sandbox->files().write("/workspace/index.py", index_program));
  return sandbox->run({.script = "mkfifo up; mkdir w; (cd w; exec python3 ../index.py serve " +
                                 heavy + ") >up 2>log & read line <up" + script + "; kill %1"});
}

TEST(PipIndex, ResolvesChecksAndKeepsWhatItFetches) {
  const RunResult result = run_beside_index(R"sh(
versions() { python3 -c 'import sys
for n in sys.argv[1:]: print(n, __import__(n).version, end=" ")
print()' "$@"; }
pip install -q app && versions app lib other speedy
pip uninstall -qy app other speedy >/dev/null; pip install -q app 'lib<2' && versions app lib
pip install -q --pre -U lib && versions lib; pip install -q lib==2.1 && versions lib
before=$(grep -c /f/ log); pip install -q --force-reinstall 'lib==1.5'; echo $(($(grep -c /f/ log) - before)) fetched
pip install -q lost && versions lost; pip install -q once && versions once
pip install many; echo $(($(grep -c /f/many log) < 30))
for what in 'lib>=9' native source bad 'lib>=2 app==1.0' away; do pip install $what; done
sum=$(sha256sum w/lib-2.0-py3-none-any.whl); echo "lib==2.0 --hash=sha256:${sum%% *}" > r.txt
pip install -q -r r.txt && versions lib
echo "lib==1.0 --hash=sha256:${sum%% *}" > r.txt; pip install -r r.txt; pip install --require-hashes -q lib
pip index versions lib; pip install --no-index speedy | cat)sh");
  EXPECT_EQ(result.stdout_data,
            "app 2.0 lib 2.0 other 1.0 speedy 0.1 \napp 1.0 lib 1.5 \nlib 3.0a1 \nlib 2.1 \n"
            "0 fetched\nlost 1.0 \nonce 1.0 \n1\n  Downloading source-1.0.tar.gz\n  Downloading "
            "bad-1.0-py3-none-any.whl\n"
            "  Downloading away-1.0-py3-none-any.whl\nlib 2.0 \n"
            "  Downloading lib-1.0-py3-none-any.whl\nCollecting lib\nlib (2.0)\n"
            "Available versions: 2.0, 1.5, 1.0\n  INSTALLED: 2.0\n")
      << result.stderr_data;
  for (const char* words :
       {"WARNING: lib 2.1 is a yanked version. Reason: it is broken",
        "satisfies the requirement lib>=9 (from versions: 1.0, 1.5, 2.0, 2.1, 3.0a1)",
        "native-1.0-cp312-cp312-manylinux_2_17_x86_64.whl is not a supported wheel",
        "No matching distribution found for absent-thing (required by many)",
        "source-1.0.tar.gz cannot be unpacked",
        "WARNING: once 2.0 has no wheel that can be used here: 1.0 is taken",
        "bad-1.0-py3-none-any.whl is damaged", "app requires lib<2", "DO NOT MATCH THE HASHES",
        "away-1.0-py3-none-any.whl answered 404",
        "have their versions pinned with ==", "\nPackage not found. Available: "}) {
    EXPECT_THAT(result.stderr_data, HasSubstr(words));
  }
}

// A source that takes what is not here to be built is not tried again, nor what would build it: older
// versions did without.
TEST(PipIndex, TakesAVersionThatDoesWithoutWhatCannotBeBuilt) {
  const RunResult result = run_beside_index(R"sh(
pip install modern 2>err | tail -1; cat err
pip install 'modern>=2' 2>&1 | tail -3; pip install rusty 2>&1 | tail -3
pip install polars 2>&1 | cut -d: -f1,2
grep -o '/f/.*gz' log | sort | uniq -c)sh");
  constexpr const char* cannot =
      "ERROR: rusty-1.0.tar.gz cannot be built: what builds it (maker) cannot be installed\n"
      "ERROR: maker-1.0-py3-none-win_amd64.whl is not a supported wheel on this platform: it has "
      "native code for py3-none-win_amd64, and only pure-Python wheels (...-none-any.whl) can be "
      "installed here.\n"
      "What has native code is for a sandbox of the linux engine, where pip install has it.\n";
  EXPECT_EQ(result.stdout_data,
            std::string("Successfully installed modern-1.0\n"
                        "WARNING: modern 1.0 is taken and not 2.1: of rusty there is nothing that "
                        "can be used here\n") +
                cannot + cannot +
                "ERROR: No matching distribution found for polars-runtime-32 (required by polars)\n"
                "polars needs native code, which this Python cannot load: use pandas here, or a "
                "sandbox of the linux engine, where pip install has it.\n"
                "      1 /f/rusty-1.0.tar.gz\n")
      << result.stderr_data;
}

// What an index that does not answer may have is not taken for missing.
TEST(PipIndex, TakesNoOlderVersionWhereAnIndexDoesNotAnswer) {
  const RunResult result = run_beside_index(R"sh(
pip install -q --extra-index-url http://127.0.0.1:9/simple needy; echo $?
pip install -q needy; echo $?; python3 -c 'import needy; print(needy.version)')sh");
  EXPECT_EQ(result.stdout_data, "1\n0\n1.0\n") << result.stderr_data;
  EXPECT_THAT(result.stderr_data, HasSubstr("odd-1.0.tar.gz cannot be built"));
}

// What is printed stands in its order where both streams are one: an error is the last.
TEST(PipIndex, SaysWhatWentWrongLast) {
  const RunResult result = run_beside_index(R"sh(
pip install bad 2>&1 | cut -c1-40)sh");
  EXPECT_EQ(result.stdout_data,
            "  Downloading bad-1.0-py3-none-any.whl\nERROR: bad-1.0-py3-none-any.whl is damag\n")
      << result.stderr_data;
}

// Files that were fetched only to see what they want take no room from what is installed.
TEST(PipIndex, GivesUpFilesOfItsCacheForRoom) {
  SandboxOptions options;
  options.file_limit_bytes = 40 << 20;
  const RunResult result = run_beside_index(R"sh(
for name in heavy lib; do pip install -q $name && python3 -c "import $name; print($name.version)"; done)sh",
                                            "1 2 3 4 5 6 7 8 9", options);
  EXPECT_EQ(result.stdout_data, "1\n2.0\n") << result.stderr_data;
}

TEST(PipIndex, IsReachedWhereThePolicyAllowsIt) {
  const auto maker = make_sandbox();
  ASSERT_TRUE(maker->files().write("/workspace/index.py", index_program));
  const std::string name = "speedy-0.1-py3-none-any.whl";
  const RunResult made =
      maker->run({.script = "python3 index.py && sha256sum " + name + " | cut -d' ' -f1"});
  ASSERT_EQ(made.exit_code, 0) << made.stderr_data;
  const auto wheel = maker->files().read("/workspace/" + name);
  ASSERT_TRUE(wheel);
  LoopbackServer server(LoopbackServer::Speaks::https);
  const std::string sum = made.stdout_data.substr(0, 64);
  server.serves("/simple/speedy/", "<a href='../../" + name + "#sha256=" + sum + "'>a file</a>");
  server.serves("/" + name, std::string(wheel->begin(), wheel->end()));
  const std::string url = "https://localhost:" + std::to_string(server.port()) + "/simple";
  SandboxOptions options{
      .environment = {{"PIP_INDEX_URL", url}},
      .packages = {"speedy", "six"},
      .network = {.allow = {server.rule()}, .trusted_certificates = server.authority()}};
  EXPECT_EQ(make_sandbox(options)
                ->run({.script = "python3 -c 'import speedy, six; print(speedy.version)'"})
                .stdout_data,
            "0.1\n");
  const int connections = server.connections();
  const RunResult refused = make_sandbox({.environment = {{"PIP_INDEX_URL", url}}})
                                ->run({.script = "pip install speedy"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.stderr_data, HasSubstr("\nPackage not found. Available: "));
  const RunResult elsewhere =
      make_sandbox({.network = {.allow = {server.rule()}}})
          ->run({.script = "pip install -i http://packages.invalid/simple speedy"});
  EXPECT_THAT(elsewhere.stderr_data,
              HasSubstr("policy of this sandbox does not allow packages.invalid:80"));
  EXPECT_EQ(server.connections(), connections);
}

// The file of the host's cache that has this SHA-256; empty: there is none.
std::filesystem::path kept_by_host(const std::string& sum) {
  for (const auto& entry :
       std::filesystem::directory_iterator(sandbox::default_cache_folder() / "wheels")) {
    if (entry.path().filename().string().starts_with(sum)) return entry.path();
  }
  return {};
}

// A server with one wheel, which is another one in each test.
class HostCache : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto maker = make_sandbox();
    ASSERT_TRUE(maker->files().write("/workspace/index.py", index_program));
    const RunResult made = maker->run(
        {.script =
             "sed -i \"s/version = /from_ = '$0'; version = /\" index.py; python3 index.py && "
             "sha256sum speedy-0.1-py3-none-any.whl | cut -d' ' -f1",
         .arguments = {std::to_string(server_.port())}});
    ASSERT_EQ(made.exit_code, 0) << made.stderr_data;
    sum_ = made.stdout_data.substr(0, 64);
    const auto wheel = maker->files().read("/workspace/speedy-0.1-py3-none-any.whl");
    ASSERT_TRUE(wheel);
    wheel_ = *wheel;
    server_.serves("/simple/speedy/", "<a href='../../" + file_ + "#sha256=" + sum_ + "'>it</a>");
    serve_file();
  }
  void serve_file() { server_.serves("/" + file_, wheel_); }
  void serve_no_file() { server_.serves("/" + file_, "no more"); }

  RunResult install(const std::string& options = {}, const std::string& rule = {}) {
    const auto sandbox =
        make_sandbox({.environment = {{"PIP_INDEX_URL", url_}, {"PIP_RETRIES", "0"}},
                      .network = {.allow = {rule.empty() ? server_.rule() : rule},
                                  .trusted_certificates = server_.authority()}});
    return sandbox->run({.script = "pip install " + options +
                                   " speedy && python3 -c 'import speedy; print(speedy.version)'"});
  }

  LoopbackServer server_{LoopbackServer::Speaks::https};
  const std::string file_ = "speedy-0.1-py3-none-any.whl";
  const std::string url_ = "https://localhost:" + std::to_string(server_.port()) + "/simple";
  std::string sum_;
  std::string wheel_;
};

TEST_F(HostCache, GivesASandboxWhatAnotherOneHasFetched) {
  EXPECT_THAT(install().stdout_data, AllOf(HasSubstr("Downloading"), EndsWith("\n0.1\n")));
  serve_no_file();
  const RunResult second = install();
  EXPECT_THAT(second.stdout_data, AllOf(HasSubstr("Using cached"), EndsWith("\n0.1\n")))
      << second.stderr_data;
  EXPECT_THAT(install("--no-cache-dir").stderr_data, HasSubstr("damaged or has been changed"));
  EXPECT_EQ(install("-q", "localhost:1").exit_code, 1);
}

TEST_F(HostCache, FetchesAnewWhatCameToHarm) {
  EXPECT_EQ(install().exit_code, 0);
  const std::filesystem::path kept = kept_by_host(sum_);
  ASSERT_FALSE(kept.empty());
  std::ofstream(kept) << "harm";
  EXPECT_THAT(install().stdout_data, AllOf(HasSubstr("Downloading"), EndsWith("\n0.1\n")));
  serve_no_file();
  EXPECT_THAT(install().stdout_data, AllOf(HasSubstr("Using cached"), EndsWith("\n0.1\n")));
}

TEST_F(HostCache, KeepsNothingThatIsNotWhatTheIndexNamed) {
  serve_no_file();
  EXPECT_NE(install().exit_code, 0);
  EXPECT_TRUE(kept_by_host(sum_).empty());
  serve_file();
  EXPECT_THAT(install().stdout_data, AllOf(HasSubstr("Downloading"), EndsWith("\n0.1\n")));
}

// What a guest may try by hand: another descriptor than a connection of the network's, a connection
// within the sandbox, and bytes that are not those of the hash.
TEST_F(HostCache, AsksForAConnectionThatThePolicyAllowed) {
  EXPECT_EQ(install().exit_code, 0);
  const std::string code =
      "sum, port = bytes.fromhex('" + sum_ + "'), " + std::to_string(server_.port()) +
      "\nurl = 'https://localhost:" + std::to_string(server_.port()) + "/" + file_ + R"py('
import _host, os, socket, ssl, struct
def ask(fd, address=url, size=0, digest=sum):
    frame = bytearray(struct.pack("<4siQ32s", b"whl0", fd, size, digest) + address.encode())
    _host.call(frame)
    return struct.unpack_from("<q", frame)[0]
server = socket.create_server(("127.0.0.1", 0))
inside = socket.create_connection(server.getsockname())
plain = socket.create_connection(("localhost", port))
print(ask(1), ask(99), ask(inside.fileno()), ask(plain.fileno()), ask(server.fileno()))
tls = ssl.create_default_context().wrap_socket(socket.create_connection(("localhost", port)), server_hostname="localhost")
print(ask(tls.fileno(), url + "x"), ask(tls.fileno(), digest=bytes(32)), os.read(ask(tls.fileno()), 2))
poison = ask(tls.fileno(), url + "y", 6)
try: print(os.write(poison, b"poison"))
except OSError as error: print(error.errno)
print(ask(tls.fileno(), url + "y"), ask(tls.fileno(), url, 1 << 60))
)py";
  const auto sandbox = make_sandbox(
      {.network = {.allow = {server_.rule()}, .trusted_certificates = server_.authority()}});
  const RunResult result = sandbox->run({.argv = {"python3", "-c", code}});
  EXPECT_EQ(result.stdout_data, "-88 -9 -2 -2 -2\n-2 -2 b'PK'\n5\n-2 -2\n") << result.stderr_data;
}

}  // namespace
}  // namespace cloche::testing
