"""pip list, pip freeze, pip show, pip index, pip inspect: what there is."""
import json
import os
import sys

from . import _settings, _site
from ._build import Builder
from ._errors import PipError
from ._resolve import applies
from ._sources import Registry


def _rows(options):
    found = sorted(_site.installed([options.path] if options.path else None).values(), key=lambda d: d.key)
    if options.user:
        found = [d for d in found if not d.of_registry]
    if options.editable_only:
        found = [d for d in found if d.editable_location()]
    if options.exclude:
        left_out = {_site.normal_name(name) for name in options.exclude}
        found = [d for d in found if d.key not in left_out]
    if options.not_required:
        needed = {_site.normal_name(r.name) for d in found for r in d.requirements() if applies(r, set())}
        found = [d for d in found if d.key not in needed]
    if options.outdated:
        registry = Registry()
        found = [d for d in found if (entry := registry.find(d.key)) and entry["version"] != d.version and not d.of_registry]
    return found


def list_packages(options):
    rows = _rows(options)
    if options.format == "json":
        print(json.dumps([{"name": d.name, "version": d.version} for d in rows]))
        return 0
    if options.format == "freeze":
        for distribution in rows:
            print(f"{distribution.name}=={distribution.version}")
        return 0
    if rows:
        _table(("Package", "Version"), [(d.name, d.version) for d in rows])
    if not (options.path or options.user or options.outdated or options.editable_only or options.not_required):
        _available({d.key for d in rows}, bool(rows))
    return 0


def _table(head, rows):
    width = [max(len(row[i]) for row in [head, *rows]) for i in range(2)]
    for row in (head, tuple("-" * size for size in width), *rows):
        print(f"{row[0]:{width[0]}} {row[1]}".rstrip())


def _available(there, after_table):
    registry = Registry()
    left = [entry for name, entry in sorted(registry.entries.items()) if name not in there and not entry.get("builtin")]
    if left:
        if after_table:
            print()
        print("Available (pip install NAME):")
        for entry in left:
            print(f"  {entry['name']} {entry['version']}")


def freeze(options):
    left_out = {_site.normal_name(name) for name in options.exclude}
    for distribution in sorted(_site.installed([options.path] if options.path else None).values(), key=lambda d: d.key):
        if distribution.key in left_out or (options.user and distribution.of_registry):
            continue
        if location := distribution.editable_location():
            print(f"-e {location}")
        elif repository := distribution.repository():
            print(f"{distribution.name} @ {repository}")
        else:
            print(f"{distribution.name}=={distribution.version}")
    return 0


def show(options):
    if not options.targets:
        raise PipError("Please provide a package name or names.")
    installed, registry = _site.installed(), Registry()
    shown = 0
    for text in options.targets:
        name = _site.normal_name(text)
        entry = registry.find(name)
        distribution = installed.get(name) or installed.get(entry["name"] if entry else name)
        if distribution is None:
            hint = f" (it is available: pip install {entry['name']})" if entry and not entry.get("builtin") else ""
            print(f"WARNING: Package(s) not found: {text}{hint}", file=sys.stderr)
            continue
        if shown:
            print("---")
        shown += 1
        _show_one(distribution, installed, options)
    return 0 if shown else 1


def _show_one(distribution, installed, options):
    metadata = distribution.metadata
    home = metadata["Home-page"] or next((text.split(",", 1)[1].strip() for text in metadata.get_all("Project-URL") or []
                                          if text.lower().startswith("homepage,")), "")
    requires = sorted({r.name for r in distribution.requirements() if applies(r, set())}, key=str.lower)
    required_by = sorted(other.name for other in installed.values()
                         if any(_site.normal_name(r.name) == distribution.key and applies(r, set()) for r in other.requirements()))
    fields = [
        ("Name", distribution.name), ("Version", distribution.version), ("Summary", metadata["Summary"] or ""), ("Home-page", home),
        ("Author", metadata["Author"] or ""), ("Author-email", metadata["Author-email"] or ""),
        ("License", metadata["License-Expression"] or (metadata["License"] or "").split("\n")[0]), ("Location", distribution.folder),
    ]
    if location := distribution.editable_location():
        fields.append(("Editable project location", location))
    fields += [("Requires", ", ".join(requires)), ("Required-by", ", ".join(required_by))]
    for name, value in fields:
        print(f"{name}: {value}".rstrip() if not value else f"{name}: {value}")
    if options.files:
        print("Files:")
        for name in sorted(distribution.files()):
            print(f"  {name}")


def index(options):
    """pip index versions NAME"""
    if len(options.targets) != 2 or options.targets[0] != "versions":
        raise PipError("Need an action (versions) and a package name.")
    from . import _install, _requirements
    registry = Registry()
    name = _site.normal_name(options.targets[1])
    entry = registry.find(name)
    name = entry["name"] if entry else name
    remote, sources = _install.sources(options, _requirements.Asked(_settings.fetcher(options), Builder()), registry)
    found = {c.version for source in sources for c in source.candidates(name)
             if c.yanked is None and (options.pre or not c.version.is_prerelease or c.entry)}
    if not found:
        asked = "".join(f"{source.problem}\nERROR: " for source in remote if source.problem)
        raise PipError(f"{asked}No matching distribution found for {options.targets[1]}")
    versions = [str(version) for version in sorted(found, reverse=True)]
    print(f"{name} ({versions[0]})\nAvailable versions: {', '.join(versions)}")
    if have := _site.installed().get(name):
        print(f"  INSTALLED: {have.version}")
    return 0


def environment(options):
    """pip debug, pip config: what there is to say."""
    print(f"Python {sys.version}\nsys.executable: {sys.executable}\nwheels go to: {_site.wheel_folder()}\n"
          f"registry: {len(Registry().entries)} packages\nindex: {options.index_url or _settings.usual_index() or 'none'}\n"
          f"PIP_FIND_LINKS: {os.environ.get('PIP_FIND_LINKS', '')}")
    return 0
