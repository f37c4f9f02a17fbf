"""What recurs through C code without a look at the stack: an iterator that asks another one, a hash of what is hashed itself, generators
that close each other.

CPython sees how deep it is by the place of the stack, where some functions of C ask (PyObject_Repr, the interpreter's loop). Between those
others call each other through the slots of types and never ask; here many of them take nothing of that stack either, but only the
machine's, which ends the process. So they ask, and each level takes ROOM of the stack, so that the machine's holds what fits.
"""
import re

from wasm_module import CONST, LEB, LOAD, TEE, PatchError, once, uleb
from wasm_text import assemble

ROOM = 32
# What closes a generator runs it, even at the last level.
RUN = 2048
NOTHING, FAILED = 0, -1
WHERE = b" while calling a Python object\0"
# Function: (parameters, what it returns with an exception, what has to be left of the stack).
FUNCTIONS = {
    **{name: (1, NOTHING, ROOM) for name in (
        "accumulate_next", "batched_next", "chain_next", "compress_next", "cycle_next", "dropwhile_next", "enum_next", "filter_next",
        "filterfalse_next", "groupby_next", "_grouper_next", "islice_next", "map_next", "pairwise_next", "reversed_next", "starmap_next",
        "takewhile_next", "tee_next", "zip_next", "zip_longest_next", "Reader_iternext", "mappingproxy_getiter")},
    **{name: (1, FAILED, ROOM) for name in (
        "frozendict_hash", "ga_hash", "mappingproxy_hash", "method_hash", "slice_hash", "tuple_hash", "union_hash", "mappingproxy_len")},
    **{name: (2, NOTHING, ROOM) for name in ("ga_getattro", "method_getattro", "mappingproxy_getitem", "mappingproxy_or")},
    "mappingproxy_contains": (2, FAILED, ROOM),
    **{name: (3, NOTHING, ROOM) for name in ("ga_call", "sm_call")},
    **{name: (3, FAILED, ROOM) for name in ("object_issubclass", "object_recursive_isinstance", "picklebuf_getbuf")},
    **{name: (4, NOTHING, ROOM) for name in ("ga_vectorcall", "method_vectorcall")},
    "gen_close_iter": (1, FAILED, RUN),
    "_gen_throw": (5, NOTHING, RUN),
}
BEFORE = """
    global.get 0; local.tee here; i32.const LEFT; i32.sub
    i32.const 0; i32.load THREAD; local.tee thread; i32.load LIMIT
    i32.lt_u; if
      local.get thread; i32.const WHERE; call CHECK; if; i32.const RESULT; return; end
    end
    local.get here; i32.const ROOM; i32.sub; global.set 0
"""
AFTER = "; call COPY; local.get here; global.set 0; end"


def patch(module):
    asks = once(re.escape(CONST + b"\0" + LOAD) + LEB + re.escape(TEE) + rb"." + re.escape(CONST) + LEB + rb"\x6a" + re.escape(LOAD + b"\0"),
                module.body("Py_EnterRecursiveCall"), "the limit of a thread's stack")
    places = module.addresses_of(WHERE)
    if not places:
        raise PatchError("no call says where a stack ends")
    words = {"THREAD": uleb(asks[1], 0)[0], "LIMIT": uleb(asks[2], 0)[0], "WHERE": places[0], "CHECK": module.index("_Py_CheckRecursiveCall"), "ROOM": ROOM}
    for name, (parameters, result, left) in FUNCTIONS.items():
        index = module.index(name)
        copy = module.copied(index, name)
        arguments = "; ".join(f"local.get {i}" for i in range(parameters))
        module.changed[index] = b"\1\2\x7f" + assemble(BEFORE + arguments + AFTER, here=parameters, thread=parameters + 1, LEFT=left, RESULT=result,
                                                       COPY=copy, **words)
