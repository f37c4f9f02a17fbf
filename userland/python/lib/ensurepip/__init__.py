"""pip is always there; in a virtual environment its programs are written."""
import os
import sys


def version():
    import pip
    return pip.__version__


def write_programs(folder):
    for name in ("pip", "pip3", "pip3.15"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{os.path.join(folder, 'python3')}\nimport sys\nfrom pip import main\nsys.exit(main())\n")
        os.chmod(path, 0o755)


def bootstrap(*, root=None, upgrade=False, user=False, altinstall=False, default_pip=False, verbosity=0):
    if sys.prefix != sys.base_prefix:
        write_programs(os.path.join(sys.prefix, "bin"))
    if verbosity >= 0:
        print(f"Requirement already satisfied: pip in {os.path.dirname(os.path.dirname(__file__))} ({version()})")
