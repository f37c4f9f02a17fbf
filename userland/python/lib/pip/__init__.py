"""pip, as far as it makes sense where packages come with the sandbox: the registry's packages are linked into place at once, and
pure-Python wheels are installed from files. It is this project's own program with pip's commands, options and words.
"""
from ._version import __version__  # noqa: F401


def main(arguments=None):
    """Runs a command line; the exit status."""
    from ._cli import run
    return run(arguments)
