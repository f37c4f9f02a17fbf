// SPDX-License-Identifier: Apache-2.0
// pip and sources: what it builds by a project's own backend, and what it says where that fails.
#include <gmock/gmock.h>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;

// project.py NAME VERSION REQUIRES [LINE]: a project whose backend lies in it, and makes a wheel of
// one module. LINE stands in the backend's hook. `serve` serves what lies in simple/.
constexpr const char* project_program = R"py(
import json, os, sys
name, version, requires, *line = sys.argv[1:]
os.makedirs(name)
with open(f"{name}/pyproject.toml", "w") as file:
    file.write(f'[build-system]\nrequires = {json.dumps(requires.split())}\nbuild-backend = "backend:hooks.own"\nbackend-path = ["in"]\n')
os.makedirs(f"{name}/in")
with open(f"{name}/in/backend.py", "w") as file:
    file.write(f"""
import sys, types, zipfile
def build_wheel(out, config_settings=None, metadata_directory=None):
    name, version, tag = {name!r}, {version!r}, "py3-none-any"
    {line[0] if line else "pass"}
    info, made = f"{{name}}-{{version}}.dist-info", f"{{name}}-{{version}}-{{tag}}.whl"
    with zipfile.ZipFile(f"{{out}}/{{made}}", "w") as box:
        box.writestr(f"{{name}}.py", f"version = {{version!r}}")
        box.writestr(f"{{info}}/METADATA", f"Metadata-Version: 2.1\\nName: {{name}}\\nVersion: {{version}}\\nRequires-Dist: six\\n")
        box.writestr(f"{{info}}/WHEEL", f"Wheel-Version: 1.0\\nTag: {{tag}}\\n")
        box.writestr(f"{{info}}/RECORD", "")
        if "native" in name:
            box.writestr("fast.so", "")
    print("built", file=sys.stderr)
    return made
def build_editable(out, config_settings=None, metadata_directory=None):
    made = build_wheel(out)
    with zipfile.ZipFile(f"{{out}}/{{made}}", "a") as box:
        box.writestr("to_the_folder.pth", sys.path[0].removesuffix("/in"))
    return made
hooks = types.SimpleNamespace(own=types.SimpleNamespace(build_wheel=build_wheel, build_editable=build_editable))
""")
)py";

class PipSources : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(sandbox_->files().write("/workspace/project.py", project_program));
  }
  // With what shell programs share: `project`, and `index NAME VERSION` puts its archive there.
  RunResult run(const std::string& script) {
    return sandbox_->run(
        {.script = R"sh(
project() { python3 project.py "$@"; }
index() { mkdir -p simple/$1 && mv $1 $1-$2 && tar czf simple/$1/$1-$2.tar.gz $1-$2 && mv $1-$2 $1 && (cd simple/$1 && for file in *; do echo "<a href='$file'>x</a>"; done >index.html); }
serve() { (cd simple && exec python3 -u -m http.server -b 127.0.0.1 8080) >up 2>log & until grep -q Serving up; do sleep 0.02; done; }
)sh" + script,
         .environment = {{"PIP_INDEX_URL", "http://127.0.0.1:8080"}, {"PIP_RETRIES", "0"}}});
  }
  const std::unique_ptr<Sandbox> sandbox_ = make_sandbox();
};

TEST_F(PipSources, ArchivesAndFoldersAreBuiltByTheirBackend) {
  const RunResult result = run(R"sh(
project made 1.0 "" && tar czf made-1.0.tar.gz made && python3 -m zipfile -c main.zip made
for what in ./made-1.0.tar.gz ./main.zip ./made "made @ file://$PWD/main.zip"; do
  pip install -q "$what" && (cd / && python3 -c 'import made, six; print(made.version)'); pip freeze; pip uninstall -qy made >/dev/null
done
pip install ./made | grep -v six && pip install --dry-run --force-reinstall ./made-1.0.tar.gz | tail -1; pip uninstall -qy made >/dev/null
echo 'x = "edited"' >made/beside.py; pip install -q -e ./made && python3 -c 'import beside; print(beside.x)'; pip freeze
ls -d /tmp/pip-* 2>/dev/null)sh");
  std::string each;
  for (int i = 0; i < 4; ++i) each += "1.0\nmade==1.0\nsix==1.17.0\n";
  EXPECT_EQ(result.stdout_data, each +
                                    "  Building a wheel of made\nCollecting made\n"
                                    "Installing collected packages: made\n"
                                    "Successfully installed made-1.0\nWould install "
                                    "made-1.0\nedited\n-e /workspace/made\nsix==1.17.0\n")
      << result.stderr_data;
}

TEST_F(PipSources, OfAnIndexAreTakenWhereThereIsNoWheel) {
  const RunResult result = run(R"sh(
project made 1.0 "" && index made 1.0; rm -r made; project made 2.0 "tool" && index made 2.0
project tool 1.0 "" && index tool 1.0
cat > wheel.py <<'END'
import sys; sys.path.insert(0, "tool/in"); import backend; backend.build_wheel(".")
END
serve
pip install -q made && python3 -c 'import made; print(made.version)' && pip freeze
pip install -q made==1.0 && python3 -c 'import made; print(made.version)'
sum=$(sha256sum simple/made/made-2.0.tar.gz); echo "made==2.0 --hash=sha256:${sum%% *}" >r.txt
PIP_REQUIRE_HASHES=1 pip install -q -r r.txt --no-deps && python3 -c 'import made; print(made.version)'
echo "made==1.0 --hash=sha256:${sum%% *}" >r.txt; pip install -q --force-reinstall -r r.txt 2>&1 | cut -c1-70
pip index versions made | head -1
# A wheel is taken before what has to be built, also an older one.
python3 wheel.py; cp tool-1.0-py3-none-any.whl simple/tool/; (cd tool; sed -i 's/"1.0"/"1.5"/' in/backend.py pyproject.toml); index tool 1.5
pip install --no-cache-dir tool 2>&1 | grep -vE 'Collecting|six'; kill %1)sh");
  EXPECT_EQ(result.stdout_data,
            "2.0\nmade==2.0\nsix==1.17.0\n1.0\n2.0\n"
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FI\nmade (2.0)\n"
            "  Downloading tool-1.0-py3-none-any.whl\n"
            "WARNING: tool 1.5 has no wheel that can be used here: 1.0 is taken\n"
            "Installing collected packages: tool\n"
            "Successfully installed tool-1.0\n")
      << result.stderr_data;
}

TEST_F(PipSources, SaysWhyTheyCannotBeBuilt) {
  const RunResult result = run(R"sh(
project fails 1 "" 'print("some", "words"); raise ValueError("on purpose")'
project native 1 "" 'tag = "cp315-cp315-linux_x86_64"'
project compiles 1 "" 'raise SystemExit("error: command gcc failed")'
project faster 1 "" 'tag = "cp315-cp315-linux_x86_64"'
project nothing 1 "" 'return "other.whl"'
project wants 1 "absent-tool"
project around 1 "around" && index around 1
project other 1 "" 'name = "else"' && index other 1
mkdir -p out empty; cp -r fails out/in; printf '[build-system]\nrequires = []\nbuild-backend = "x"\nbackend-path = [".."]\n' >out/pyproject.toml
mkdir table; printf '[build-system]\nrequires = [3]\n' >table/pyproject.toml
project missing 1 "" && rm missing/in/backend.py
echo text >broken-1.0.tar.gz; python3 - <<'END'
import io, tarfile
with tarfile.open("leads-1.0.tar.gz", "w:gz") as box:
    box.addfile(tarfile.TarInfo("../leads"), io.BytesIO())
END
serve
for what in ./faster ./fails ./native ./compiles ./nothing ./wants around other ./out ./table ./missing ./empty ./broken-1.0.tar.gz ./leads-1.0.tar.gz; do
  pip install -q $what 2>&1 | grep -E '^ERROR|linux engine|ValueError' | sort -r | head -2; done
pip install -q -e git+https://localhost/x; pip freeze; kill %1)sh");
  EXPECT_THAT(result.stdout_data, HasSubstr("\nfaster==1\nsix=="));
  for (const char* words :
       {"ERROR: fails cannot be built: backend:hooks.own failed, and its last lines were",
        "    ValueError: on purpose",
        "native-1-cp315-cp315-linux_x86_64.whl is not a supported wheel",
        "What has native code is for a sandbox of the linux engine",
        "ERROR: nothing cannot be built: its backend backend:hooks.own has made no wheel",
        "ERROR: wants cannot be built: what builds it (absent-tool) cannot be installed",
        "what builds it has to be built itself, 4 times over",
        "ERROR: other-1.tar.gz is of else 1, not of other 1",
        "backend-path leads out of the project", "[build-system] is not as PEP 517 has it",
        "ERROR: missing cannot be built", "'/workspace/empty' is not installable",
        "ERROR: broken-1.0.tar.gz cannot be unpacked",
        "ERROR: leads-1.0.tar.gz cannot be unpacked"}) {
    EXPECT_THAT(result.stdout_data, HasSubstr(words)) << result.stderr_data;
  }
  EXPECT_THAT(result.stderr_data, HasSubstr("cannot be edited: clone it"));
}

}  // namespace
}  // namespace cloche::testing
