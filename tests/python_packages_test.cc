// SPDX-License-Identifier: Apache-2.0
// Packages are there once they are installed, by create or by pip, and gone when they
// are uninstalled; wheels come from files.
#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

RunResult run(Sandbox& sandbox, const std::string& script) {
  return sandbox.run({.script = script});
}

TEST(Pip, InstallsWithDependenciesAndUninstalls) {
  const auto sandbox = make_sandbox();
  const auto before = sandbox->usage().file_bytes;
  const RunResult installed = run(*sandbox, "pip install python-dateutil");
  EXPECT_EQ(installed.exit_code, 0) << installed.stderr_data;
  EXPECT_THAT(installed.stdout_data, HasSubstr("Successfully installed six-"));
  // Files are shared, so they cost no quota; the links to them are some bytes.
  EXPECT_LT(sandbox->usage().file_bytes, before + 512);
  EXPECT_EQ(run(*sandbox, "python3 -c 'import dateutil, six; print(six.__name__)'").stdout_data,
            "six\n");
  EXPECT_THAT(
      run(*sandbox, "pip install python_dateutil; python3 -m pip install -q six").stdout_data,
      StartsWith("Requirement already satisfied"));
  EXPECT_THAT(run(*sandbox, "pip freeze").stdout_data, HasSubstr("python-dateutil=="));
  EXPECT_THAT(run(*sandbox, "pip uninstall -y six && pip check").stdout_data,
              HasSubstr("requires six, which is not installed"));
  const RunResult gone = run(*sandbox, "python3 -c 'import six'");
  EXPECT_THAT(gone.stderr_data, HasSubstr("ModuleNotFoundError: No module named 'six'"));
  EXPECT_THAT(gone.stderr_data, HasSubstr("pip install six"));
  EXPECT_THAT(gone.stderr_data, Not(HasSubstr("_cloche")));
}

TEST(Pip, SaysWhatThereIs) {
  const auto sandbox = make_sandbox({.packages = {"six"}});
  const RunResult unknown = run(*sandbox, "pip install nonesuch");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.stderr_data, HasSubstr("\nPackage not found. Available: "));
  EXPECT_THAT(unknown.stderr_data, HasSubstr(", altair, "));
  const RunResult native = run(*sandbox, "pip install six polars; python3 -c 'import cv2'");
  EXPECT_THAT(native.stderr_data,
              HasSubstr("\npolars needs native code, which this Python cannot load: use pandas "
                        "here, or a sandbox of the linux engine, where pip install has it.\n"));
  EXPECT_THAT(
      native.stderr_data,
      EndsWith("No module named 'cv2' (it needs native code, which this Python cannot load: "
               "use pillow or scipy.ndimage here, or a sandbox of the linux engine, where "
               "pip install has it)\n"));
  const std::string list = run(*sandbox, "pip list").stdout_data;
  EXPECT_THAT(list, StartsWith("Package Version\n"));
  EXPECT_THAT(list, HasSubstr("\nsix     1."));
  EXPECT_THAT(list, HasSubstr("Available (pip install NAME):"));
  EXPECT_THAT(run(*sandbox, "pip list --format json").stdout_data,
              StartsWith(R"([{"name": "six", )"));
  EXPECT_THAT(run(*sandbox, "pip show SIX").stdout_data, StartsWith("Name: six\nVersion: 1."));
  EXPECT_THAT(run(*sandbox, "pip --version").stdout_data, HasSubstr("(python 3.15)"));
  EXPECT_EQ(run(*sandbox, "pip check").stdout_data, "No broken requirements found.\n");
  const RunResult download = run(*sandbox, "pip download six");
  EXPECT_EQ(download.exit_code, 1);
  EXPECT_THAT(download.stderr_data, HasSubstr("not supported here"));
  EXPECT_THAT(run(*sandbox, "pip install -U pip").stdout_data, HasSubstr("already satisfied: pip"));
}

TEST(Pip, UnderstandsVersionsExtrasNamesAndFiles) {
  const auto sandbox = make_sandbox();
  const RunResult version = run(*sandbox, "pip install 'six==0.1'");
  EXPECT_EQ(version.exit_code, 1);
  EXPECT_THAT(version.stderr_data, HasSubstr("No matching distribution found for six==0.1"));
  const RunResult file = run(*sandbox,
                             "printf 'six>=1.10,<2  # comment\\nPyYAML; python_version > \"3\"\\n"
                             "nope; sys_platform == \"win32\"\\n' > r.txt && pip install -r r.txt");
  EXPECT_EQ(file.exit_code, 0) << file.stderr_data;
  EXPECT_THAT(file.stdout_data, HasSubstr("pyyaml-"));
  const RunResult extra = run(*sandbox, "pip install 'requests[socks]'");
  EXPECT_EQ(extra.exit_code, 0);
  EXPECT_EQ(extra.stderr_data,
            "WARNING: requests[socks] wants PySocks too, which nobody has here: left out\n");
  EXPECT_EQ(run(*sandbox, "pip install bs4 requests sqlite3").exit_code, 0);
  EXPECT_EQ(
      run(*sandbox, "python3 -c 'import bs4, requests, sqlite3, yaml; print(requests.__name__)'")
          .stdout_data,
      "requests\n");
}

// A wheel, and wheels that must be refused.
constexpr const char* make_wheels = R"(
python3 - <<'END'
import base64, hashlib, os, zipfile
def wheel(name, files):
    info = "tiny_pack-1.2.dist-info"
    files = {**files, f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-pack\nVersion: 1.2\nRequires-Dist: six\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\n", f"{info}/entry_points.txt": "[console_scripts]\ntiny = tiny_pack:main\n"}
    digest = lambda t: base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).rstrip(b"=").decode()
    record = "".join(f"{n},sha256={digest(t)},{len(t)}\n" for n, t in files.items()) + f"{info}/RECORD,,\n"
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with zipfile.ZipFile(name, "w") as box:
        for n, t in files.items():
            box.writestr(n, t if "damaged" not in name else t + " ")
        box.writestr(f"{info}/RECORD", record)
body = {"tiny_pack/__init__.py": "def main(): print('tiny runs')\n"}
wheel("wheels/tiny_pack-1.2-py3-none-any.whl", body)
wheel("tiny_pack-1.2-cp312-cp312-manylinux_2_17_x86_64.whl", body)
wheel("damaged/tiny_pack-1.2-py3-none-any.whl", body)
wheel("evil/tiny_pack-1.2-py3-none-any.whl", {"../../../../../escaped.py": "x = 1\n"})
END
)";

// One that brings a record of another distribution.
TEST(Pip, RemovesNothingThatAWheelHasOnlyNamed) {
  const auto sandbox = make_sandbox();
  const RunResult done = run(*sandbox, R"(
python3 - <<'END'
import zipfile
def wheel(name, version, files):
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(f"{name}-{version}-py3-none-any.whl", "w") as box:
        for path, text in {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
                           f"{info}/RECORD": "", f"{name}.py": "", **files}.items():
            box.writestr(path, text)
other = "evil-1.0.data/purelib/other-1.0.dist-info/"
wheel("evil", "1.0", {other + "METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
                      other + "RECORD": "../../../../kept,,\n/tmp/kept,,\nother_1.py,,\n",
                      "evil-1.0.data/purelib/other_1.py": ""})
wheel("other", "2.0", {})
END
touch kept /tmp/kept
pip install -q ./evil-1.0-py3-none-any.whl && pip install -q ./other-2.0-py3-none-any.whl && pip list --format freeze | grep other
ls kept /tmp/kept
find .local -name 'other*.py'
)");
  EXPECT_EQ(done.stdout_data,
            "other==2.0\n/tmp/kept\nkept\n.local/lib/python3.15/site-packages/other.py\n")
      << done.stderr_data;
}

// Made as if by hand: each is wrong in its own way.
constexpr const char* make_bad_wheels = R"(
python3 - <<'END'
import base64, hashlib, zipfile
def wheel(name, version, files, info=None, said=None, lies=()):
    info = info or f"{name}-{version}.dist-info"
    said = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" if said is None else said
    rows = ""
    with zipfile.ZipFile(f"{name}-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as box:
        for path, text in {f"{info}/METADATA": said, **files}.items():
            box.writestr(path, text)
            digest = hashlib.sha256(text.encode() + (b"x" if path in lies else b"")).digest()
            rows += f"{path},sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},\n"
        box.writestr(f"{info}/RECORD", rows)
good = {"good/__init__.py": "version = 1\n", "good/part.py": "", "good-1.0.dist-info/entry_points.txt": "[console_scripts]\ngood = good:x\n"}
wheel("good", "1.0", good)
wheel("good", "2.0", {"good/__init__.py": "version = 2\n", "good/part.py": "broken"}, lies=("good/part.py",))
wheel("good", "3.0", {"good/__init__.py": "version = 3\n", "good/part.py/in_a_file.py": "", "good/part.py": ""})
wheel("good", "4.0", {"good/__init__.py": "version = 4\n", "large.py": "\0" * (96 << 20)})
wheel("over", "1.0", {"good/__init__.py": "version = 'over'\n", "zz.py": ""}, lies=("zz.py",))
wheel("thief", "1.0", {"thief.py": ""}, info="good-1.0.dist-info")
wheel("other", "1.0", {}, said="Metadata-Version: 2.1\nName: good\nVersion: 1.0\n")
wheel("guest", "1.0", {"guest-1.0.data/purelib/good-1.0.dist-info/RECORD": "good/__init__.py,,\n"})
wheel("nameless", "1.0", {}, said="Metadata-Version: 2.1\nVersion: 1.0\n")
wheel("scripts", "1.0", {"scripts-1.0.dist-info/entry_points.txt": "[console_scripts]\nx = os:getcwd; import this\n"})
with zipfile.ZipFile("wide-1.0-py3-none-any.whl", "w") as box:
    box.writestr("wide-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: wide\nVersion: 1.0\n")
    box.writestr("wide-1.0.dist-info/RECORD", "x" * 200000 + ",,\n")
END
)";

TEST(Pip, AWheelThatCannotBeInstalledChangesNothing) {
  const auto sandbox = make_sandbox({.file_limit_bytes = 64 << 20});
  ASSERT_EQ(run(*sandbox, make_bad_wheels).exit_code, 0);
  ASSERT_EQ(run(*sandbox, "pip install -q ./good-1.0*.whl").exit_code, 0);
  const char* const state = "cd .local && find . -type f ! -name '*.pyc' | sort | xargs sha256sum";
  const std::string before = run(*sandbox, state).stdout_data;
  EXPECT_THAT(before, HasSubstr("bin/good"));
  for (const char* wheel : {"good-2.0", "good-3.0", "good-4.0", "over", "thief", "other", "guest",
                            "nameless", "scripts", "wide"}) {
    const RunResult refused =
        run(*sandbox, std::string("pip install --no-deps ./") + wheel + "*.whl");
    EXPECT_EQ(refused.exit_code, 1) << wheel;
    EXPECT_THAT(refused.stderr_data, StartsWith("ERROR: ")) << wheel;
    EXPECT_EQ(run(*sandbox, state).stdout_data, before) << wheel << refused.stderr_data;
    EXPECT_EQ(run(*sandbox, "find .local -name '.pip-*'").stdout_data, "") << wheel;
  }
  EXPECT_EQ(run(*sandbox,
                "pip list --format freeze; python3 -c 'import good.part; "
                "print(good.version)'")
                .stdout_data,
            "good==1.0\n1\n");
  EXPECT_EQ(run(*sandbox, "pip uninstall -y good >/dev/null; find .local -type f").stdout_data, "");
}

// A few KiB may be a GiB there.
TEST(Pip, AWheelThatIsLargeInMemoryIsRefused) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(run(*sandbox, R"(
python3 - <<'END'
import struct, zipfile
def wheel(name, said="", packing=zipfile.ZIP_DEFLATED):
    path, info = f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as box:
        box.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{said}")
        box.writestr(f"{info}/RECORD", "")
        box.writestr(f"{name}.py", "\0" * (1 << 20), packing)
    return path
wheel("wordy", "Summary: " + "x" * (17 << 20))
wheel("packed", packing=zipfile.ZIP_BZIP2)
with open(wheel("many"), "r+b") as file:
    content = file.read()
    file.seek(content.rindex(b"PK\5\6") + 12)
    file.write(struct.pack("<I", 1 << 30))
with zipfile.ZipFile(wheel("again"), "a") as box:
    box.filelist.append(box.filelist[-1])
    box._didModify = True
END
)")
                .exit_code,
            0);
  const std::map<std::string, std::string> wheels{
      {"wordy", "its METADATA has more than 16 MiB"},
      {"packed", "a file in it is packed by other means than deflate"},
      {"many", "it has too many files"},
      {"again", "some of its files are one"}};
  for (const auto& [name, why] : wheels) {
    const RunResult refused = run(*sandbox, "pip install ./" + name + "*.whl");
    EXPECT_EQ(refused.exit_code, 1) << name;
    EXPECT_THAT(refused.stderr_data, HasSubstr(why)) << name;
  }
}

TEST(Pip, AProjectsNameIsNoPath) {
  const auto sandbox = make_sandbox();
  const RunResult refused = run(*sandbox, R"(
mkdir p; printf '[project]\nname = "../../../../../../workspace/out"\nversion = "1"\n' >p/pyproject.toml
pip install ./p; ls)");
  EXPECT_EQ(refused.stdout_data, "p\n");
  EXPECT_THAT(refused.stderr_data, HasSubstr("is invalid"));
}

TEST(Pip, InstallsWheelsFromFiles) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(run(*sandbox, make_wheels).exit_code, 0);
  const RunResult foreign =
      run(*sandbox, "pip install ./tiny_pack-1.2-cp312-cp312-manylinux_2_17_x86_64.whl");
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.stderr_data, HasSubstr("native code for cp312-cp312-manylinux_2_17_x86_64"));
  for (const std::string folder : {"damaged", "evil"}) {
    const RunResult refused = run(*sandbox, "pip install --no-deps " + folder + "/*.whl");
    EXPECT_EQ(refused.exit_code, 1) << folder;
    EXPECT_EQ(
        run(*sandbox, "find /workspace /tmp -name 'escaped.py' -o -path '*site-packages/tiny*'")
            .stdout_data,
        "");
  }
  const RunResult installed =
      run(*sandbox, "pip install --find-links wheels tiny-pack && tiny && pip freeze");
  EXPECT_EQ(installed.exit_code, 0) << installed.stderr_data;
  EXPECT_THAT(installed.stdout_data, HasSubstr("tiny runs\nsix==1."));
  EXPECT_THAT(installed.stdout_data, HasSubstr("tiny-pack==1.2\n"));
  EXPECT_THAT(run(*sandbox, "pip install wheels/*.whl").stdout_data,
              HasSubstr("Requirement already satisfied: tiny-pack"));
  EXPECT_EQ(run(*sandbox, "pip uninstall -y tiny-pack >/dev/null; find .local -type f").stdout_data,
            "");
}

TEST(Pip, InstallsProjectsAlsoInVirtualEnvironments) {
  const auto sandbox = make_sandbox();
  const RunResult result = run(*sandbox, R"(
mkdir -p proj/src/mine && echo 'def main(): print("one")' > proj/src/mine/__init__.py
printf '[project]\nname = "my-proj"\nversion = "0.3"\ndependencies = ["six"]\n[project.scripts]\nmine = "mine:main"\n' > proj/pyproject.toml
pip install -q -e proj && mine && sed -i s/one/two/ proj/src/mine/__init__.py && mine && pip uninstall -y my-proj >/dev/null
python3 -m venv env && . env/bin/activate && pip install -q ./proj && mine && python -c 'import sys, six; print(sys.prefix)'
deactivate; python3 -c 'import mine')");
  EXPECT_EQ(result.stdout_data, "one\ntwo\ntwo\n/workspace/env\n") << result.stderr_data;
  EXPECT_THAT(result.stderr_data, HasSubstr("No module named 'mine'"));
}

TEST(Pictures, ACodecThatEndsIsAnErrorOfItsPicture) {
  const auto sandbox = make_sandbox({.packages = {"pillow"}});
  const RunResult result = run(*sandbox, R"(
cat > p.py <<'END'
import io, os
from PIL import Image

class Killing(io.BytesIO):
    def read(self, size=-1):
        if self.tell() > 100000:
            print("killed" if os.system("pkill -9 -x pictures") == 0 else "there is none")
        return super().read(size)

file = io.BytesIO()
Image.effect_noise((512, 512), 90).save(file, "JPEG")
data = file.getvalue()
try:
    Image.open(Killing(data)).load()
except OSError as error:
    print(error)
print(Image.open(io.BytesIO(data)).convert("RGB").size)
END
python3 p.py; pgrep -x pictures; echo $?; PATH=/none /usr/lib/cloche/pictures x; echo $?)");
  EXPECT_EQ(result.stdout_data,
            "killed\nbroken data stream when reading image file\n(512, 512)\n1\n2\n");
  EXPECT_EQ(result.stderr_data, "pictures: Pillow's codecs; python3 starts it\n");
}

TEST(Pictures, OneThatIsInterruptedLeavesNoCodecBehind) {
  const auto sandbox = make_sandbox({.packages = {"pillow"}});
  const RunResult result = run(*sandbox, R"(
cat > p.py <<'END'
import io, os, signal
from PIL import Image
picture = Image.effect_noise((3000, 3000), 90)
Image.effect_noise((99, 99), 90).convert("RGB").save(io.BytesIO(), "JPEG2000")  # all is imported
def give_up(*_):
    raise TimeoutError("too long")
signal.signal(signal.SIGALRM, give_up)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    picture.convert("RGB").save(io.BytesIO(), "JPEG2000")
except TimeoutError as error:
    print(error, os.system("pgrep -x pictures"))
END
python3 p.py)");
  EXPECT_EQ(result.stdout_data, "too long 256\n") << result.stderr_data;
}

TEST(Packages, AreGivenAtCreation) {
  const auto sandbox = make_sandbox({.packages = {"PyYAML>=5", "six"}});
  EXPECT_EQ(
      run(*sandbox, "python3 -c 'import yaml, six; print(yaml.safe_load(\"a: 1\"))'").stdout_data,
      "{'a': 1}\n");
  const auto fork = sandbox->fork();
  EXPECT_EQ(
      run(*fork, "pip uninstall -y six >/dev/null; pip list --format freeze | wc -l").stdout_data,
      "1\n");
  EXPECT_EQ(run(*sandbox, "pip list --format freeze | wc -l").stdout_data, "2\n");
  try {
    (void)make_sandbox({.packages = {"nonesuch"}});
    FAIL() << "an unknown package was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), StartsWith("Package not found. Available: "));
    EXPECT_THAT(error.what(), HasSubstr(", altair, "));
  }
}

TEST(Packages, ComeFromTheOperatorsWheels) {
  const auto maker = make_sandbox();
  ASSERT_EQ(run(*maker, make_wheels).exit_code, 0);
  const std::string name = "tiny_pack-1.2-py3-none-any.whl";
  const auto wheel = maker->files().read("/workspace/wheels/" + name);
  ASSERT_TRUE(wheel);
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("wheels-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << *wheel;
  SandboxOptions options{.packages = {"tiny-pack", "pyyaml"}};
  options.mounts.push_back({folder, "/usr/share/wheels", Mount::Access::read_only});
  EXPECT_EQ(run(*make_sandbox(options), "tiny; python3 -c 'import six, yaml'").stdout_data,
            "tiny runs\n");
  // Those that came to harm keep no other from being installed.
  std::ofstream(folder / "broken_one-1.0-py3-none-any.whl") << "no archive";
  std::ofstream(folder / "broken_two-1.0-py3-none-any.whl", std::ios::binary)
      << wheel->substr(0, wheel->size() / 2);
  std::string torn = *wheel;
  torn.replace(torn.find("Metadata-Version"), 8, "damaged!");
  std::ofstream(folder / "broken_three-1.0-py3-none-any.whl", std::ios::binary) << torn;
  std::filesystem::create_directory(folder / "broken_four-1.0-py3-none-any.whl");
  EXPECT_EQ(run(*make_sandbox(options), "tiny").stdout_data, "tiny runs\n");
  for (const char* refused : {"nonesuch", "broken-one", "broken-three", "broken-four"}) {
    options.packages = {refused};
    EXPECT_THROW((void)make_sandbox(options), std::runtime_error) << refused;
  }
  std::filesystem::remove_all(folder);
}

TEST(Packages, ForksAndSandboxesNeverDrawTheSameNumbers) {
  const std::string draw =
      "import os, random, secrets, tempfile, uuid, numpy as np; print(random.random(), "
      "uuid.uuid4(), "
      "np.random.rand(), np.random.default_rng().random(), secrets.token_hex(8), "
      "os.urandom(8).hex(), "
      "os.path.basename(tempfile.mktemp()))";
  const auto sandbox = make_sandbox({.packages = {"numpy"}});
  const auto other = make_sandbox({.packages = {"numpy"}});
  ASSERT_EQ(sandbox->run_python(draw).exit_code, 0);
  const auto fork = sandbox->fork();
  std::set<std::string> seen;
  std::size_t numbers = 0;
  const auto note = [&](const RunResult& result) {
    std::istringstream words(result.stdout_data);
    for (std::string word; words >> word; ++numbers) seen.insert(word);
  };
  for (Sandbox* one : {sandbox.get(), other.get(), fork.get()}) {
    note(one->run_python(draw));
    note(one->run({.argv = {"python3", "-c", draw}}));
  }
  EXPECT_EQ(numbers, 42U);
  EXPECT_EQ(seen.size(), numbers);
}

TEST(Packages, ADatabaseIsSharedWithTheSqliteCommand) {
  EXPECT_EQ(output_of(R"sh(
python3 -c 'import sqlite3 as s; d = s.connect("s.db"); d.execute("create table t(a)"); d.execute("insert into t values(7)"); d.commit()'
sqlite3 s.db 'select a + 1 from t; insert into t values(9)'
python3 -c 'import sqlite3 as s; print(s.connect("s.db").execute("select sum(a) from t").fetchone())')sh"),
            "8\n(16,)\n");
}

TEST(Figures, AreFilesForTheHost) {
  const auto sandbox =
      make_sandbox({.timeout = std::chrono::minutes(4), .packages = {"matplotlib"}});
  const RunResult result = run(*sandbox,
                               "python3 -c 'import matplotlib.pyplot as p; p.plot([1, 2]); "
                               "p.show(); p.show(); p.figure(); p.show()'");
  EXPECT_EQ(result.exit_code, 0) << result.stderr_data;
  const std::string folder = "/workspace/.cloche/figures/";
  EXPECT_THAT(result.figures, ElementsAre(folder + "figure-1.png", folder + "figure-2.png"));
  EXPECT_THAT(run(*sandbox, "echo").figures, IsEmpty());
  // In the kept shell too; what is no file of a figure is not listed, however a guest calls it.
  const char* script =
      "python3 -c 'import _host, sys; _host.call(bytearray(sys.argv[1].encode()))' "
      "fig0/etc/passwd; python3 -c 'import matplotlib.pyplot as p; p.plot([3]); p.show()' &\nwait";
  EXPECT_THAT(sandbox->run({.script = script, .shell = ShellState::kept}).figures,
              ElementsAre(folder + "figure-3.png"));
  EXPECT_EQ(run(*sandbox,
                "rm .cloche/figures/figure-3.png; cd .cloche/figures && ls && head -c 4 "
                "figure-1.png | tail -c 3")
                .stdout_data,
            "figure-1.png\nfigure-2.png\nPNG");
}

// What a package has imported of the library is as fresh in the packages' image as anywhere.
TEST(Packages, OfAnImageHaveNotEndedWithIt) {
  Engine engine({.system_folder = CLOCHE_ROOTFS_DIR, .package_images = PackageImages::first});
  const auto sandbox = engine.create({.packages = {"scikit-learn"}});
  const RunResult result = run(
      *sandbox,
      "python3 -c 'import asyncio, sys; loaded = \"concurrent.futures.thread\" in sys.modules; "
      "from concurrent.futures import ThreadPoolExecutor as Pool; "
      "print(loaded, Pool(1).submit(abs, -1).result(), asyncio.run(asyncio.to_thread(abs, -2)))'");
  EXPECT_EQ(result.stdout_data, "True 1 2\n") << result.stderr_data;
}

}  // namespace
}  // namespace cloche::testing
