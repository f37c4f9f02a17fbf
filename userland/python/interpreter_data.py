"""Where the interpreter's own data lies, by the names that C code has for it.

The module has names for its functions and none for its data. Its memory tells: an object has the address of its class at a fixed place,
a class that of its name, and what there is one of is found by its class.
"""
import re
from array import array

from wasm_module import CONST, LEB, LOAD, PAGE, PatchError, once, uleb

CLASS, NAME, DIGIT = 4, 12, 12  # places of an object's class, a class's name, a small number's digit
IMMORTAL = 1 << 30  # counts of references from here on are left alone
CLASSES = {f"Py{name}_Type": kind for name, kind in {
    "BaseObject": "object", "Bool": "bool", "ByteArray": "bytearray", "Bytes": "bytes", "Complex": "complex", "Dict": "dict", "Float": "float",
    "FrozenDict": "frozendict", "FrozenSet": "frozenset", "Function": "function", "List": "list", "Long": "int", "MemoryView": "memoryview",
    "Module": "module", "Set": "set", "Slice": "slice", "Tuple": "tuple", "Type": "type", "Unicode": "str",
}.items()}
EXCEPTION = "_PyExc_"  # the class of the exception; C code knows a pointer to it as PyExc_...
SINGLE = {"_Py_EllipsisObject": "ellipsis", "_Py_NoneStruct": "NoneType", "_Py_NotImplementedStruct": "NotImplementedType"}
TRUTH = {"_Py_FalseStruct": 0, "_Py_TrueStruct": 1}
ERRNO = ("cloche_errno", "errno")


class InterpreterData:
    def __init__(self, module):
        self.module = module
        memory = bytearray(module.pages() * PAGE)
        for base, at, length in module.segments():
            memory[base:base + length] = module.data[at:at + length]
        self.memory = memory
        words = array("I", memory)
        itself = [4 * i - CLASS for i, word in enumerate(words) if word == 4 * i - CLASS]
        self.type = self._only([at for at in itself if self._name(at) == b"type"], "the class type")
        self.classes = {}
        for at in self._of_class(self.type):
            self.classes.setdefault(self._name(at), []).append(at)

    def word(self, at):
        return int.from_bytes(self.memory[at:at + 4], "little")

    def _name(self, kind):
        start = self.word(kind + NAME)
        return bytes(self.memory[start:self.memory.find(b"\0", start, start + 64)])

    def _only(self, found, what):
        if len(found) != 1:
            raise PatchError(f"the interpreter has {len(found)} of {what}")
        return found[0]

    def _of_class(self, kind):
        """Addresses of what is immortal and of a class."""
        content, found = kind.to_bytes(4, "little"), []
        at = self.memory.find(content)
        while at >= 0:
            if at % 4 == 0 and IMMORTAL <= self.word(at - CLASS) < IMMORTAL << 1:
                found.append(at - CLASS)
            at = self.memory.find(content, at + 1)
        return found

    def _class(self, name):
        return self._only(self.classes.get(name.encode(), []), f"the class {name}")

    def address(self, name):
        """Of what C code calls by this name."""
        if name in CLASSES:
            return self._class(CLASSES[name])
        if name.startswith(EXCEPTION):
            return self._class(name.removeprefix(EXCEPTION))
        if name in SINGLE:
            return self._only(self._of_class(self._class(SINGLE[name])), name)
        if name in TRUTH:
            return self._only([at for at in self._of_class(self._class("bool")) if self.word(at + DIGIT) == TRUTH[name]], name)
        if name in ERRNO:
            function = "PyErr_SetFromErrnoWithFilenameObjects"
            load = once(re.escape(CONST + b"\0" + LOAD) + LEB + rb"(?=[\x22\x36\x2d])", self.module.body(function), function)
            return uleb(load[1], 0)[0]
        raise PatchError(f"nothing is known of the interpreter's {name}")
