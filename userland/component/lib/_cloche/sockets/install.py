"""Puts `_socket` and `ssl` in place. What the library has imported of `socket` by now is that module itself, which is read again."""
import importlib
import importlib.util
import socket
import sys
from pathlib import Path

from _cloche.sockets import connections


def install():
    sys.modules["_socket"] = connections
    importlib.reload(socket)
    place = importlib.util.spec_from_file_location("ssl", Path(__file__).with_name("tls.py"))
    sys.modules["ssl"] = module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
