"""The command line of pip."""
import argparse
import os
import sys

from . import _settings
from ._errors import Missing, PipError
from ._version import __version__

USAGE = """
Usage:
  pip <command> [options]

Commands:
  install                     Install packages.
  uninstall                   Uninstall packages.
  list                        List installed and available packages.
  show                        Show information about installed packages.
  freeze                      Output installed packages in requirements format.
  check                       Verify installed packages have compatible dependencies.
  index                       Tell which version of a package is available.
  help                        Show help for commands.

Packages of this sandbox are installed from its own registry, at once and without a network. Wheels and sources of pure Python are
installed from files, and from an index or a repository where the network policy of the sandbox allows it:
  pip install NAME...         with ==, >=, extras, -r requirements.txt
  pip install ./NAME.whl      a wheel; --find-links FOLDER for more of them
  pip install ./NAME.tar.gz   a source archive, also by its address; it is built by its own build backend
  pip install git+https://... a repository, with @REFERENCE and #subdirectory=FOLDER
  pip install -i URL NAME...  from this index (also PIP_INDEX_URL, pip.conf); --extra-index-url, --no-index, --require-hashes
  pip install [-e] FOLDER     a project

General Options:
  -h, --help                  Show help.
  -V, --version               Show version and exit.
  -q, --quiet                 Give less output.
"""

# Options of pip that make no difference here, and whether they take a value.
_WITHOUT_EFFECT = {
    "--break-system-packages": 0, "--disable-pip-version-check": 0, "--no-input": 0, "--no-warn-script-location": 0,
    "--prefer-binary": 0, "--no-build-isolation": 0, "--compile": 0, "--no-compile": 0, "--no-color": 0,
    "--isolated": 0, "--use-pep517": 0, "--no-warn-conflicts": 0, "--no-python-version-warning": 0, "--require-virtualenv": 0,
    "--debug": 0, "--trusted-host": 1,
    "--progress-bar": 1, "--root-user-action": 1, "--only-binary": 1, "--no-binary": 1, "--upgrade-strategy": 1,
    "--use-feature": 1, "--log": 1, "--cert": 1, "--proxy": 1, "--exists-action": 1, "--src": 1, "--config-settings": 1,
    "--python": 1, "--keyring-provider": 1, "--report": 1,
}
_COMMANDS = {
    "install": ("_install", "install"), "uninstall": ("_install", "uninstall"), "remove": ("_install", "uninstall"),
    "check": ("_install", "check"), "list": ("_show", "list_packages"), "freeze": ("_show", "freeze"), "show": ("_show", "show"),
    "index": ("_show", "index"), "debug": ("_show", "environment"), "config": ("_show", "environment"),
}
_NOT_HERE = {
    "download": "pip download is not supported here: packages of the registry are linked and need no download (pip install NAME)",
    "wheel": "pip wheel is not supported here: pip install builds what has no wheel",
    "search": "PyPI no longer supports searching; what this sandbox has is shown by: pip list",
    "hash": "pip hash: use sha256sum FILE",
    "lock": "pip lock is not supported here: pip freeze tells what is installed",
    "cache": "pip cache is not supported here: what pip has fetched from an index is in ~/.cache/pip/cloche, and may be removed",
    "inspect": "pip inspect is not supported here: pip list --format json, pip show NAME",
    "completion": "pip completion is not supported here",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"\nUsage:\n  pip {self.prog} [options] ...\n\n{message}\n")


def _parser(command):
    parser = _Parser(prog=command, add_help=True, allow_abbrev=False)
    parser.add_argument("targets", nargs="*", metavar="requirement or file")
    add = parser.add_argument
    add("-q", "--quiet", action="count", default=0)
    add("-v", "--verbose", action="count", default=0)
    add("-r", "--requirement", action="append", default=[], metavar="FILE")
    add("-y", "--yes", action="store_true", help="do not ask (uninstall)")
    add("-c", "--constraint", action="append", default=[], metavar="FILE")
    add("-U", "--upgrade", action="store_true")
    add("--force-reinstall", action="store_true")
    add("-I", "--ignore-installed", action="store_true")
    add("--no-deps", "--no-dependencies", action="store_true")
    add("--pre", action="store_true")
    add("--dry-run", action="store_true")
    add("-t", "--target", metavar="FOLDER")
    add("--user", action="store_true")
    add("--index-url", "--pypi-url", *(["-i"] if command in ("install", "index") else []), metavar="URL")
    add("--extra-index-url", action="append", default=[], metavar="URL")
    add("--no-index", action="store_true")
    add("--require-hashes", action="store_true")
    add("--cache-dir", metavar="FOLDER")
    add("--no-cache-dir", action="store_true")
    add("--timeout", "--default-timeout", default="15", metavar="SECONDS")
    add("--retries", default="3", metavar="NUMBER")
    add("--find-links", *(["-f"] if command == "install" else []), action="append", default=[], metavar="FOLDER")
    add("--path", metavar="FOLDER", help="look there (list, freeze)")
    add("--exclude", action="append", default=[], metavar="NAME")
    add("--format", choices=("columns", "freeze", "json"), default="columns")
    add("--not-required", action="store_true")
    if command == "install":
        add("-e", "--editable", action="append", default=[], metavar="FOLDER")
        parser.set_defaults(outdated=False, uptodate=False, files=False, local=False)
    else:
        add("-e", "--editable", dest="editable_only", action="store_true")
        add("-o", "--outdated", action="store_true")
        add("-u", "--uptodate", action="store_true")
        add("-l", "--local", action="store_true")
        add("-a", "--all", action="store_true")
        if command != "uninstall":
            add("-f", "--files", action="store_true")
        parser.set_defaults(editable=[])
    return parser


def _drop_without_effect(arguments):
    kept, skip = [], 0
    for i, word in enumerate(arguments):
        if skip:
            skip -= 1
            continue
        if word == "--":
            return kept + arguments[i:]
        name, equals, _ = word.partition("=")
        if name in _WITHOUT_EFFECT:
            skip = 0 if equals else _WITHOUT_EFFECT[name]
        else:
            kept.append(word)
    return kept


def _version():
    folder = os.path.dirname(os.path.abspath(__file__))
    return f"pip {__version__} from {folder} (python 3.15)"


def run(arguments=None):
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # who reads both streams together reads an error last
    words = _drop_without_effect(list(sys.argv[1:] if arguments is None else arguments))
    before = []
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-V", "--version"):
            print(_version())
            return 0
        if word in ("-h", "--help"):
            break
        if word not in ("-q", "--quiet", "-v", "--verbose", "-qq", "-qqq", "-vv", "-vvv"):
            print(f"\nUsage:\n  pip <command> [options]\n\nno such option: {word}", file=sys.stderr)
            return 2
        before.append(word)
    else:
        if words:
            return _guarded(words[0], before + words[1:])
    print(USAGE)
    return 0


def _guarded(command, words):
    try:
        return _perform(command, words)
    except PipError as error:
        print(error.lead + str(error), file=sys.stderr)
        return _status_of(error)
    except SystemExit as request:
        return request.code if isinstance(request.code, int) else 1
    except KeyboardInterrupt:
        print("ERROR: Operation cancelled by user", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    except MemoryError:
        print("ERROR: this sandbox has too little memory for that", file=sys.stderr)
        return 1


def _status_of(error):
    """What a pip that installs what builds something tells by, whether there is nothing that it can use."""
    if isinstance(error, Missing):
        from . import _build
        if _build.depth():
            return _build.MISSING_STATUS
    return error.status


def _perform(command, words):
    if command == "help":
        if words and words[0] in _COMMANDS:
            _parser(words[0]).print_help()
        else:
            print(USAGE)
        return 0
    if command in _NOT_HERE:
        raise PipError(_NOT_HERE[command])
    if command not in _COMMANDS:
        raise PipError(f'unknown command "{command}"')
    module, function = _COMMANDS[command]
    if module == "_install":
        from . import _install as home
    else:
        from . import _show as home
    parser = _parser(command)
    parser.set_defaults(**_settings.defaults(command))
    return getattr(home, function)(parser.parse_intermixed_args(words))
