"""numpy warns of divisions by zero, overflow and invalid values in floats: userland/python/extensions/floats.c sees them by the results.

Loops of ufuncs are called in one place, which that file takes; products of arrays and `ufunc.at` are products.c's. The operations with single numbers go on with it: the function itself,
whose address others compare with, calls a copy of it and then that file.

frexp gives 0 for the exponent of what is no finite number, as glibc does; the C library here would leave it as it was. Its acosf gives a
half of pi for 0 and pi for -1 that are not the nearest floats.
"""
from wasm_module import CALL, PatchError, encode, with_locals
from wasm_text import assemble

# In the order of floats.c.
OPERATIONS = ("add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "power", "divmod")
COMPLEX = ("add", "subtract", "multiply", "true_divide", "power")
INTEGERS = "byte ubyte short ushort int uint long ulong longlong ulonglong".split()  # of which a quotient is a float
PARAMETERS = {"power": 3}
LINES = {"HALF_dot": 23, "FLOAT_dot": 11, "DOUBLE_dot": 12, "LONGDOUBLE_dot": 13, "CFLOAT_dot": 14, "CDOUBLE_dot": 15, "CLONGDOUBLE_dot": 16}
WHOLE = ("matvec", "vecdot", "vecmat", "matmul")  # loops of ufuncs that are products
AT = ("add", "subtract", "multiply", "divide")


def _functions(module):
    """(index, name, number of the operation) of each."""
    # Names that CPython has too: numpy's come with its others, between these.
    first, last = module.index("byte_add"), module.index("clongdouble_true_divide")
    kinds = [*((kind, OPERATIONS) for kind in ("half", "float", "double", "longdouble")),
             *((kind, COMPLEX) for kind in ("cfloat", "cdouble", "clongdouble"))]
    for kind, operations in [*kinds, *((kind, ("true_divide",)) for kind in INTEGERS)]:
        for operation in operations:
            name = f"{kind}_{operation}"
            found = [index for index in module.names.get(name.encode(), []) if first <= index <= last]
            if len(found) != 1:
                raise PatchError(f"numpy has {len(found)} functions {name}")
            yield found[0], name, OPERATIONS.index(operation)


def exponents(module):
    for name, parameters in (("frexp", 2), ("frexpf", 2), ("frexpl", 4)):
        body, _, start = with_locals(module.body(name), parameters, 0)
        module.change(name, body[:start] + assemble("local.get PLACE; i32.const 0; i32.store", PLACE=parameters - 1) + body[start:])


def single(bits):
    """The instruction that gives a float of 32 bits."""
    return b"\x43" + bits.to_bytes(4, "little")


def angles(module):
    """A half of pi for what is next to 0, which is kept in a local, and for -1 pi, which stands behind the 0 that is for 1."""
    body = module.body("acosf")
    for before, near, after in ((b"", 0x3FC90FDA, b"\x21"), (single(0), 0x40490FDA, b"")):
        if body.count(before + single(near) + after) != 1:
            raise PatchError("acosf is not as expected")
        body = body.replace(before + single(near) + after, before + single(near + 1) + after)
    module.change("acosf", body)


def products(module, functions):
    """Products of two lines, and of arrays: numpy's functions, and a look at what they made (products.c)."""
    get = "; ".join(f"local.get {i}" for i in range(7))
    for name, number in LINES.items():
        index = module.index(name)
        copy = module.copied(index, name)
        module.changed[index] = b"\0" + assemble(f"{get}; call COPY; {get.rpartition(';')[0]}; i32.const NUMBER; call FUNCTION; end",
                                                 COPY=copy, NUMBER=number, FUNCTION=functions["cloche_dot"])
        # What a ufunc computes line by line is looked at as a whole.
        call, loops = CALL + encode(index), [f"{name.removesuffix('dot')}{loop}" for loop in WHOLE]
        if call not in module.body(loops[0]):
            raise PatchError(f"{loops[0]} does not multiply lines")
        for loop in loops:
            module.change(loop, module.body(loop).replace(call, CALL + encode(copy)))
    index = module.index("cblas_matrixproduct")
    module.changed[index] = b"\0" + assemble("""local.get 1; local.get 2; call BEFORE; local.get 0; local.get 1; local.get 2; local.get 3; call COPY
                                               local.get 0; local.get 1; local.get 2; call FUNCTION; end""",
                                             COPY=module.copied(index, "cblas_matrixproduct"), BEFORE=functions["cloche_before_product"],
                                             FUNCTION=functions["cloche_product"])
    for kind in ("double", "float"):
        for operation in AT:
            module.change(f"{kind.upper()}_{operation}_indexed",
                          b"\0" + assemble("local.get 0; local.get 1; local.get 2; local.get 3; local.get 4; call FUNCTION; end",
                                           FUNCTION=functions[f"cloche_{operation}_at_{kind}"]))


def orders(module, functions):
    """Before a ufunc is made: orders.c."""
    name = "PyUFunc_FromFuncAndDataAndSignatureAndIdentity"
    body, _, start = with_locals(module.body(name), 12, 0)
    module.change(name, body[:start] + assemble("local.get 0; local.get 1; local.get 2; local.get 3; local.get 4; local.get 5; call FUNCTION",
                                                FUNCTION=functions["cloche_before_ufunc"]) + body[start:])


def patch(module, functions):
    exponents(module)
    angles(module)
    orders(module, functions)
    products(module, functions)
    loop = "generic_wrapped_legacy_loop"
    if module.body(loop).count(b"\x28\x02\x10") != 1:
        raise PatchError(f"{loop} is not as expected")
    module.change(loop, b"\0" + assemble("local.get 0; local.get 1; local.get 2; local.get 3; local.get 4; call FUNCTION; end",
                                         FUNCTION=functions["cloche_loop"]))
    for index, name, operation in _functions(module):
        copy = module.copied(index, name)
        arguments = "; ".join(f"local.get {i}" for i in range(PARAMETERS.get(name.split("_", 1)[1], 2)))
        module.changed[index] = b"\0" + assemble(f"{arguments}; call COPY; local.get 0; local.get 1; i32.const OPERATION; call FUNCTION; end",
                                                 COPY=copy, OPERATION=operation, FUNCTION=functions["cloche_number"])
