#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of this source tree, each with a check.

    scripts/tidy.py [--fix] [--jobs N] [--build FOLDER] [RULE...]

Without RULE all of them run. Each prints FILE:LINE: what is wrong; the exit status is 1 when any did.
--fix lets the rules `format` and `columns` rewrite files. The rules `locks` and `clang-tidy` want a configured
build FOLDER (build) and remember there which files were found clean.
"""
import argparse
import ast
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CXX = (".cc", ".h", ".hh")
LLVM = "22"
USUAL_LINES = 400  # a file may be longer where that reads better, but few are, and none by much
MOST_LINES = 700
SHARE_OVER_USUAL = 0.1
MOST_BYTES = 300_000


def tracked() -> list[str]:
    """Files and links of the tree, committed or about to be; in an unpacked archive, all but build/."""
    git = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co",
                          "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True,
                         check=False)
    if git.returncode == 0:
        names = git.stdout.split("\0")
    else:
        names = [str(p.relative_to(ROOT)) for top in ROOT.iterdir() if top.name not in ("build", ".git")
                 for p in ([top] if top.is_file() else top.rglob("*")) if "__pycache__" not in p.parts]
    return sorted(f for f in names if f)


NAMES = tracked()
FILES = [f for f in NAMES if (ROOT / f).is_file()]


def with_suffix(*suffixes: str, under: str = "") -> list[str]:
    return [f for f in FILES if f.endswith(suffixes) and f.startswith(under)]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def lines(name: str):
    return enumerate(text(name).splitlines(), 1)


def is_own_c(name: str) -> bool:
    return name.endswith(".c") and not name.startswith("userland/")


def rule_format(options):
    """Sources are laid out as .clang-format says; what stands among musl's files, as musl's are."""
    sources = [f for f in FILES if (f.endswith(CXX) and not f.startswith("userland/")) or is_own_c(f)]
    if not sources:
        return
    how = ["-i"] if options.fix else ["--dry-run", "-Werror"]
    done = subprocess.run([f"clang-format-{LLVM}", *how, *sources], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    wrong = sorted({m[1] for m in re.finditer(r"^(\S+?):\d+:\d+: ", done.stderr, re.M)})
    yield from (f"{name}:1: is not laid out by .clang-format (make format)" for name in wrong)
    if done.returncode and not wrong:
        yield done.stderr.strip()


COLUMNS = 100
PROSE_BEGINS = re.compile(r"(\s*)((?:[-*+]|\d+\.)\s+)?(?=\S)")
WORD = re.compile(r"(?:`[^`]*`|\S)+")  # what `stands so` is not broken
COMMENT_BEGINS = re.compile(r"(\s*// )(?!SPDX-|[-*] |\d+\. )(?=\S)")


def wrapped(first: str, rest: str, words: list[str]) -> list[str]:
    """The words in lines that fit; none begins with what markdown takes for a mark."""
    made = [first + words[0]]
    for word in words[1:]:
        fits = len(made[-1]) + 1 + len(word) <= COLUMNS
        if fits or re.match(r"[-*+#>|]|\d+\.$", word):
            made[-1] += " " + word
        else:
            made.append(rest + word)
    return made


def laid_out(name: str) -> list[str]:
    """The lines of a page or a header, paragraphs with a line that is too long laid out anew."""
    old = text(name).split("\n")
    is_page = name.endswith(".md")
    made: list[str] = []
    fenced = False
    at = 0
    while at < len(old):
        line = old[at]
        at += 1
        if is_page and line.lstrip().startswith("```"):
            fenced = not fenced
        begins = (PROSE_BEGINS if is_page else COMMENT_BEGINS).match(line)
        if fenced or not begins or (is_page and re.match(r"\s*([|#<>]|```)", line)):
            made.append(line)
            continue
        first = begins[0]
        rest = " " * len(first) if is_page else first
        block = [line[len(first):]]
        while at < len(old) and old[at].startswith(rest) and re.match(
                r"(?![-*+|#<>]\s?|\d+\.\s|```)\S", old[at][len(rest):]):
            block.append(old[at][len(rest):])
            at += 1
        lines_before = old[at - len(block):at]
        if all(len(one) <= COLUMNS for one in lines_before):
            made += lines_before
        else:
            made += wrapped(first, rest, WORD.findall(" ".join(block)))
    return made


def rule_columns(options):
    """Pages, and the comments of headers, have lines of at most 100 columns where a word does not need more."""
    pages = [f for f in with_suffix(".md") if "/" not in f or f.startswith("docs/")]
    for name in pages + [f for f in with_suffix(".h") if not f.startswith("userland/")]:
        made = laid_out(name)
        if made == text(name).split("\n"):
            continue
        if options.fix:
            (ROOT / name).write_text("\n".join(made), encoding="utf-8")
        else:
            yield f"{name}:1: has lines of more than {COLUMNS} columns (scripts/tidy.py --fix columns)"


def rule_sizes(_):
    """A file fits a reader: most have 100 to 200 lines, few over 400, none over 700."""
    code = [f for f in FILES if f.endswith((*CXX, ".c", ".py", ".cmake"))]
    long = []
    for name in code:
        count = text(name).count("\n")
        if count > MOST_LINES:
            yield f"{name}:1: has {count} lines, the most is {MOST_LINES}"
        elif count > USUAL_LINES:
            long.append(name)
    if len(long) > max(3, SHARE_OVER_USUAL * len(code)):
        yield from (f"{name}:1: one file too many has over {USUAL_LINES} lines" for name in long)


def rule_blobs(_):
    """Nothing large, nothing binary and no link out of the tree: third parties come from their registries."""
    for name in FILES:
        data = (ROOT / name).read_bytes()
        if len(data) > MOST_BYTES:
            yield f"{name}:1: has {len(data)} bytes, the most is {MOST_BYTES}"
        if b"\0" in data and not name.startswith("fuzz/corpus/"):
            yield f"{name}:1: is a binary file"
    for name in NAMES:
        link = ROOT / name
        if link.is_symlink() and not (link.exists() and link.resolve().is_relative_to(ROOT)):
            yield f"{name}:1: is a link to {link.readlink()}, which is no file of the tree"


def layer_table() -> dict[str, tuple[str, set[str]]]:
    """name -> (folder under src/, the layers it may use), bottom first, from the CMake files."""
    table: dict[str, tuple[str, set[str]]] = {}
    for folder in re.findall(r"^add_subdirectory\(src/(\S+)\)", text("CMakeLists.txt"), re.M):
        call = re.search(r"cloche_layer\((\w+)([^)]*)\)", text(f"src/{folder}/CMakeLists.txt"))
        words = call[2].split()
        below: set[str] = set()
        if "LAYERS" in words:
            for word in words[words.index("LAYERS") + 1:]:
                if word.isupper():
                    break
                below.add(word)
        table[call[1]] = (folder, below)
    return table


def rule_layers(_):
    """An include only points down: to the own layer, or to one that CMake links."""
    table = layer_table()
    seen: set[str] = set()
    for name, (folder, below) in table.items():
        yield from (f"src/{folder}/CMakeLists.txt:1: {other} is not below {name}"
                    for other in sorted(below - seen))
        seen.add(name)
        allowed = {table[b][0] for b in below if b in table} | {folder}
        for source in with_suffix(*CXX, under=f"src/{folder}/"):
            for number, line in lines(source):
                if not (found := re.match(r'\s*#\s*include\s+"([^"]+)/[^"/]+"', line)):
                    continue
                path = found[1] + "/"
                if path.startswith("cloche/"):
                    # base has some public headers; the rest are the sandbox's.
                    header = line.partition("cloche/")[2].partition('"')[0]
                    ok = name == "sandbox" or "sandbox" in below or f"src/base/{header}" in FILES
                else:
                    ok = any(path.startswith(a + "/") for a in allowed)
                if not ok:
                    yield f"{source}:{number}: {name} must not include {found[1]}/"


def rule_rooms(_):
    """A header of the kernel includes only its own room and those before it in src/kernel/CMakeLists.txt."""
    rooms = re.search(r"set\(CLOCHE_KERNEL_ROOMS ([^)]+)\)", text("src/kernel/CMakeLists.txt"))[1].split()

    def room_of(path: str) -> str:
        return path.split("/")[1] if path.count("/") > 1 else "."

    for name in with_suffix(".h", under="src/kernel/"):
        room = room_of(name.removeprefix("src/"))
        if room not in rooms:
            yield f"{name}:1: {room} is no room of src/kernel/CMakeLists.txt"
            continue
        for number, line in lines(name):
            found = re.match(r'\s*#\s*include\s+"(kernel/[^"]+)"', line)
            if found and rooms.index(room_of(found[1])) > rooms.index(room) and not name.endswith("_testing.h"):
                yield f"{name}:{number}: {room} must not include {room_of(found[1])}/"


def imports_of(name: str, package: str) -> set[str]:
    """The modules that a module of Python imports, also for its types and within functions: with those that are
    names in it, as "from . import x" may mean either."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text(name))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join(above + ([node.module] if node.module else []))
            names = {f"{module}.{alias.name}" for alias in node.names}
            found |= names | {module}
    return found


def rule_circles(_):
    """Modules of the Python packages import one another one way only; a package itself counts by its modules."""
    sources = "sdk/python/src/"
    modules = {name.removeprefix(sources)[:-len(".py")].replace("/", "."): name
               for name in with_suffix(".py", under=sources) if not name.endswith("/__init__.py")}
    below = {module: imports_of(name, module.rpartition(".")[0]) & modules.keys() for module, name in modules.items()}
    # What is in no circle either imports nothing that is left, or is imported by nothing that is left.
    while free := {module for module, others in below.items()
                   if not others & below.keys() or not any(module in names for names in below.values())}:
        below = {module: others for module, others in below.items() if module not in free}
    for module, others in sorted(below.items()):
        yield f"{modules[module]}:1: imports in a circle: {', '.join(sorted(others & below.keys()))}"


SPDX = "// SPDX-" + "License-Identifier:"


def rule_headers(_):
    """A header opens with its contract, and is included once."""
    for name in with_suffix(".h", ".hh"):
        if name.startswith("userland/"):
            continue
        body = text(name)
        if not body.split("\n", 1)[-1 if body.startswith(SPDX) else 0].lstrip("\n").startswith(("//", "/*")):
            yield f"{name}:1: a header opens with what it is for"
        if not re.search(r"^#pragma once$", body, re.M):
            yield f"{name}:1: no #pragma once"
    for name in with_suffix(".h", under="include/"):
        for number, line in lines(name):
            if re.match(r"\s*#\s*define\b", line):
                yield f"{name}:{number}: a public header has no macros"
            if (found := re.match(r'\s*#\s*include\s+"([^"]+)"', line)) and not found[1].startswith("cloche/"):
                yield f"{name}:{number}: a public header includes {found[1]}, which is none"
    for name in with_suffix(".cc", under="examples/"):
        for number, line in lines(name):
            if re.match(r'\s*#\s*include\s+"', line):
                yield f"{name}:{number}: an example has the public headers only, as <cloche/...>"


# Put together from pieces, so that this file does not hold what it looks for.
HOSTS = re.compile("|".join([
    r"pypi\." + "org", "pythonhosted\\." + "org", r"crates\." + "io", r"npmjs\." + "(org|com)",
    r"debian\." + "org/", r"proxy\.golang\." + "org", r"repo1?\.maven\." + "org"]), re.I)
PATHS = re.compile(r"(?<![\w.$}/-])/(" + "|".join(["work", "root", "home/[a-z]+"]) + r")/")


def rule_hosts(_):
    """No registry's host and no path of somebody's machine is written down."""
    for name in FILES:
        if name.startswith("fuzz/corpus/") or name == "LICENSE":
            continue
        for number, line in lines(name):
            if HOSTS.search(line):
                yield f"{name}:{number}: names a registry's host"
            if (found := PATHS.search(line)) and not re.match(r"/home/(user|sandbox)/", found[0]):
                yield f"{name}:{number}: names a machine's path, {found[0]}"


UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|for n" r"ow)\b")


def rule_words(_):
    """What is committed is finished."""
    for name in with_suffix(*CXX, ".c", ".py", ".cmake", ".sh"):
        if name.startswith("userland/ports/"):
            continue  # edits of others' sources quote them
        for number, line in lines(name):
            if found := UNFINISHED.search(line):
                yield f"{name}:{number}: '{found[1]}' is no comment: do it, or open an issue"


def rule_links(_):
    """Links and named files in documents exist."""
    known = set(FILES) | {str(p) for f in FILES for p in Path(f).parents}
    for name in with_suffix(".md"):
        here = Path(name).parent
        for number, line in lines(name):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:|#", target):
                    continue
                path = os.path.normpath(here / target.partition("#")[0])
                if path not in known:
                    yield f"{name}:{number}: {target} does not exist"
            for target in re.findall(r"`((?:src|include|docs|scripts|cmake|tests|bench|fuzz|examples|"
                                     r"userland)/[\w./-]+)`", line):
                if "NAME" not in target and target.rstrip("/") not in known:
                    yield f"{name}:{number}: {target} does not exist"


def rule_dependencies(_):
    """docs/dependencies.md names every package and every pinned file."""
    page = text("docs/dependencies.md")
    for listing in ("scripts/packages.txt", "scripts/packages-tests.txt"):
        for number, line in lines(listing):
            name = line.partition("#")[0].partition("|")[0].strip()
            if name and f"`{name}`" not in page:
                yield f"{listing}:{number}: docs/dependencies.md does not name {name}"
    pins = ["third_party.lock.toml", *(name for part in ("libraries", "ports", "python") for name in with_suffix(".toml", under=f"userland/{part}/")),
            *with_suffix(".py", under="userland/build/")]
    for name in pins:
        for number, line in lines(name):
            found = re.search(r'"?sha256"?\s*[:=]\s*"([0-9a-f]{12})[0-9a-f]{52}"', line)
            if found and found[1] not in page:
                yield f"{name}:{number}: docs/dependencies.md does not name {found[1]}"


def rule_scripts(_):
    """Scripts parse, and those that are run directly are executable."""
    for name in FILES:
        first = text(name)[:60].partition("\n")[0]
        if not first.startswith("#!"):
            continue
        if name.startswith(("scripts/", ".ci/")) and not os.access(ROOT / name, os.X_OK):
            yield f"{name}:1: is not executable"
        if "python" in first:
            try:
                compile(text(name), name, "exec")
            except SyntaxError as error:
                yield f"{name}:{error.lineno}: {error.msg}"
        elif re.search(r"\b(ba)?sh$", first):
            shell = "bash" if first.endswith("bash") else "sh"
            done = subprocess.run([shell, "-n", name], cwd=ROOT, text=True, capture_output=True,
                                  check=False)
            if done.returncode:
                yield f"{name}:1: {done.stderr.strip()}"


def rule_version(_):
    """VERSION says the version; what cannot read that file says the same."""
    done = subprocess.run([ROOT / "scripts/set-version", "--check"], text=True, capture_output=True, check=False)
    yield from (done.stdout + done.stderr).splitlines()


def rule_licences(_):
    """Each source file names its licence, and LICENSES/ has the text of each."""
    done = subprocess.run([ROOT / "scripts/spdx", "--check"], cwd=ROOT, text=True, capture_output=True,
                          check=False)
    yield from done.stdout.splitlines()
    if done.returncode and not done.stdout:
        yield done.stderr.strip()


def inputs_of(name: str, seen: dict[str, str]) -> None:
    """The source and every header of ours that it includes, with their text."""
    if name in seen or not (ROOT / name).is_file():
        return
    seen[name] = text(name)
    for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', seen[name], re.M):
        for base in ("src", "include", str(Path(name).parent)):
            inputs_of(os.path.normpath(f"{base}/{include}"), seen)


def units_of(options) -> dict[str, str]:
    """The sources that the build folder compiles, and how; none where it is not configured."""
    database = ROOT / options.build / "compile_commands.json"
    if not database.exists():
        return {}
    entries = [one for entry in json.loads(database.read_text()) for one in members_of(entry, ROOT / options.build)]
    for entry in entries:
        entry["command"] = entry["command"].replace(" -fno-tree-loop-distribute-patterns", "")  # GCC's alone
    # Where clang-tidy finds them, each by itself.
    alone = ROOT / options.build / "clang-tidy-clean" / "compile_commands.json"
    alone.parent.mkdir(exist_ok=True)
    alone.write_text(json.dumps(entries, indent=1))
    return {path: one["command"] for one in entries if (path := os.path.relpath(one["file"], ROOT)) in FILES}


def members_of(entry: dict[str, str], build: Path) -> list[dict[str, str]]:
    """The entry of a database of compile commands; of a group (cmake/layer.cmake) those of its members."""
    file = Path(entry["file"])
    if not file.is_relative_to(build / "groups"):
        return [entry]
    members = re.findall(r'^#include "([^"]+)"$', file.read_text(), re.M)
    return [{**entry, "file": source, "command": entry["command"].replace(str(file), source)}
            for source in (str(ROOT / "src" / member) for member in members)]


LOCK_ANNOTATIONS = "src/base/thread_annotations.h"
LOCK_MISTAKES = "scripts/lock_mistakes.cc"
# What clang's analysis cannot follow is made of these.
LOCK_MAKERS = ("src/base/mutex.h", "src/kernel/time/kernel_lock.h")
LOCK_MEMBER = re.compile(r"^\s*(?:mutable )?(std::(?:shared_)?mutex|(?:Shared)?Mutex)\s+(\w+);")


def loose_locks(name: str):
    """(place, what) of each lock of which nothing says what it guards."""
    whole = text(name)
    for number, line in lines(name):
        if not (member := LOCK_MEMBER.match(line)):
            continue
        if member[1].startswith("std::"):
            yield f"{name}:{number}", f"clang does not follow a {member[1]}: use one of base/mutex.h"
        elif not re.search(rf"\b(GUARDED_BY|REQUIRES|EXCLUDES)\([^)]*\b{member[2]}\)", whole):
            yield f"{name}:{number}", f"nothing says what {member[2]} guards: GUARDED_BY({member[2]})"


def rule_locks(options):
    """Locks are held where REQUIRES and GUARDED_BY say so: clang's thread-safety analysis, tests aside."""
    units = units_of(options)
    if not units:
        yield f"{options.build}: not configured, run make"
        return
    clean = ROOT / options.build / "locks-clean"
    clean.mkdir(exist_ok=True)
    for name in with_suffix(*CXX, under="src/"):
        if not name.endswith(("_test.cc", "_testing.cc", "_testing.h", *LOCK_MAKERS)):
            yield from (f"{where}: {what}" for where, what in loose_locks(name))

    def closure(name: str) -> dict[str, str]:
        seen: dict[str, str] = {}
        inputs_of(name, seen)
        return seen if LOCK_ANNOTATIONS in seen else {}

    # All see the same flags, so that they can start from one precompiled header.
    words = [word for name in sorted(units) if name.startswith("src/") for word in joined_includes(units[name])]
    flags = ["-std=c++20", "-Wthread-safety", "-Wno-deprecated-declarations",
             "-Wno-unused-command-line-argument", *dict.fromkeys(words)]
    headers = [h for h in with_suffix(".h", under="src/kernel/") if not h.endswith("_testing.h") and closure(h)]
    whole = clean / "all.h"
    body = "".join(f'#include "{h.removeprefix("src/")}"\n' for h in headers)
    body = f'#include "{ROOT}/cmake/precompiled.h"\n{body}'
    if not whole.exists() or whole.read_text() != body:
        whole.write_text(body)

    def clang(*what: str) -> list[tuple[str, str]]:
        done = subprocess.run([f"clang++-{LLVM}", *flags, *what], cwd=ROOT, text=True, capture_output=True,
                              check=False)
        found = re.findall(r"^(\S+?:\d+):\d+: (?:fatal )?(?:error|warning): (.*)$", done.stderr, re.M)
        places = [(os.path.relpath(os.path.realpath(ROOT / where.rpartition(":")[0]), ROOT) + ":" +
                   where.rpartition(":")[2], what) for where, what in found]
        return places or ([("", done.stderr.strip()[-2000:])] if done.returncode else [])

    def stamp(inputs: dict[str, str]) -> Path:
        digest = hashlib.sha256("\0".join(flags).encode())
        for name in sorted(inputs):
            digest.update(f"{name}\0{inputs[name]}\0".encode())
        return clean / digest.hexdigest()

    everything: dict[str, str] = {"all.h": body}
    for name in headers:
        inputs_of(name, everything)
    sources = [n for n in sorted(units) if n.startswith("src/") and not n.endswith(("_test.cc", "_testing.cc"))]
    stamps = {n: stamp(inputs) for n in [*sources, LOCK_MISTAKES] if (inputs := closure(n))}
    todo = [n for n, mark in stamps.items() if not mark.exists()]
    precompiled = clean / "all.pch"
    told: set[tuple[str, str]] = set()

    def check(name: str) -> tuple[str, list[tuple[str, str]]]:
        return name, clang("-include-pch", str(precompiled), "-fsyntax-only", name)

    if not todo and stamp(everything).exists():
        return
    in_headers = clang("-fpch-instantiate-templates", "-x", "c++-header", str(whole), "-o", str(precompiled))
    told.update(in_headers)
    yield from (f"{where}: {what}" for where, what in in_headers)
    if not precompiled.exists():
        return
    if not in_headers:
        stamp(everything).touch()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, found in pool.map(check, todo):
            if name == LOCK_MISTAKES:  # what the analysis has to see, so that a rule that sees nothing is seen
                wanted = {f"{name}:{n}" for n, line in lines(name) if line.endswith("// mistake")}
                found += loose_locks(name)
                got = {where for where, _ in found}
                found = [(where, "the mistake here is not found") for where in sorted(wanted - got)] + [
                    (where, what) for where, what in found if where not in wanted]
            if not found:
                stamps[name].touch()
            yield from (f"{where}: {what}" for where, what in found if (where, what) not in told)
            told.update(found)


def joined_includes(command: str) -> list[str]:
    """Where a compiler's command looks for headers, and what it defines, a word each."""
    words = shlex.split(command)
    joined = [f"-isystem{after}" for word, after in zip(words, words[1:]) if word == "-isystem"]
    return joined + [word for word in words if word.startswith(("-I", "-D")) and not word.startswith("-D_FORTIFY")]


def rule_clang_tidy(options):
    """clang-tidy finds nothing, by the checks in .clang-tidy."""
    build = ROOT / options.build
    units = units_of(options)
    if not units:
        yield f"{options.build}: not configured, run make"
        return
    clean = build / "clang-tidy-clean"
    clean.mkdir(exist_ok=True)

    def stamp(path: str) -> Path:
        seen: dict[str, str] = {}
        inputs_of(path, seen)
        digest = hashlib.sha256((text(".clang-tidy") + units[path]).encode())
        for name in sorted(seen):
            digest.update(f"{name}\0{seen[name]}\0".encode())
        return clean / digest.hexdigest()

    def one(path: str) -> tuple[Path, int, str]:
        # The database is the compiler's; clang does not know these two of its options, nor its precompiled headers.
        done = subprocess.run([f"clang-tidy-{LLVM}", "-p", str(clean), "--quiet",
                               "--extra-arg=-Wno-unknown-warning-option",
                               "--extra-arg=-Wno-unused-command-line-argument",
                               "--extra-arg=-Wno-ignored-gch", path],
                              cwd=ROOT, text=True, capture_output=True, check=False)
        return stamp(path), done.returncode, done.stdout + (done.stderr if done.returncode else "")

    todo = [p for p in sorted(units) if not stamp(p).exists()]
    told: set[str] = set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (mark, status, said) in enumerate(pool.map(one, todo), 1):
            if sys.stderr.isatty():
                print(f"\rclang-tidy: {number} of {len(todo)}", end="", file=sys.stderr)
            if status == 0:
                mark.touch()
                continue
            found = re.findall(r"^(\S+?:\d+):\d+: (?:error|warning): (.*)$", said, re.M)
            for where, what in found or [("", said.strip()[-2000:])]:
                message = f"{where.removeprefix(str(ROOT) + '/')}: {what}"
                if message not in told:
                    told.add(message)
                    yield message


RULES = {name.removeprefix("rule_").replace("_", "-"): function
         for name, function in list(globals().items()) if name.startswith("rule_")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", default="build")
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    options = parser.parse_args()
    if unknown := set(options.rules) - set(RULES):
        parser.error(f"no such rule: {', '.join(sorted(unknown))}")
    count = 0
    for name in options.rules or RULES:
        for message in RULES[name](options):
            print(f"{message} [{name}]", flush=True)
            count += 1
    print(f"tidy: {count} found" if count else "tidy: nothing found")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
