# SPDX-License-Identifier: Apache-2.0
# The modules of a session in the image's own Python: those of the other engine's interpreter, and
# for what they take from its other rooms the few in the folder `rooms`. They come as texts.
import json
import sys
from importlib.machinery import ModuleSpec

_FOLDER = '/usr/lib/cloche/python/'


class _Rooms:
    def __init__(self, texts):
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        if name not in self.texts:
            return None
        is_package = any(other.startswith(name + '.') for other in self.texts)
        origin = _FOLDER + name.replace('.', '/') + ('/__init__.py' if is_package else '.py')
        spec = ModuleSpec(name, self, origin=origin, is_package=is_package)
        spec.has_location = True
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        code = compile(self.texts[module.__name__], module.__spec__.origin, 'exec', dont_inherit=True)
        exec(code, module.__dict__)


def open_session(texts, port):
    """The module of a session, which speaks with its host by that descriptor."""
    sys.meta_path.insert(0, _Rooms(json.loads(texts)))
    from _cloche.sessions import native
    native.open_session(port)
    return native
