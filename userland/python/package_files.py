"""What a package whose compiled code is linked into the interpreter has beside that code, laid as a wheel is."""
import shutil
from email.parser import Parser
from pathlib import Path


def keep(source, part, target, licences=None):
    """Of an unpacked source archive. `part` is what its recipe says of it, `licences` are texts of what it is made of, by their files."""
    metadata = (source / "PKG-INFO").read_text()
    named = Parser().parsestr(metadata, headersonly=True)
    info = target / f"{named['Name'].replace('-', '_')}-{named['Version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(metadata)
    for licence in sorted(source.glob("LICENSE*")):
        shutil.copy(licence, info)
    for name, text in (licences or {}).items():
        (info / name).write_text(text)
    if "python" in part:
        for folder in (part["python"], *part.get("beside", ())):
            shutil.copytree(source / folder, target / Path(folder).name)
    else:  # as maturin does it where a package is compiled code alone
        module = next(iter(part["modules"])).rpartition(".")[2]
        (target / module).mkdir()
        (target / module / "__init__.py").write_text(
            f"from .{module} import *\n\n__doc__ = {module}.__doc__\nif hasattr({module}, \"__all__\"):\n    __all__ = {module}.__all__\n")
    names = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in [*names, f"{info.name}/RECORD"]))
