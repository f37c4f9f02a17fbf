"""Which candidates satisfy all that is asked for, and all that those require."""
from ._errors import NotFound, PipError
from ._vendor.packaging.requirements import Requirement
from ._vendor.packaging.utils import canonicalize_name

MAX_ROUNDS = 200

# What marks of requirements are judged by; `extra` is added.
ENVIRONMENT = {
    "implementation_name": "cpython", "implementation_version": "3.15.0", "os_name": "posix", "platform_machine": "wasm32",
    "platform_python_implementation": "CPython", "platform_system": "Linux", "python_full_version": "3.15.0",
    "python_version": "3.15", "sys_platform": "linux",
}


def applies(requirement, extras):
    """Whether a requirement of a distribution that was asked for with these extras holds here."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({**ENVIRONMENT, "extra": extra}) for extra in extras or {""})


class Wanted:
    """All that was asked of one name."""

    def __init__(self, name):
        self.name = name
        self.asked = []  # (requirement, who asks: a name or None)
        self.extras = {""}
        self.pinned = None  # the candidate that a file or a folder is

    def allows(self, version, pre):
        if self.pinned is not None:
            return str(version) == str(self.pinned.version)
        return all(requirement.specifier.contains(version, prereleases=pre or None) for requirement, _ in self.asked)

    def text(self):
        return ", ".join(str(requirement.specifier) for requirement, _ in self.asked if requirement.specifier)


class Resolver:
    """`sources` in order of preference; `installed`: what is there already, and is kept where it satisfies."""

    def __init__(self, registry, sources, installed, upgrade=False, reinstall=False, with_dependencies=True, pre=False, constraints=()):
        self.registry, self.sources, self.installed = registry, sources, installed
        self.upgrade, self.reinstall, self.with_dependencies, self.pre = upgrade, reinstall, with_dependencies, pre
        self.constraints = constraints
        self.named = set()

    def resolve(self, requirements, pinned=()):
        """(candidates to install, dependencies first; distributions that satisfy already). `pinned`: candidates that are files."""
        asked = [(requirement, None) for requirement in requirements]
        self.named = {self._key(requirement.name) for requirement in requirements} | {candidate.name for candidate in pinned}
        chosen = None
        for _ in range(MAX_ROUNDS):
            wanted = self._collect(asked, pinned)
            picked = {name: self._pick(entry) for name, entry in wanted.items()}
            versions = {name: (str(picked[name].version), sorted(wanted[name].extras)) for name in picked}
            if versions == chosen:
                return self._order(wanted, picked)
            chosen = versions
            asked = [pair for pair in asked if pair[1] is None]
            if self.with_dependencies:
                for name, candidate in picked.items():
                    asked += [(requirement, name) for requirement in self._requirements(candidate, wanted[name].extras)]
        raise PipError("Cannot find versions that fit together: " + ", ".join(sorted(wanted)))

    def _key(self, name):
        key = canonicalize_name(name)
        if key in self.installed:
            return key
        entry = self.registry.find(key)
        return entry["name"] if entry else key

    def _collect(self, asked, pinned):
        wanted = {}
        for candidate in pinned:
            entry = wanted.setdefault(candidate.name, Wanted(candidate.name))
            entry.pinned = candidate
        for requirement, parent in asked:
            key = self._key(requirement.name)
            entry = wanted.setdefault(key, Wanted(key))
            entry.asked.append((requirement, parent))
            entry.extras |= requirement.extras
        for constraint in self.constraints:
            key = self._key(constraint.name)
            if key in wanted:
                wanted[key].asked.append((constraint, "a constraint"))
        return wanted

    def _pick(self, wanted):
        """A candidate, or the installed Distribution."""
        have = self.installed.get(wanted.name)
        if wanted.pinned is not None:
            if not all(r.specifier.contains(wanted.pinned.version, prereleases=True) for r, _ in wanted.asked):
                raise PipError(f"Cannot install {wanted.name} {wanted.pinned.version} because it is required as {wanted.text()}")
            same = have is not None and have.version == str(wanted.pinned.version) and not self.reinstall
            return have if same and getattr(wanted.pinned.wheel, "editable", None) is None else wanted.pinned
        again = self.reinstall and wanted.name in self.named
        newer = self.upgrade and wanted.name in self.named
        if have is not None and not again and not newer and wanted.allows(have.version, True):
            return have
        found = [candidate for source in self.sources for candidate in source.candidates(wanted.name)]
        fit = [candidate for candidate in found if wanted.allows(candidate.version, self.pre)]
        if fit:
            best = max(fit, key=lambda candidate: candidate.version)
            if have is not None and not again and str(best.version) == have.version:
                return have
            return best
        if have is not None and not again and wanted.allows(have.version, True):
            return have
        return self._fail(wanted, found)

    def _fail(self, wanted, found):
        name = wanted.asked[0][0].name
        parent = next((who for _, who in wanted.asked if who), None)
        because = f" (required by {parent})" if parent else ""
        for source in self.sources:
            if not found and (problem := getattr(source, "unfit", {}).get(wanted.name)):
                raise PipError(problem)
        if not found and wanted.name not in self.installed:
            available = ", ".join(self.registry.names()) or "none: this build ships no packages"
            raise NotFound(f"ERROR: No matching distribution found for {name}{because}\nPackage not found. Available: {available}")
        versions = ", ".join(sorted({str(candidate.version) for candidate in found})) or "none"
        text = f"{name}{wanted.text().replace(' ', '')}"
        raise PipError(f"Could not find a version that satisfies the requirement {text}{because} (from versions: {versions})\n"
                       f"ERROR: No matching distribution found for {text}")

    def _requirements(self, candidate, extras):
        requirements = candidate.requirements
        return [r for r in (requirements() if callable(requirements) else requirements) if applies(r, extras)]

    def _order(self, wanted, picked):
        order, seen = [], set()

        def visit(name):
            if name in seen or name not in picked:
                return
            seen.add(name)
            if self.with_dependencies:
                for requirement in self._requirements(picked[name], wanted[name].extras):
                    visit(self._key(requirement.name))
            order.append(picked[name])

        for name in picked:
            visit(name)
        have = set(map(id, self.installed.values()))
        return [c for c in order if id(c) not in have], [c for c in order if id(c) in have]


def parse_requirement(text):
    from ._vendor.packaging.requirements import InvalidRequirement
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        lines = str(error).strip().split("\n")
        raise PipError(f"Invalid requirement: {text!r}: {lines[0]}") from None
