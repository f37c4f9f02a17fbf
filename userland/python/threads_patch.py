"""Threads of the interpreter: what its C library refuses becomes a request to the host.

The host gives each thread a stack: another instance of this module over the same memory (src/python/interpreter_threads.h). For that
`pthread_create` asks the host for one, a wait for a condition lets other threads run, and so has SQLite's wait for a lock, a new
thread's limit of recursion is that of its own stack, and the host can call what it needs: the start of a thread, the change of the
current one, the place of the stack.
"""
import re

from wasm_module import CALL, CONST, GET, LEB, LOAD, TEE, PatchError, encode, once, with_locals
from wasm_text import assemble

# What recurs through C code has so many bytes of the 1 MiB of a thread's stack (src/python/interpreter_threads.cc), and the main thread of its
# 16 MiB: what takes the least of them for a level, with 16 (json, comparisons), has some 300 for it on the machine's stack of 16 MiB.
RECURSION = 640 << 10
# What frees a container within others has so many bytes for a level: at the limit CPython keeps what is left for later.
FREED = 64
EXPORTS = {"cloche_thread_start": "pythread_wrapper", "cloche_thread_swap": "PyThreadState_Swap"}
STACK_POINTER = "__stack_pointer"
I32_OR, I32_ADD, I32_SUB, DROP, END, STORE, SET = b"\x72", b"\x6a", b"\x6b", b"\x1a", b"\x0b", b"\x36\x02", b"\x21"
SP_GET, SP_SET = b"\x23\x00", b"\x24\x00"
BR_IF_0 = b"\x0d\x00"
FRAME = 32
CLOCK_OF_CONDITION = 16  # where a pthread_cond_t has it
MONOTONIC = 1
# In a connection of SQLite's how often it has found a database locked, with a bit that says that it waits for that; and where a
# sqlite3.Connection has it.
TIMES_BUSY, WAITS, CONNECTION = 464, 1 << 30, 8
NAP_NS = 500_000
EAGAIN = 6  # WASI's
ROOM = 64


def signed(value):
    """A constant, padded as linkers write them."""
    return CONST + bytes([value >> 7 * i & 0x7F | 0x80 for i in range(4)] + [value >> 28 & 0x7F])


def request(module, magic, words, local):
    """Calls the host with a frame on the stack: the magic, then the locals `words`. The status is left on the stack, and the frame is
    at `local`, below the stack pointer by then."""
    code = SP_GET + signed(FRAME) + I32_SUB + TEE + bytes([local]) + SP_SET
    code += GET + bytes([local]) + signed(int.from_bytes(magic, "little")) + STORE + b"\0"
    for at, word in enumerate(words):
        code += GET + bytes([local]) + GET + bytes([word]) + STORE + bytes([4 * at + 4])
    here = GET + bytes([local])
    code += here + signed(16) + here + signed(24) + I32_ADD + here + signed(28) + I32_ADD + module.call("host_door_call")
    return code + here + signed(FRAME) + I32_ADD + SP_SET


def patch(module):
    # pthread_create(thread, attributes, function, argument)
    body, frame, _ = with_locals(b"\0", 4, 1)
    # Threads of others than CPython there are none of: the host starts them by its function.
    body += assemble("local.get 2; i32.const PLACE; i32.ne; if; i32.const EAGAIN; return; end",
                     PLACE=module.place_of(EXPORTS["cloche_thread_start"]), EAGAIN=EAGAIN)
    # The answer is the thread's number, or 0, in the place of the argument.
    body += request(module, b"thr0", [3], frame) + DROP
    body += GET + b"\0" + GET + bytes([frame]) + b"\x28\x02\x04" + STORE + b"\0"
    body += GET + bytes([frame]) + b"\x28\x02\x04" + b"\x45" + END  # i32.eqz: whether it failed
    module.change("__pthread_create", body)
    # pthread_cond_timedwait(condition, mutex, time): others run, or the process waits for that time by the condition's clock; then the
    # caller looks again.
    body, frame, _ = with_locals(b"\0", 3, 2)
    clock = frame + 1
    body += GET + b"\0" + LOAD + bytes([CLOCK_OF_CONDITION]) + SET + bytes([clock])
    body += GET + b"\1" + module.call("__pthread_mutex_unlock") + DROP
    body += request(module, b"yld0", [clock, 2], frame) + DROP
    body += GET + b"\1" + module.call("__pthread_mutex_lock") + DROP + CONST + b"\0" + END
    module.change("__pthread_cond_timedwait", body)
    sqlite_sleep(module)
    sqlite_busy(module)
    limits(module)
    frees(module)
    for exported, name in EXPORTS.items():
        module.export(exported, 0, module.index(name))
    module.export(STACK_POINTER, 3, 0)


def sqlite_sleep(module):
    """unixSleep(vfs, microseconds): others have turns until that is over, and where all of them wait too the process sleeps a little."""
    body, room, _ = with_locals(b"\0", 2, 4)
    frame, clock, moment = room + 1, room + 2, room + 3
    words = {"room": room, "clock": clock, "moment": moment, "microseconds": 1, "NOW": 0, "END": 8, "SECONDS": 16, "NANOSECONDS": 24, "NAP": 32,
             "ROOM": ROOM, "MONOTONIC": MONOTONIC, "NAP_NS": NAP_NS, "TIME": module.index("__wasi_clock_time_get"), "SLEEP": module.index("nanosleep")}
    look = "i32.const MONOTONIC; i64.const 1; local.get room; call TIME; drop"
    body += assemble(f"""
        global.get 0; i32.const ROOM; i32.sub; local.tee room; global.set 0
        {look}
        local.get room; local.get room; i64.load NOW; local.get microseconds; i64.extend_i32_u; i64.const 1000; i64.mul; i64.add; i64.store END
        local.get room; local.get room; i64.load END; i64.const 1000000000; i64.div_u; i64.store SECONDS
        local.get room; local.get room; i64.load END; i64.const 1000000000; i64.rem_u; i64.store NANOSECONDS
        local.get room; i64.const 0; i64.store NAP
        local.get room; i64.const NAP_NS; i64.store 40
        i32.const MONOTONIC; local.set clock
        local.get room; i32.const SECONDS; i32.add; local.set moment
        loop
    """, **words)
    body += request(module, b"yld0", [clock, moment], frame)
    body += assemble(f"""
            drop
            {look}
            local.get room; i64.load NOW; local.get room; i64.load END; i64.lt_u
            if
                local.get room; i32.const NAP; i32.add; i32.const 0; call SLEEP; drop
                br 1
            end
        end
        local.get room; i32.const ROOM; i32.add; global.set 0
        local.get microseconds
        end
    """, **words)
    module.change("unixSleep", body)


def sqlite_busy(module):
    """SQLite has no locks of its own here: while one thread waits within a connection, others that want the same one wait for it."""
    once(re.escape(assemble("i32.const 0; i32.store TIMES_BUSY", TIMES_BUSY=TIMES_BUSY).replace(b"\x36\x00", b"\x36\x02")),
         module.body("sqlite3_busy_timeout"), "a connection of SQLite's")
    name = "sqliteDefaultBusyCallback"
    body = module.body(name)
    asleep = once(re.escape(TEE) + rb"." + re.escape(GET) + rb"." + re.escape(CONST) + LEB + rb"\x6c" + re.escape(GET) + rb"."
                  + re.escape(LOAD) + rb"\x3c\x11" + LEB + LEB + rb"\x1a", body, "SQLite's wait for a lock")
    mark = "local.get 0; local.get 0; i32.load TIMES_BUSY; i32.const WAITS; i32.add; i32.store TIMES_BUSY"
    unmark = mark.replace("i32.add", "i32.sub")
    words = {"TIMES_BUSY": TIMES_BUSY, "WAITS": WAITS, "CONNECTION": CONNECTION}
    module.change(name, body[:asleep.start()] + assemble(mark, **words) + asleep[0] + assemble(unmark, **words) + body[asleep.end():])
    name = "pysqlite_check_thread"
    body, frame, start = with_locals(module.body(name), 1, 3)
    nothing, connection = frame + 1, frame + 2
    check = assemble("""
        loop
            local.get 0; i32.load CONNECTION; local.tee connection
            if
                local.get connection; i32.load TIMES_BUSY; i32.const WAITS; i32.ge_s
                if
    """, connection=connection, **words) + request(module, b"yld0", [nothing, nothing], frame) + assemble("drop; br 2; end; end; end")
    module.change(name, body[:start] + check + body[start:])


def limits(module):
    """The stack of each thread begins where it is: of the main one the C library knows 128 KiB alone, in which 200 calls through C code fit.
    That one's limits are in the interpreter's memory, and are measured anew when the boot image is made (extensions/waits.c)."""
    name = "_Py_InitializeRecursionLimits"
    body = module.body(name)
    asked = once(re.escape(CALL + encode(module.index("pthread_getattr_np"))) + re.escape(BR_IF_0), body, "the stack's place")
    body = body[:asked.end() - 2] + CONST + b"\1" + I32_OR + body[asked.end() - 2:]
    size = once(re.escape(CONST) + rb"\x80\xee\x8b\x7e", body, "the size of a stack")
    body = body[:size.start()] + signed(-RECURSION) + body[size.end():]
    module.change(name, body)


def frees(module):
    """Containers within containers are freed one by one from where the stack's limit is near, which CPython sees by the place of the stack. That
    stands still in most functions that free something, while the machine's stack grows."""
    name = "_Py_Dealloc"
    body = module.body(name)
    start = once(re.escape(b"\x23" + encode(0) + SET + b"\1"), body, "the look at the stack")
    if body.count(b"\x24" + encode(0)) != 2:
        raise PatchError(f"{name} does not put the stack back")
    lower = assemble("local.get 1; i32.const FREED; i32.sub; global.set 0", FREED=FREED)
    module.change(name, body[:start.end()] + lower + body[start.end():])
