"""Arithmetic and conversions of numpy's indices, which have 32 bits, are checked: userland/python/extensions/indices.c and its neighbours.

What would be cut off in silence, and is right where indices have 64 bits, is an OverflowError.
"""
from extensions import INDEX_AT, INDEX_LOOPS
from numpy_patch import ARRAY_DESCR, DESCR_TYPE_NUM, LONG, PROMOTE, prepend, substitute, weak_integer
from wasm_text import assemble


def replace(module, name, parameters, function):
    get = "; ".join(f"local.get {i}" for i in range(parameters))
    module.change(name, b"\0" + assemble(f"{get}; call FUNCTION; end", FUNCTION=function))


def loops(module, functions):
    for kind, names in INDEX_LOOPS.items():
        for name in names:
            replace(module, f"{kind}_{name}", 4, functions[f"cloche_{kind}_{name}"])
        for name in INDEX_AT:
            replace(module, f"{kind}_{name}_indexed", 5, functions[f"cloche_{kind}_{name}_indexed"])


def promotions(module, functions):
    """A large number of Python's beside indices."""
    prepend(module, PROMOTE, 5, "local.get 0; local.get 1; local.get 2; local.get 3; i32.const WEAK; call FUNCTION", 0,
            WEAK=weak_integer(module), FUNCTION=functions["cloche_before_promotion"])
    # An array that stands for some number of Python's has one.
    name = "py_resolve_dtypes_generic"
    empty = module.call("PyArray_Empty")
    substitute(module, name, empty, module.call("PyArray_Zeros"), module.body(name).count(empty))


def numbers(module, functions):
    """np.intp(n) has 64 bits, as an element of an array of indices has."""
    for kind in ("long", "ulong"):
        name = f"{kind}_arrtype_new"
        prepend(module, name, 3, "local.get 0; call CLASS; local.tee t0; if; local.get t0; local.get 1; local.get 2; call NEW; return; end", 1,
                CLASS=functions["cloche_wide_class"], NEW=module.index(name.replace("long", "longlong")))


def sums(module, functions):
    """einsum: by its operands, its `dtype` or its `out`, of which the last is made by conversions that are checked. Its parameters are text,
    number, arrays, type, order, casting, out."""
    name = "PyArray_EinsteinSum"
    index = module.index(name)
    copy = module.copied(index, name)
    module.changed[index] = b"\0" + assemble("""
        local.get 1; local.get 2; local.get 3; local.get 6; call TYPE; local.set 3
        local.get 6
        if
            local.get 6; i32.load DESCR; i32.load TYPE_NUM; i32.const LONG; i32.sub; i32.const 2; i32.lt_u
            if
                local.get 5; i32.const SAME_KIND; local.get 5; i32.const SAME_KIND; i32.gt_s; select; local.set 5
            end
        end
        local.get 0; local.get 1; local.get 2; local.get 3; local.get 4; local.get 5; local.get 6; call COPY; call MADE
        end
    """, TYPE=functions["cloche_type_of_sums"], MADE=functions["cloche_made_sums"], COPY=copy, DESCR=ARRAY_DESCR, TYPE_NUM=DESCR_TYPE_NUM,
                                              LONG=LONG, SAME_KIND=3)


def elements(module, functions):
    """A number of Python's that becomes an element."""
    for kind in ("LONG", "ULONG"):
        for name, value in ((f"{kind}_setitem", 1), (f"{kind}_legacy_setitem", 0)):
            index = module.index(name)
            copy = module.copied(index, name)
            module.changed[index] = b"\0" + assemble("local.get 0; local.get 1; local.get 2; call COPY; local.get VALUE; call FUNCTION; end",
                                                     COPY=copy, VALUE=value, FUNCTION=functions["cloche_index_set"])


def views(module, functions):
    """ndarray's view."""
    index = module.index("array_view")
    module.changed[index] = b"\0" + assemble("local.get 0; local.get 1; local.get 2; local.get 3; call COPY; local.get 0; call FUNCTION; end",
                                             COPY=module.copied(index, "array_view"), FUNCTION=functions["cloche_viewed"])


def at(module, functions):
    """ufunc.at, which numpy's module has as a function of two parameters."""
    index = module.index("ufunc_at")
    module.changed[index] = b"\0" + assemble("call BEFORE; local.get 0; local.get 1; call COPY; call FUNCTION; end",
                                             BEFORE=functions["cloche_before_at"], COPY=module.copied(index, "ufunc_at"),
                                             FUNCTION=functions["cloche_at"])


def subscripts(module):
    """What reads and writes by arrays of indices looks for a number below zero from NpyIter_Reset, which gives 0 where the first conversion
    was refused: it went on with what the buffer had held before."""
    reset = module.call("NpyIter_Reset")
    for name in ("array_subscript", "array_assign_subscript"):
        substitute(module, name, reset + assemble("i32.const 0; i32.lt_s"), reset + assemble("i32.eqz"))


def pickles(module, functions):
    """What ndarray's __reduce_ex__ is called with."""
    index = module.index("array_reduce_ex")
    module.changed[index] = b"\0" + assemble("""local.get 0; call WIDE; local.tee 0; i32.eqz; if; i32.const 0; return; end
                                               local.get 0; local.get 1; call COPY; local.get 0; call FUNCTION; end""",
                                             WIDE=functions["cloche_wide_indices"], COPY=module.copied(index, "array_reduce_ex"),
                                             FUNCTION=functions["cloche_indices_left"])


def patch(module, functions):
    loops(module, functions)
    promotions(module, functions)
    numbers(module, functions)
    sums(module, functions)
    elements(module, functions)
    views(module, functions)
    at(module, functions)
    subscripts(module)
    pickles(module, functions)
    replace(module, "LONG_fill", 3, functions["cloche_long_fill"])
    replace(module, "LONG_fromstr", 4, functions["cloche_long_fromstr"])
