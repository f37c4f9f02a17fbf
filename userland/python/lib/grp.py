"""The group database, read from /etc/group."""
import operator


class struct_group(tuple):
    """(name, password, gid, members)"""

    gr_name = property(lambda self: self[0])
    gr_passwd = property(lambda self: self[1])
    gr_gid = property(lambda self: self[2])
    gr_mem = property(lambda self: self[3])

    def __repr__(self):
        names = ("gr_name", "gr_passwd", "gr_gid", "gr_mem")
        return "grp.struct_group(" + ", ".join(f"{n}={v!r}" for n, v in zip(names, self)) + ")"


def getgrall():
    entries = []
    try:
        with open("/etc/group", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.rstrip("\n").split(":")
                if len(fields) == 4 and fields[2].isdigit():
                    members = [name for name in fields[3].split(",") if name]
                    entries.append(struct_group((fields[0], fields[1], int(fields[2]), members)))
    except OSError:
        pass
    return entries


def getgrnam(name):
    for entry in getgrall():
        if entry.gr_name == name:
            return entry
    raise KeyError(f"getgrnam(): name not found: {name!r}")


def getgrgid(id):
    id = operator.index(id)
    for entry in getgrall():
        if entry.gr_gid == id:
            return entry
    raise KeyError(f"getgrgid(): gid not found: {id}")
