"""The password database, read from /etc/passwd."""
import operator


class struct_passwd(tuple):
    """(name, password, uid, gid, gecos, home, shell)"""

    pw_name = property(lambda self: self[0])
    pw_passwd = property(lambda self: self[1])
    pw_uid = property(lambda self: self[2])
    pw_gid = property(lambda self: self[3])
    pw_gecos = property(lambda self: self[4])
    pw_dir = property(lambda self: self[5])
    pw_shell = property(lambda self: self[6])

    def __repr__(self):
        names = ("pw_name", "pw_passwd", "pw_uid", "pw_gid", "pw_gecos", "pw_dir", "pw_shell")
        return "pwd.struct_passwd(" + ", ".join(f"{n}={v!r}" for n, v in zip(names, self)) + ")"


def getpwall():
    entries = []
    try:
        with open("/etc/passwd", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.rstrip("\n").split(":")
                if len(fields) == 7 and fields[2].isdigit() and fields[3].isdigit():
                    entries.append(struct_passwd((*fields[:2], int(fields[2]), int(fields[3]), *fields[4:])))
    except OSError:
        pass
    return entries


def getpwnam(name, /):
    if not isinstance(name, str):
        raise TypeError(f"getpwnam() argument must be str, not {type(name).__name__}")
    for entry in getpwall():
        if entry.pw_name == name:
            return entry
    raise KeyError(f"getpwnam(): name not found: {name!r}")


def getpwuid(uid, /):
    uid = operator.index(uid)
    for entry in getpwall():
        if entry.pw_uid == uid:
            return entry
    raise KeyError(f"getpwuid(): uid not found: {uid}")
