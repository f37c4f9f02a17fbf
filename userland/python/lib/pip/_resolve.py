"""Which candidates satisfy all that is asked for, and all that those require: resolvelib searches, this says what there is."""
import collections

from _cloche.libraries import native_packages

from ._errors import Missing, NotAsked, NotBuildable, NotFound, PipError
from ._fetch import FetchError
from ._vendor.packaging.requirements import Requirement
from ._vendor.packaging.utils import canonicalize_name
from ._vendor.packaging.version import Version
from ._vendor.resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, ResolutionTooDeep
from ._vendor.resolvelib import Resolver as Search

MAX_ROUNDS = 20000
MAX_LOOKS = 150  # versions of an index whose requirements are read in a search
MAX_FRUITLESS = 20  # versions that want a name that nobody has, until that is the answer
MAX_FRUITLESS_NATIVE = 40  # the same of one that needs native code: older versions did without it
GONE = (404, 410)  # what a server says of a file that its page names and it has not

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


class Need:
    """A requirement of one name, or of one name with one extra. `parent`: the name that has it, None for the user, or "a constraint"."""

    def __init__(self, key, extra, requirement, parent, exactly=None):
        self.key, self.extra, self.requirement, self.parent, self.exactly = key, extra, requirement, parent, exactly

    def __repr__(self):
        return str(self.requirement)


class Pick:
    """A Candidate or an installed Distribution, or one extra of it."""

    def __init__(self, key, extra, what):
        self.key, self.extra, self.what = key, extra, what
        self.version = Version(str(what.version))


def _identity(thing):
    return f"{thing.key}[{thing.extra}]" if thing.extra else thing.key


class Resolver:
    """`sources` in order of preference; `installed`: what is there already, and is kept where it satisfies. A source that is
    `remote` is asked for what the others do not have, and where the newest is wanted.
    """

    def __init__(self, registry, sources, installed, upgrade=False, reinstall=False, with_dependencies=True, pre=False, constraints=(),
                 hashes=None):
        self.registry, self.sources, self.installed = registry, sources, installed
        self.upgrade, self.reinstall, self.with_dependencies, self.pre = upgrade, reinstall, with_dependencies, pre
        self.constraints, self.hashes = constraints, hashes
        self.named, self.pinned, self.limits, self.looked_at = set(), {}, {}, set()
        self.left_out = {}  # NAME[EXTRA] -> names of what it wants and nobody has
        self.fruitless = collections.Counter()  # of names that nobody has, how often they were wanted
        self.gone = {}  # name -> what was said of a version whose file is not there
        self.not_buildable = {}  # name -> why its newest source is of no use: none of it is tried again

    def resolve(self, requirements, pinned=()):
        """(candidates to install, dependencies first; distributions that satisfy already). `pinned`: candidates that are files."""
        self.named = {self._key(requirement.name) for requirement in requirements} | {candidate.name for candidate in pinned}
        self.pinned = {candidate.name: candidate for candidate in pinned}
        for constraint in self.constraints:
            self.limits.setdefault(self._key(constraint.name), []).append(Need(self._key(constraint.name), None, constraint, "a constraint"))
        needs = [need for requirement in requirements for need in self._needs(requirement, None)]
        needs += [need for candidate in pinned for need in self._needs(Requirement(candidate.name + _extras_text(candidate)), None)]
        try:
            result = Search(_Provider(self), BaseReporter()).resolve(needs, max_rounds=MAX_ROUNDS)
        except ResolutionImpossible as error:
            self._fail([cause.requirement for cause in error.causes])
        except ResolutionTooDeep:
            raise PipError("Cannot find versions that fit together: there are too many ways to try") from None
        return self._order(result.mapping)

    def _key(self, name):
        key = canonicalize_name(name)
        if key in self.installed:
            return key
        entry = self.registry.find(key)
        return entry["name"] if entry else key

    def _needs(self, requirement, parent):
        key = self._key(requirement.name)
        return [Need(key, None, requirement, parent)] + [Need(key, extra, requirement, parent) for extra in sorted(requirement.extras)]

    def matches(self, key, needs):
        """What satisfies all these, the best first, found as far as it is asked for."""
        needs = [*needs, *self.limits.get(key, ())]
        pinned = self.pinned.get(key)
        have = self.installed.get(key)
        if pinned is not None:
            if all(self.allows(need, pinned.version, True) for need in needs):
                same = have is not None and have.version == str(pinned.version) and not self.reinstall
                yield have if same and getattr(pinned.wheel, "editable", None) is None else pinned
            return
        if have is not None and not all(self.allows(need, Version(have.version), True) for need in needs):
            have = None
        again = self.reinstall and key in self.named
        newest = self.upgrade and key in self.named
        given = set()
        if have is not None and not again and not newest:
            given.add(have.version)
            yield have
        remote = [source for source in self.sources if getattr(source, "remote", False)]
        local = [source for source in self.sources if source not in remote]
        for group in [[*local, *remote]] if newest else [local, remote]:
            best = self._fit(self._candidates(key, group), needs)
            for what in sorted([*best, *([have] if have is not None and newest and not again else [])], key=_newness, reverse=True):
                if str(what.version) not in given and not self._is_given_up(key, what):
                    given.add(str(what.version))
                    yield what
        if have is not None and not given:
            yield have
        elif not given and not self._candidates(key):
            self.fruitless[key] += 1
            is_native = key in self.not_buildable or key in native_packages.BY_DISTRIBUTION
            if self.fruitless[key] > (MAX_FRUITLESS_NATIVE if is_native else MAX_FRUITLESS):
                self._not_found(needs[0])

    def _candidates(self, key, sources=None):
        found = [candidate for source in (self.sources if sources is None else sources) for candidate in source.candidates(key)]
        return [candidate for candidate in found if not self._is_given_up(key, candidate)]

    def missing(self):
        """The names that were wanted in the search, and of which there is nothing that can be used here."""
        return sorted(set(self.fruitless) | set(self.not_buildable))

    def _is_given_up(self, key, what):
        return key in self.not_buildable and getattr(what, "built", False)

    def _fit(self, found, needs):
        """The newest first. Without other choice also versions that are no releases, and, asked for by ==, ones that were taken back."""
        exact = any(s.operator == "===" or (s.operator == "==" and "*" not in s.version) for need in needs for s in need.requirement.specifier)
        ready = [c for c in found if all(self.allows(need, c.version, self.pre or bool(need.requirement.specifier.prereleases)) for need in needs)]
        fit = ready or [c for c in found if all(self.allows(need, c.version, True) for need in needs)]
        fit = [c for c in fit if c.yanked is None] or (fit if exact else [])
        if self.hashes is not None:
            fit = self.hashes.choose(fit)
        return sorted(fit, key=_newness, reverse=True)

    @staticmethod
    def allows(need, version, pre):
        if need.exactly is not None:
            return Version(str(version)) == need.exactly
        return need.requirement.specifier.contains(version, prereleases=pre)

    def requirements(self, what, extras):
        requirements = what.requirements
        if callable(requirements) and hasattr(getattr(what, "wheel", None), "link"):
            self.looked_at.add(what.wheel.file_name)
            if len(self.looked_at) > MAX_LOOKS:
                unfit = [text for source in self.sources for text in getattr(source, "unfit", {}).values()]
                raise PipError("Gave up searching versions that fit together." + "".join(f"\nERROR: {text}" for text in unfit[:5]))
        try:
            found = requirements() if callable(requirements) else requirements
        except FetchError as error:
            if error.http_status not in GONE:
                raise
            self.gone.setdefault(self._key(what.name), str(error))
            return _another_version(what)
        except NotBuildable as error:
            self.not_buildable.setdefault(self._key(what.name), str(error))
            return _another_version(what)
        return [r for r in found if applies(r, extras)]

    def leaves_out(self, pick, requirement):
        """What an extra of a package of the registry wants, and nobody has: the rest of the extra is of use without it."""
        if self.registry.find(pick.key) is None or self._key(requirement.name) in self.installed:
            return False
        if self._candidates(self._key(requirement.name)):
            return False
        self.left_out.setdefault(f"{pick.key}[{pick.extra}]", set()).add(requirement.name)
        return True

    def _fail(self, needs):
        for need in needs:
            if need.key in self.gone and need.parent == need.key:
                raise PipError(self.gone[need.key])
            if need.key in self.not_buildable:
                self._not_found(need)
        needs = [need for need in needs if need.exactly is None] or needs
        for need in needs:
            if need.key in self.pinned or need.key in self.installed:
                continue
            found = self._candidates(need.key)
            if not found:
                self._not_found(need)
            if not self._fit(found, [need, *self.limits.get(need.key, ())]):
                self._no_version(need, found)
        if len(needs) == 1 and needs[0].key not in self.pinned:
            self._no_version(needs[0], self._candidates(needs[0].key))
        lines = [f"  {need.parent} requires {need.requirement}" if need.parent else f"  The user requested {need.requirement}"
                 for need in needs] + [f"  {need.key} {self.pinned[need.key].version} is what was given" for need in needs if need.key in self.pinned]
        lines += [f"  The user requested (constraint) {limit.requirement}" for need in needs for limit in self.limits.get(need.key, ())]
        names = " and ".join(dict.fromkeys(str(need.parent or need.requirement) for need in needs))
        raise PipError(f"Cannot install {names} because these package versions have conflicting dependencies.\n\nThe conflict is caused by:\n"
                       + "\n".join(dict.fromkeys(lines)) + "\nERROR: ResolutionImpossible: no versions fit together")

    def _not_found(self, need):
        name = need.requirement.name
        because = f" (required by {need.parent})" if need.parent else ""
        # Who requires it may be known by a name that says more: polars, and not polars-runtime-32.
        for key, known in ((need.key, name), (need.parent, need.parent)):
            if instead := native_packages.BY_DISTRIBUTION.get(key):
                raise NotFound(f"ERROR: No matching distribution found for {name}{because}\n{native_packages.sentence(known, instead)}")
        if need.key in self.not_buildable:
            raise NotBuildable(self.not_buildable[need.key])
        for source in self.sources:
            if problem := getattr(source, "unfit", {}).get(need.key):
                raise Missing(problem)
        problems = [f"ERROR: {source.problem}\n" for source in self.sources if getattr(source, "problem", "")]
        available = ", ".join(self.registry.names()) or "none: this build ships no packages"
        kind = NotAsked if problems else NotFound
        raise kind(f"{''.join(dict.fromkeys(problems))}ERROR: No matching distribution found for {name}{because}\n"
                   f"Package not found. Available: {available}")

    def _no_version(self, need, found):
        versions = ", ".join(map(str, sorted({candidate.version for candidate in found}))) or "none"
        because = f" (required by {need.parent})" if need.parent else ""
        limits = "".join(f",{limit.requirement.specifier}" for limit in self.limits.get(need.key, ()) if limit.requirement.specifier)
        text = f"{need.requirement.name}{need.requirement.specifier}{limits}"
        problems = [f"{source.problem}\nERROR: " for source in self.sources if getattr(source, "problem", "")]
        kind = PipError if problems else Missing
        raise kind(f"{''.join(dict.fromkeys(problems))}Could not find a version that satisfies the requirement {text}{because} "
                   f"(from versions: {versions})\nERROR: No matching distribution found for {text}")

    def _order(self, mapping):
        """What is to be done, and what is there, each after what it requires."""
        picks = {identity: pick for identity, pick in mapping.items() if pick.extra is None}
        extras = {}
        for pick in mapping.values():
            extras.setdefault(pick.key, {""}).add(pick.extra or "")
        order, seen = [], set()

        def visit(key):
            if key in seen or key not in picks:
                return
            seen.add(key)
            if self.with_dependencies:
                for requirement in self.requirements(picks[key].what, extras[key]):
                    visit(self._key(requirement.name))
            order.append(picks[key].what)

        for key in picks:
            visit(key)
        have = set(map(id, self.installed.values()))
        return [c for c in order if id(c) not in have], [c for c in order if id(c) in have]


class _Provider(AbstractProvider):
    """What resolvelib asks."""

    def __init__(self, resolver):
        self.resolver = resolver

    def identify(self, requirement_or_candidate):
        return _identity(requirement_or_candidate)

    def get_preference(self, identifier, resolutions, candidates, information, backtrack_causes):
        needs = [one.requirement for one in information[identifier]]
        exact = any(need.exactly is not None or any(s.operator in ("==", "===") for s in need.requirement.specifier) for need in needs)
        limited = any(need.requirement.specifier for need in needs)
        blamed = any(_identity(cause.requirement) == identifier for cause in backtrack_causes)
        return (not exact, not blamed, not limited, all(need.parent for need in needs), identifier)

    def find_matches(self, identifier, requirements, incompatibilities):
        needs = list(requirements[identifier])
        extra = needs[0].extra if needs else None
        key = needs[0].key if needs else identifier
        if extra and key in requirements:
            needs += requirements[key]
        out = {str(pick.version) for pick in incompatibilities[identifier]}

        def found():
            for what in self.resolver.matches(key, needs):
                if str(Version(str(what.version))) not in out:
                    yield Pick(key, extra, what)
        return found

    def is_satisfied_by(self, requirement, candidate):
        return self.resolver.allows(requirement, candidate.version, True)

    def get_dependencies(self, candidate):
        if not self.resolver.with_dependencies and not candidate.extra:
            return []
        found = []
        if candidate.extra:
            exactly = Requirement(f"{candidate.key}=={candidate.version}")
            found.append(Need(candidate.key, None, exactly, candidate.key, exactly=candidate.version))
        if self.resolver.with_dependencies:
            for requirement in self.resolver.requirements(candidate.what, {candidate.extra or ""}):
                if not (candidate.extra and self.resolver.leaves_out(candidate, requirement)):
                    found += self.resolver._needs(requirement, candidate.key)
        return found


def _another_version(what):
    """What makes the search leave this one."""
    return [Requirement(f"{what.name}!={what.version}")]


def _newness(what):
    """What is installed comes before the same version from elsewhere, and what has to be built after all that is ready."""
    return not getattr(what, "built", False), Version(str(what.version)), not hasattr(what, "wheel")


def _extras_text(candidate):
    return f"[{','.join(sorted(candidate.extras))}]" if getattr(candidate, "extras", None) else ""


def parse_requirement(text):
    from ._vendor.packaging.requirements import InvalidRequirement
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        lines = str(error).strip().split("\n")
        raise PipError(f"Invalid requirement: {text!r}: {lines[0]}") from None
