"""sqlite3: databases in WAL mode.

The interpreter's SQLite has no memory that processes share, where the index of a write-ahead log would be. It does without when one
connection holds the database, if it is told so before it looks at it.
"""
import functools
import os

_AT, _WAL = 18, b"\2\2"  # the versions of the file's format for writing and reading


def _file(database, uri):
    """The name of the file, or nothing: in memory, a temporary one."""
    name = os.fsdecode(database)
    if uri and name.startswith("file:"):
        from urllib.parse import unquote
        name = unquote(name[5:].partition("#")[0].partition("?")[0])
        if name.startswith("//"):
            name = "/" + name[2:].partition("/")[2]
    return "" if name == ":memory:" else name


def _in_wal_mode(database, uri):
    try:
        with open(_file(database, uri), "rb") as file:
            return file.read(_AT + len(_WAL))[_AT:] == _WAL
    except (OSError, TypeError, ValueError):
        return False  # SQLite says what is wrong


def install():
    import sqlite3
    from sqlite3 import dbapi2
    inner = sqlite3.connect

    @functools.wraps(inner)
    def connect(*args, **kwargs):
        connection = inner(*args, **kwargs)
        database = args[0] if args else kwargs["database"]
        if _in_wal_mode(database, kwargs.get("uri", False)):
            sqlite3.Cursor(connection).execute("PRAGMA locking_mode = exclusive").close()
        return connection

    sqlite3.connect = dbapi2.connect = connect
