"""The interpreter with the extensions of userland/python/extensions.py and the Rust code of userland/python/rust_extensions.py in it.

Their data lies behind the memory that the module begins with, which then begins larger: what the C library gives out comes from there on.
Modules are found by the interpreter's own table of built-in modules, which was copied when it started: it goes on in a longer one.
"""
import re

import extensions
import floats_patch
import indices_patch
import random_patch
import rust_extensions
import sizes_patch
from interpreter_data import InterpreterData
from wasm_link import append
from wasm_module import CALL, CONST, DATA, GET, LEB, LOAD, PAGE, TEE, PatchError, encode, encode_signed, once, uleb, with_locals
from wasm_text import assemble

# Functions that have the lock of a buffered file.
BUFFERED = """_buffered_readline _enter_buffered_busy _io__Buffered_close _io__Buffered_read _io__Buffered_peek _io__Buffered_read1
_buffered_readinto_generic _io__Buffered_seek _io__Buffered_truncate _io_BufferedWriter_write _io__Buffered_flush""".split()
# Functions that ask whether a connection of sqlite3 is this thread's.
CONNECTIONS = """pysqlite_check_thread pysqlite_connection_init pysqlite_connection_call pysqlite_connection_backup pysqlite_connection_close
pysqlite_connection_commit_impl pysqlite_connection_create_aggregate_impl pysqlite_connection_create_collation
pysqlite_connection_create_function pysqlite_connection_cursor_impl pysqlite_connection_rollback_impl pysqlite_connection_set_authorizer
pysqlite_connection_set_progress_handler_impl pysqlite_connection_set_trace_callback setlimit_impl serialize deserialize
create_window_function_impl blobopen_impl setconfig getconfig_impl get_autocommit set_autocommit""".split()
ROOM = 4096  # bytes for the table
ENTRY = 8  # bytes: the name's address, the function that begins the module


def table_of_modules(module, data):
    """The word with its address, and its content without the end."""
    load = once(re.escape(CONST) + LEB + re.escape(LOAD) + LEB + re.escape(TEE) + rb"." + re.escape(LOAD + b"\0"), module.body("_imp_is_builtin"),
                "the table of built-in modules")
    word = uleb(load[1], 0)[0] + uleb(load[2], 0)[0]
    start = at = data.word(word)
    while data.word(at):
        at += ENTRY
    if not 10 < (at - start) // ENTRY < 1000:
        raise PatchError("the table of built-in modules is not where it is expected")
    return word, bytes(data.memory[start:at])


def register(module, data, begins, address):
    """Adds modules to the table: `begins` tells their functions' places in the table of functions. The table lies at `address`."""
    word, entries = table_of_modules(module, data)
    names = b""
    names_at = address + len(entries) + ENTRY * (len(begins) + 1)
    for name, function in begins.items():
        entries += (names_at + len(names)).to_bytes(4, "little") + function.to_bytes(4, "little")
        names += name.encode() + b"\0"
    content = entries + bytes(ENTRY) + names
    if len(content) > ROOM:
        raise PatchError(f"the table of built-in modules has {len(content)} bytes, and there is room for {ROOM}")
    module.more(DATA, 1, b"\0" + CONST + encode_signed(address) + b"\x0b" + encode(len(content)) + content)
    module.put(word, module.at(word, 4), address.to_bytes(4, "little"))


def waits(module, functions):
    """What may have to wait begins with userland/python/extensions/waits.c."""
    for name, count, function, words in (("_Py_read", 3, "cloche_before_read", "local.get 0; call FUNCTION; if; i32.const FAILED; return; end"),
                                         ("_Py_write", 3, "cloche_write",
                                          """local.get 0; local.get 1; local.get 2; call FUNCTION; local.tee result
                                             i32.const AS_USUAL; i32.ne; if; local.get result; return; end"""),
                                         ("_io_open", 4, "cloche_open",
                                          """local.get 0; local.get 1; local.get 2; local.get 3; call FUNCTION; local.tee result
                                             if; i32.const 0; local.get result; local.get result; i32.const 1; i32.eq; select; return; end"""),
                                         ("PyOS_Readline", 3, "cloche_reader", "call FUNCTION; if; i32.const 0; return; end"),
                                         ("PyOS_StdioReadline", 3, "cloche_before_line",
                                          """local.get 2; call FUNCTION; local.tee result
                                             if; local.get result; i32.const 0; i32.lt_s; if; i32.const 0; return; end
                                             i32.const 0; local.set 2; end"""),
                                         ("attachFunc", 3, "cloche_before_attach",
                                          "local.get 0; local.get 1; local.get 2; call FUNCTION")):
        body, result, start = with_locals(module.body(name), count, 1)
        first = assemble(words, FUNCTION=functions[function], result=result, FAILED=-1, AS_USUAL=-2)
        module.change(name, body[:start] + first + body[start:])


def files(module, functions):
    """A buffered file knows which thread has it, and others wait for that one; a connection of sqlite3 whose it is."""
    ident = CALL + encode(module.index("PyThread_get_thread_ident"))
    busy = "_enter_buffered_busy"
    owner = once(re.escape(GET + b"\0" + CONST) + LEB + re.escape(b"\x6a" + LOAD + b"\0" + ident), module.body(busy), "the thread that has a file")
    for name in BUFFERED + CONNECTIONS:
        body = module.body(name)
        if ident not in body:
            raise PatchError(f"{name} does not ask for its thread")
        module.change(name, body.replace(ident, CALL + encode(functions["cloche_thread"])))
    body, _, start = with_locals(module.body(busy), 1, 0)
    wait = assemble("local.get 0; i32.const OWNER; i32.add; call FUNCTION; if; i32.const 0; return; end", OWNER=uleb(owner[1], 0)[0],
                    FUNCTION=functions["cloche_before_lock"])
    module.change(busy, body[:start] + wait + body[start:])


def databases(module, functions):
    """SQLite locks its files by userland/python/extensions/databases.c, which knows where a file's level and descriptor are."""
    once(re.escape(assemble("local.get 0; i32.load8_u 16")), module.body("dotlockCheckReservedLock"), "the level of a lock of SQLite's")
    once(re.escape(GET + b"\0" + LOAD + b"\x0c"), module.body("unixCheckReservedLock"), "the descriptor of a file of SQLite's")
    lock, unlock, reserved = (functions[f"cloche_database_{name}"] for name in ("lock", "unlock", "reserved"))
    for name, function in {"dotlockLock": lock, "dotlockUnlock": unlock, "dotlockCheckReservedLock": reserved}.items():
        module.change(name, b"\0" + assemble("local.get 0; local.get 1; call FUNCTION; end", FUNCTION=function))
    body, _, start = with_locals(module.body("dotlockClose"), 1, 0)
    module.change("dotlockClose", body[:start] + assemble("local.get 0; i32.const 0; call UNLOCK; drop", UNLOCK=unlock) + body[start:])


def patch(module):
    data = InterpreterData(module)
    base = module.pages() * PAGE
    added = append(module, extensions.linked(module.table_size(), base + ROOM), data.address)
    begins = {name: added.table[function] for name, function in extensions.modules().items()}
    rust = append(module, rust_extensions.linked(module.table_size(), module.pages() * PAGE), data.address)
    begins |= {name: rust.table[function] for name, function in rust_extensions.modules().items()}
    register(module, data, begins, base)
    waits(module, added.functions)
    files(module, added.functions)
    databases(module, added.functions)
    floats_patch.patch(module, added.functions)
    indices_patch.patch(module, added.functions)
    sizes_patch.patch(module, added.functions)
    random_patch.widen(module)
