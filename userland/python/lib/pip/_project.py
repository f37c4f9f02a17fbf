"""A project folder of pure Python with a pyproject.toml (or a setup.cfg): what it is, and how it is put into place without its build
tool. Its packages are found as setuptools finds them: below src/, or the folders with an __init__.py.
"""
import ast
import configparser
import csv
import email.parser
import io
import json
import os
import re
import shutil

from ._build import NoBackend, not_installable, table_of
from ._change import Staged
from ._errors import PipError
from ._resolve import parse_requirement
from ._vendor.packaging.utils import InvalidName, canonicalize_name
from ._vendor.packaging.version import InvalidVersion, Version
from ._wheel import _LAUNCHER, script_targets

_NOT_PLAIN = {"dependencies", "optional-dependencies", "scripts", "entry-points"}  # where a project computes these, they are not read here
_NOT_PACKAGES = {"tests", "test", "docs", "doc", "examples", "build", "dist", "scripts", "benchmarks", "venv", "node_modules"}


class Project:
    def __init__(self, path):
        self.path = os.path.realpath(path)
        self.name, self.version, self.requires, self.extras, self.scripts, self.folder, self.summary = self._read()
        try:  # they become names of files
            canonicalize_name(self.name, validate=True)
            Version(self.version)
        except (InvalidName, InvalidVersion, TypeError) as error:
            raise PipError(f"{self.path}: {error}") from None

    def _read(self):
        data = table_of(self.path)
        if data is not None:
            if not _NOT_PLAIN.isdisjoint(data.get("project", {}).get("dynamic", ())) or "project" not in data and "build-system" in data:
                raise NoBackend(f"{self.path}: only its build backend knows what this project is")
            if "project" in data:
                return self._from_table(data["project"], data.get("tool", {}))
        if os.path.exists(os.path.join(self.path, "setup.cfg")):
            return self._from_setup_cfg()
        if os.path.exists(os.path.join(self.path, "setup.py")):
            raise NoBackend(f"{self.path} has only a setup.py, which setuptools would have to run: write its [project] into a pyproject.toml")
        raise not_installable(self.path)

    def _from_table(self, project, tool):
        name = project.get("name")
        if not name:
            raise PipError(f"{self.path}: pyproject.toml has no project.name")
        version = project.get("version") or self._dynamic_version(name, tool)
        scripts = "".join(f"{key} = {value}\n" for key, value in project.get("scripts", {}).items())
        where = tool.get("setuptools", {}).get("packages", {})
        where = where.get("find", {}).get("where", [None])[0] if isinstance(where, dict) else None
        extras = {extra: list(texts) for extra, texts in project.get("optional-dependencies", {}).items()}
        return (name, version, list(project.get("dependencies", [])), extras, scripts, self._source(where), project.get("description", ""))

    def _from_setup_cfg(self):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(os.path.join(self.path, "setup.cfg"), encoding="utf-8")
        if not parser.has_option("metadata", "name"):
            raise PipError(f"{self.path}: setup.cfg has no metadata.name")
        name = parser.get("metadata", "name")
        version = parser.get("metadata", "version", fallback="0.0.0")
        if version.startswith("attr:"):
            version = self._dynamic_version(name, {})
        lines = parser.get("options", "install_requires", fallback="").strip().split("\n")
        scripts = parser.get("options.entry_points", "console_scripts", fallback="")
        where = parser.get("options.packages.find", "where", fallback=None)
        return name, version, [line for line in lines if line], {}, scripts, self._source(where), parser.get("metadata", "description", fallback="")

    def _dynamic_version(self, name, tool):
        """The `__version__` of its package, where that is a plain text."""
        module = re.sub(r"[-.]", "_", name)
        for place in (f"src/{module}/__init__.py", f"{module}/__init__.py", f"{module}.py", f"src/{module}/_version.py", f"{module}/_version.py"):
            try:
                with open(os.path.join(self.path, place), encoding="utf-8") as file:
                    tree = ast.parse(file.read())
            except (OSError, SyntaxError):
                continue
            for node in tree.body:
                if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__version__" for t in node.targets):
                    if isinstance(node.value, ast.Constant):
                        return str(node.value.value)
        return "0.0.0"

    def _source(self, where):
        if where:
            return os.path.join(self.path, where)
        source = os.path.join(self.path, "src")
        return source if os.path.isdir(source) else self.path

    def modules(self):
        """Names in the source folder that are its packages and modules."""
        found = []
        for name in sorted(os.listdir(self.folder)):
            path = os.path.join(self.folder, name)
            if os.path.isdir(path):
                if name not in _NOT_PACKAGES and name.isidentifier() and os.path.exists(os.path.join(path, "__init__.py")):
                    found.append(name)
            elif name.endswith(".py") and name[:-3].isidentifier() and name not in ("setup.py", "conftest.py", "noxfile.py"):
                if self.folder != self.path or name[:-3] == re.sub(r"[-.]", "_", self.name):
                    found.append(name)
        return found

    def metadata(self):
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}", f"Summary: {self.summary}"]
        lines += [f"Requires-Dist: {text}" for text in self.requires]
        for extra, texts in self.extras.items():
            lines.append(f"Provides-Extra: {extra}")
            for text in texts:
                requirement, _, marker = text.partition(";")
                lines.append(f"Requires-Dist: {requirement.strip()} ; " + (f"({marker.strip()}) and " if marker else "") + f"extra == '{extra}'")
        return "\n".join(lines) + "\n"

    def candidate(self, editable=False):
        from ._sources import Candidate
        lines = email.parser.Parser().parsestr(self.metadata(), headersonly=True)
        requirements = [parse_requirement(text) for text in lines.get_all("Requires-Dist") or []]
        made = Candidate(canonicalize_name(self.name), self.version, requirements, wheel=_Installable(self, editable))
        return made


class _Installable:
    """Installs a project as a wheel of it would be; an editable one by its folder's name in a .pth file."""

    def __init__(self, project, editable):
        self.project, self.editable = project, editable
        self.path = project.path

    def stage(self, change, target, scripts, direct=True):
        project, staged = self.project, Staged(change)
        info = os.path.join(target, f"{re.sub(r'[-_.]+', '_', project.name)}-{project.version}.dist-info")
        if self.editable:
            staged.add_text(os.path.join(target, f"__editable__.{project.name}.pth"), project.folder + "\n")
        else:
            for name in project.modules():
                for source in _files_of(os.path.join(project.folder, name)):
                    made = change.new()
                    shutil.copyfile(source, made)
                    staged.add(os.path.join(target, os.path.relpath(source, project.folder)), made)
        for name, fields in script_targets("[console_scripts]\n" + project.scripts):
            staged.add_text(os.path.join(scripts, name), _LAUNCHER.format(**fields), executable=True)
        staged.add_text(os.path.join(info, "METADATA"), project.metadata())
        staged.add_text(os.path.join(info, "INSTALLER"), "pip\n")
        staged.add_text(os.path.join(info, "direct_url.json"),
                        json.dumps({"dir_info": {"editable": True} if self.editable else {}, "url": "file://" + project.path}))
        record = os.path.join(info, "RECORD")
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows((os.path.relpath(path, target), "", "") for path in [*staged.paths(), record])
        staged.add_text(record, out.getvalue())
        return staged


def _files_of(path):
    """Of a module or a package, each folder once, however links lead."""
    if not os.path.isdir(path):
        yield path
        return
    seen = set()
    for folder, folders, files in os.walk(path, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield from (os.path.join(folder, name) for name in files if not name.endswith(".pyc"))
