"""numpy warns of divisions by zero, overflow and invalid values in floats: userland/python/extensions/floats.c sees them by the results.

Loops of ufuncs are called in one place, which that file takes; products of arrays and `ufunc.at` are products.c's. The operations with single numbers go on with it: the function itself,
whose address others compare with, calls a copy of it and then that file.

frexp gives 0 for the exponent of what is no finite number, as glibc does; the C library here would leave it as it was.
"""
from wasm_module import PatchError, with_locals
from wasm_text import assemble

# In the order of floats.c.
OPERATIONS = ("add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "power", "divmod")
COMPLEX = ("add", "subtract", "multiply", "true_divide", "power")
INTEGERS = "byte ubyte short ushort int uint long ulong longlong ulonglong".split()  # of which a quotient is a float
PARAMETERS = {"power": 3}
LINES = {"HALF_dot": 23, "FLOAT_dot": 11, "DOUBLE_dot": 12, "LONGDOUBLE_dot": 13, "CFLOAT_dot": 14, "CDOUBLE_dot": 15, "CLONGDOUBLE_dot": 16}
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
    for name in ("frexp", "frexpf"):
        body, _, start = with_locals(module.body(name), 2, 0)
        module.change(name, body[:start] + assemble("local.get 1; i32.const 0; i32.store") + body[start:])


def products(module, functions):
    """Products of two lines, and of arrays: numpy's functions, and a look at what they made (products.c)."""
    get = "; ".join(f"local.get {i}" for i in range(7))
    for name, number in LINES.items():
        index = module.index(name)
        module.changed[index] = b"\0" + assemble(f"{get}; call COPY; {get.rpartition(';')[0]}; i32.const NUMBER; call FUNCTION; end",
                                                 COPY=module.copied(index, name), NUMBER=number, FUNCTION=functions["cloche_dot"])
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
    module.change(name, body[:start] + assemble("local.get 2; local.get 3; local.get 4; local.get 5; call FUNCTION",
                                                FUNCTION=functions["cloche_before_ufunc"]) + body[start:])


def patch(module, functions):
    exponents(module)
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
