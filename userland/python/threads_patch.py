"""Threads of the interpreter: what its C library refuses becomes a request to the host.

The host gives each thread a stack: another instance of this module over the same memory (src/python/interpreter_threads.h). For that
`pthread_create` asks the host for one, a wait for a condition lets other threads run, a new thread's limit of recursion is that of its
own stack, and the host can call what it needs: the start of a thread, the change of the current one, the place of the stack.
"""
import re

from wasm_module import CALL, CONST, GET, LEB, LOAD, TEE, encode, once, with_locals

STACK = 1 << 20  # bytes of a thread's stack; src/python/interpreter_threads.cc takes so many
MARGIN = 1 << 16
MAIN_STACK_END = 16 << 20
EXPORTS = {"cloche_thread_start": "pythread_wrapper", "cloche_thread_swap": "PyThreadState_Swap"}
STACK_POINTER = "__stack_pointer"
I32_OR, I32_GE_U, I32_ADD, I32_SUB, DROP, END, STORE, SET = b"\x72", b"\x4f", b"\x6a", b"\x6b", b"\x1a", b"\x0b", b"\x36\x02", b"\x21"
SP_GET, SP_SET = b"\x23\x00", b"\x24\x00"
BR_IF_0 = b"\x0d\x00"
FRAME = 32
CLOCK_OF_CONDITION = 16  # where a pthread_cond_t has it


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
    limits(module)
    for exported, name in EXPORTS.items():
        module.export(exported, 0, module.index(name))
    module.export(STACK_POINTER, 3, 0)


def limits(module):
    """The stack of the main thread is what the C library knows; that of another one begins where it is."""
    name = "_Py_InitializeRecursionLimits"
    body = module.body(name)
    asked = once(re.escape(CALL + encode(module.index("pthread_getattr_np"))) + re.escape(BR_IF_0), body, "the stack's place")
    here = once(re.escape(TEE) + LEB + re.escape(CALL), body, "the stack pointer")
    local = here[1]
    body = (body[:asked.end() - 2] + GET + local + signed(MAIN_STACK_END) + I32_GE_U + I32_OR + body[asked.end() - 2:])
    size = once(re.escape(CONST) + rb"\x80\xee\x8b\x7e", body, "the size of a stack")
    body = body[:size.start()] + signed(-(STACK - MARGIN)) + body[size.end():]
    module.change(name, body)
