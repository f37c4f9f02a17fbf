"""pip install, pip uninstall, pip check."""
import functools
import os
import sys

from . import _settings, _site, _wheel
from ._build import Builder
from ._change import Change
from ._errors import PipError
from ._requirements import Asked
from ._resolve import Resolver, applies
from ._sources import OPERATORS_WHEELS, Registry, Wheels, is_address
from ._vendor.packaging.version import Version


def gather(options):
    """What the command line asks for."""
    asked = Asked(_settings.fetcher(options), Builder(_settings.places(options), None if options.quiet else functools.partial(print, flush=True)))
    asked.hashes.required = options.require_hashes
    for text in options.targets:
        asked.add(text)
    for path in options.editable:
        asked.add_editable(path)
    for path in options.requirement:
        asked.add_file(path)
    for path in options.constraint:
        asked.add_file(path, constraints=True)
    return asked


def install(options):
    if not (options.targets or options.requirement or options.editable):
        raise PipError('You must give at least one requirement to install (see "pip help install")')
    asked = gather(options)
    registry = Registry()
    target = os.path.abspath(options.target) if options.target else None
    installed = _site.installed([target] if target else None)
    indexes, found = sources(options, asked, registry)
    resolver = Resolver(registry, found, {} if options.ignore_installed else installed, upgrade=options.upgrade,
                        reinstall=options.force_reinstall, with_dependencies=not options.no_deps, pre=options.pre or asked.pre,
                        constraints=asked.constraints, hashes=asked.hashes)
    requirements = [r for r in asked.requirements if _is_meant(r, options)]
    ours, there = _standard(requirements, registry, installed)
    asked.hashes.demand(ours, registry)
    new, have = resolver.resolve(ours, asked.pinned)
    for extra, names in resolver.left_out.items():
        print(f"WARNING: {extra} wants {', '.join(sorted(names))} too, which nobody has here: left out", file=sys.stderr)
    for index in indexes:
        if index.problem and not index.refused:
            print(f"WARNING: {index.problem}", file=sys.stderr)
    if not options.quiet:
        for text in there:
            print(text)
        for distribution in have:
            print(f"Requirement already satisfied: {distribution.name} in {distribution.folder} ({distribution.version})")
    _tell_of_newer(new, requirements, indexes, resolver.missing())
    new = [candidate for candidate in new if not candidate.builtin or _say_builtin(candidate, options)]
    if not new:
        return 0
    if not options.quiet:
        for candidate in new:
            print(f"Collecting {candidate.name}")
    names = " ".join(f"{candidate.name}-{candidate.version}" for candidate in new)
    if options.dry_run:
        print(f"Would install {names}")
        return 0
    for candidate in new:
        asked.hashes.check(candidate)
        if candidate.yanked is not None:
            print(f"WARNING: {candidate.name} {candidate.version} is a yanked version. Reason: {candidate.yanked or '<none given>'}", file=sys.stderr)
        if hasattr(candidate.wheel, "local"):
            candidate.wheel.local()  # before anything is changed
    if not options.quiet:
        print(f"Installing collected packages: {', '.join(candidate.name for candidate in new)}")
    for candidate in new:
        _put(candidate, installed, target, options)
    if not options.quiet:
        print(f"Successfully installed {names}")
    return 0


def _tell_of_newer(new, requirements, indexes, missing):
    """Where something was asked for by its name alone, and the newest that there is has no wheel for this Python, or wants what is
    `missing`."""
    named = {_site.normal_name(requirement.name) for requirement in requirements if not requirement.specifier}
    for candidate in new:
        if candidate.name not in named or candidate.entry is not None:
            continue
        ready = {found.version for index in indexes for found in index.candidates(candidate.name) if not found.built}
        newest = max((found for index in indexes if (found := index.newest.get(candidate.name))), default=None)
        if newest is None or newest <= candidate.version:
            continue
        if newest not in ready:
            print(f"WARNING: {candidate.name} {newest} has no wheel that can be used here: {candidate.version} is taken", file=sys.stderr)
        elif missing:
            print(f"WARNING: {candidate.name} {candidate.version} is taken and not {newest}: of {', '.join(missing)} there is nothing that can be used "
                  "here", file=sys.stderr)


def sources(options, asked, registry):
    """(indexes and pages that are asked over the network, all sources in order of preference)."""
    from ._index import Page
    places = [*options.find_links, *asked.find_links]
    if os.path.isdir(OPERATORS_WHEELS):
        places.append(OPERATORS_WHEELS)
    remote = [Page(place, asked.fetcher) for place in places if is_address(place)]
    if not (options.no_index or asked.no_index):
        remote += _settings.indexes(options, asked.fetcher, asked.index_urls)
    for index in remote:
        index.builder, index.ready = asked.builder, registry.entries
    return remote, [registry, Wheels([place for place in places if not is_address(place)]), *remote]


def _is_meant(requirement, options):
    if applies(requirement, set()):
        return True
    if not options.quiet:
        print(f"Ignoring {requirement.name}: markers '{requirement.marker}' don't match your environment")
    return False


def _say_builtin(candidate, options):
    if not options.quiet:
        print(f"Requirement already satisfied: {candidate.name} is part of this Python ({candidate.version})")
    return False


def _standard(requirements, registry, installed):
    """Modules of the standard library are there already, and on no index either."""
    ours, there = [], []
    for requirement in requirements:
        if requirement.name == "pip":
            there.append("Requirement already satisfied: pip is a part of this sandbox")
        elif (requirement.name in sys.stdlib_module_names and registry.find(_site.normal_name(requirement.name)) is None
                and _site.normal_name(requirement.name) not in installed):
            there.append(f"Requirement already satisfied: {requirement.name} is a module of the standard library")
        else:
            ours.append(requirement)
    return ours, there


def _put(candidate, installed, target, options):
    folder = target or _site.wheel_folder()
    scripts = os.path.join(target, "bin") if target else _site.script_folder()
    before = installed.get(candidate.name)
    try:
        if candidate.entry is not None:
            if before is not None:
                _replace(before, options)
            _site.link(candidate.name)
            if target or _site.in_virtual_environment():
                _link_into(candidate, folder)
            return
        with Change(folder) as change:
            made = candidate.wheel.stage(change, folder, scripts, direct=candidate.direct)
            if before is not None:
                _replace(before, options, change)
            made.place()
    except OSError as error:
        raise PipError(f"Could not install {candidate.name} due to an OSError: {error}") from None


def _replace(before, options, change=None):
    if not options.quiet:
        print(f"  Attempting uninstall: {before.key}\n    Found existing installation: {before.name} {before.version}")
    _take_away(before, change)
    if not options.quiet:
        print(f"    Successfully uninstalled {before.name}-{before.version}")


def _link_into(candidate, target):
    """A package of the registry in a folder of the user's own: links to where it is linked itself."""
    os.makedirs(target, exist_ok=True)
    source = os.path.join(_site.LINKED, candidate.name)
    for name in os.listdir(source):
        place = os.path.join(target, name)
        if not os.path.lexists(place):
            os.symlink(os.path.join(source, name), place)


def _take_away(distribution, change=None):
    """`change`: what can be taken back is."""
    if distribution.of_registry:
        _site.unlink(distribution.key)
    elif os.path.islink(os.path.join(distribution.folder, distribution.info)):
        source = os.path.dirname(os.path.realpath(os.path.join(distribution.folder, distribution.info)))
        for name in os.listdir(distribution.folder):
            path = os.path.join(distribution.folder, name)
            if os.path.islink(path) and os.path.dirname(os.readlink(path)) == source:
                (change.take if change else os.unlink)(path)
    else:
        _wheel.remove(distribution, os.path.dirname(_site.script_folder()), change)


def uninstall(options):
    asked = Asked(_settings.fetcher(options))
    for path in options.requirement:
        asked.add_file(path)
    names = [_site.normal_name(text.split("=")[0].split("<")[0].split(">")[0]) for text in options.targets]
    names += [_site.normal_name(requirement.name) for requirement in asked.requirements]
    if not names:
        raise PipError('You must give at least one requirement to uninstall (see "pip help uninstall")')
    installed, registry = _site.installed(), Registry()
    for name in dict.fromkeys(names):
        entry = registry.find(name)
        distribution = installed.get(name) or installed.get(entry["name"] if entry else name)
        if distribution is None:
            print(f"WARNING: Skipping {name} as it is not installed.", file=sys.stderr)
            continue
        print(f"Found existing installation: {distribution.name} {distribution.version}")
        print(f"Uninstalling {distribution.name}-{distribution.version}:")
        if not options.yes and sys.stdin is not None and sys.stdin.isatty():
            answer = input(f"  Would remove:\n    {distribution.folder}/{distribution.info}\nProceed (Y/n)? ")
            if answer.strip().lower() not in ("", "y", "yes"):
                continue
        try:
            _take_away(distribution)
        except OSError as error:
            raise PipError(f"Could not uninstall {distribution.name}: {error}") from None
        print(f"  Successfully uninstalled {distribution.name}-{distribution.version}")
    return 0


def check(options):
    installed = _site.installed()
    broken = False
    for distribution in installed.values():
        for requirement in distribution.requirements():
            if not applies(requirement, set()):
                continue
            have = installed.get(_site.normal_name(requirement.name))
            if have is None:
                print(f"{distribution.name} {distribution.version} requires {requirement.name}, which is not installed.")
                broken = True
            elif not requirement.specifier.contains(Version(have.version), prereleases=True):
                print(f"{distribution.name} {distribution.version} has requirement {requirement}, but you have {have.name} {have.version}.")
                broken = True
    if not broken:
        print("No broken requirements found.")
    return 1 if broken else 0
