"""sqlite3: databases in WAL mode.

The interpreter's SQLite has no memory that processes share, where the index of a write-ahead log would be. It does without when one
connection holds the database, if it is told so before it looks at it. So a database that may be written has its log put into it, and
another journal, before it is opened or attached; one that is only read is one connection's.
"""
import functools
import os

import _waits

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


def _wal_file(database, uri):
    """The name of the file, where that is in WAL mode."""
    try:
        name = _file(database, uri)
        with open(name, "rb") as file:
            return name if file.read(_AT + len(_WAL))[_AT:] == _WAL else ""
    except (OSError, TypeError, ValueError):
        return ""  # SQLite says what is wrong


def _is_read_only(database, uri):
    query = os.fsdecode(database).partition("?")[2] if uri else ""
    return "mode=ro" in query or "immutable=" in query


def install():
    import sqlite3
    from sqlite3 import dbapi2
    inner = sqlite3.connect

    def hold(connection):
        sqlite3.Cursor(connection).execute("PRAGMA locking_mode = exclusive").close()

    def leave_wal_mode(database, uri):
        file = _wal_file(database, uri)
        if not file or _is_read_only(database, uri) or not os.access(file, os.W_OK):
            return
        connection = inner(file, timeout=0)
        try:
            hold(connection)
            sqlite3.Cursor(connection).execute("PRAGMA journal_mode = delete").close()
        except sqlite3.Error:
            pass  # somebody holds it, or it is none
        finally:
            connection.close()

    @functools.wraps(inner)
    def connect(*args, **kwargs):
        if args or "database" in kwargs:
            database, uri = args[0] if args else kwargs["database"], kwargs.get("uri", False)
            leave_wal_mode(database, uri)
        connection = inner(*args, **kwargs)
        if _wal_file(database, uri):
            hold(connection)
        return connection

    sqlite3.connect = dbapi2.connect = connect
    _waits.set_attach(lambda name: leave_wal_mode(name, name.startswith("file:")))
