"""The command line of python3, as CPython reads it."""
import operator
import sys

USAGE = """usage: {name} [option] ... [-c cmd | -m mod | file | -] [arg] ...
Options:
-B     : don't write .pyc files on import
-c cmd : program passed in as string (terminates option list)
-E     : ignore PYTHON* environment variables
-h     : print this help message and exit
-i     : inspect interactively after running script
-I     : isolate Python from the user's environment (implies -E and -s)
-m mod : run library module as a script (terminates option list)
-O     : remove assert and __debug__-dependent statements
-OO    : do -O changes and also discard docstrings
-P     : don't prepend a potentially unsafe path to sys.path
-q     : don't print version on interactive startup
-s     : don't add user site directory to sys.path
-S     : don't imply 'import site' on initialization
-u     : force the stdout and stderr streams to be unbuffered
-v     : verbose (trace import statements)
-V     : print the Python version number and exit
-W arg : warning control; arg is action:message:category:module:lineno
-x     : skip first line of source
-X opt : set implementation-specific option
file   : program read from script file
-      : program read from stdin (default; interactive mode if a tty)
arg ...: arguments passed to program in sys.argv[1:]
"""

_SIMPLE = {
    "b": "bytes_warning", "d": "debug", "i": "inspect", "O": "optimize", "q": "quiet", "v": "verbose",
    "B": "dont_write_bytecode", "E": "ignore_environment", "s": "no_user_site", "S": "no_site",
}


class UsageError(Exception):
    """The command line is wrong; the text says how."""


_own_flags = sys.flags


class Flags(tuple):
    """What sys.flags is: the same names in the same order as the interpreter's own, all of them, as its C code copies so many."""

    names = tuple(
        "debug inspect interactive optimize dont_write_bytecode no_user_site no_site ignore_environment verbose "
        "bytes_warning quiet hash_randomization isolated dev_mode utf8_mode warn_default_encoding safe_path "
        "int_max_str_digits gil thread_inherit_context context_aware_warnings lazy_imports".split())
    n_fields = n_sequence_fields = len(names)
    n_unnamed_fields = 0
    __match_args__ = names

    def __repr__(self):
        return "sys.flags(" + ", ".join(f"{n}={v!r}" for n, v in zip(Flags.names, self)) + ")"


for _at, _name in enumerate(Flags.names):
    setattr(Flags, _name, property(operator.itemgetter(_at)))


class Options:
    """What to run (`kind`: command, module, script, stdin, version or help), and how."""

    def __init__(self):
        self.kind = "stdin"
        self.target = None
        self.arguments = []
        self.counts = {}
        self.warnings = []
        self.x_options = {}
        self.unbuffered = False
        self.isolated = False
        self.safe_path = False
        self.skip_first_line = False
        self.version_count = 0
        self.dev_mode = self.fault_handler = False
        self.int_max_str_digits = self.cpu_count = self.traced_frames = self.lazy_imports = self.pycache_prefix = None  # settings.py

    def count(self, name):
        return self.counts.get(name, 0)

    @property
    def changed(self):
        return bool(self.counts or self.isolated or self.safe_path or self.x_options or self.dev_mode or self.int_max_str_digits is not None
                    or self.lazy_imports)

    def flags(self):
        isolated = int(self.isolated)
        values = {name: self.counts.get(name, 0) for name in Flags.names}
        values["ignore_environment"] = int(bool(values["ignore_environment"]) or isolated)
        values["no_user_site"] = int(bool(values["no_user_site"]) or isolated)
        values["isolated"] = isolated
        values["safe_path"] = bool(self.safe_path or isolated)
        values["interactive"] = values["inspect"]
        for name in ("debug", "dont_write_bytecode", "inspect", "no_user_site"):
            values[name] = int(bool(values[name]))
        values["dev_mode"] = self.dev_mode
        values["utf8_mode"] = 1
        values["int_max_str_digits"] = 4300 if self.int_max_str_digits is None else self.int_max_str_digits
        values["gil"] = 1
        values["lazy_imports"] = 1 if self.lazy_imports == "all" else getattr(_own_flags, "lazy_imports", 0)
        return Flags(values[name] for name in Flags.names)


def parse(argv):
    """Options of argv[1:]."""
    options = Options()
    at = 1
    while at < len(argv):
        word = argv[at]
        if word == "-":
            options.arguments = argv[at:]
            return options
        if not word.startswith("-"):
            break
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            if word == "--version":
                options.version_count += 1
                options.kind = "version"
            elif word in ("--help", "--help-all", "--help-env", "--help-xoptions"):
                options.kind = "help"
            elif word == "--check-hash-based-pycs":
                at += 1
            else:
                raise UsageError(f"Unknown option: {word}")
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in "cmWX":
                if letters:
                    value = letters
                elif at < len(argv):
                    value = argv[at]
                    at += 1
                else:
                    raise UsageError(f"Argument expected for the -{letter} option")
                letters = ""
                if letter == "W":
                    options.warnings.append(value)
                elif letter == "X":
                    name, _, text = value.partition("=")
                    options.x_options[name] = text if _ else True
                else:
                    options.kind = "command" if letter == "c" else "module"
                    options.target = value
                    options.arguments = ["-" + letter] + argv[at:]
                    return options
            elif letter == "u":
                options.unbuffered = True
            elif letter == "I":
                options.isolated = True
            elif letter == "P":
                options.safe_path = True
            elif letter == "x":
                options.skip_first_line = True
            elif letter == "V":
                options.version_count += 1
                options.kind = "version"
            elif letter in "h?":
                options.kind = "help"
            elif letter in _SIMPLE:
                name = _SIMPLE[letter]
                options.counts[name] = options.counts.get(name, 0) + 1
            elif letter != "R":
                raise UsageError(f"Unknown option: -{letter}")
    if options.kind in ("version", "help"):
        return options
    if at < len(argv):
        options.kind = "script"
        options.target = argv[at]
        options.arguments = argv[at:]
    else:
        options.arguments = [""]
    return options
