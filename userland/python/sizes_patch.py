"""Sizes that numpy and scipy compute without a look at whether they fit, since with the 64 bits of an address they do:
userland/python/extensions/sizes.c.

An array that is longer than an index counts would be made shorter, and written behind its end.
"""
from numpy_patch import substitute
from wasm_module import CALL, GET, TEE, PatchError, encode
from wasm_text import assemble

BETWEEN = ("wrap_aligned_transferfunction", "PyArray_GetDTypeTransferFunction", "_multistep_cast_auxdata_clone_int")
MOST = 2**31 - 1
# As linkers and compilers write them.
LOAD, STORE = b"\x28\x02\x00", b"\x36\x02\x00"


def repeats(module, functions):
    """np.repeat, when it knows the repeats (5), the elements along the axis (9) and whether there is a repeat for each (2)."""
    before = b"".join(GET + b"\3" + assemble("i32.const 0") + b"\x36\x02" + encode(place, 2) for place in (300, 288)) + b"\x02\x40"
    check = assemble("local.get 5; local.get 9; local.get 2; call FUNCTION; if; i32.const 0; local.set 2; br 1; end",
                     FUNCTION=functions["cloche_before_repeat"])
    substitute(module, "PyArray_Repeat", before, before + check)


def concatenations(module, functions):
    """np.concatenate, when it has added the length of one more array (at local 13)."""
    added = GET + b"\x0d" + GET + b"\x0d" + LOAD + GET + b"\x0e" + LOAD + assemble("i32.add") + STORE
    check = assemble("local.get 13; i32.load; call FUNCTION; if; i32.const 0; local.set 7; br 6; end",
                     FUNCTION=functions["cloche_line_is_too_long"])
    substitute(module, "PyArray_ConcatenateArrays", added, added + check)


def counts(module):
    """np.bincount of the largest index would make a line of one more, which has no length: one of as many is refused by its size."""
    before = assemble("local.get 4; local.get 5; i32.const 1; i32.add")
    after = assemble("local.get 4; local.get 5; i32.const MOST; local.get 5; i32.const MOST; i32.lt_s; select; i32.const 1; i32.add", MOST=MOST - 1)
    substitute(module, "arr_bincount", before, after)


def bits(module, functions):
    """np.unpackbits, whose line is at local 2."""
    before = TEE + b"\2" + GET + b"\2" + LOAD + assemble("i32.const 3; i32.shl") + STORE + b"\x02\x40"
    after = TEE + b"\2" + GET + b"\2" + LOAD + assemble("call FUNCTION", FUNCTION=functions["cloche_bits_of_line"]) + STORE + b"\x02\x40"
    check = GET + b"\2" + LOAD + assemble("i32.const 0; i32.lt_s; if; i32.const 0; local.set 2; br 1; end")
    substitute(module, "io_unpack", before, after + check)


def moments(module):
    """np.arange of dates counts in 64 bits: what is more than an index counts is as many as it counts, which is refused by its size."""
    before = assemble("i64.div_s") + b"\xa7"
    after = assemble("i64.div_s; local.tee 10; i64.const MOST; local.get 10; i64.const MOST; i64.lt_s; select", MOST=MOST) + b"\xa7"
    substitute(module, "datetime_arange", before, after)


def conversions(module, functions):
    """Conversions by a third type have 128 elements in between."""
    shift = assemble("i32.const 7; i32.shl")
    for name in BETWEEN:
        if CALL + encode(module.index("PyMem_Malloc")) not in module.body(name):
            raise PatchError(f"{name} does not allocate what it has in between")
        substitute(module, name, shift, assemble("call FUNCTION", FUNCTION=functions["cloche_bytes_between"]), 2)


def strings(module, functions):
    """Strings of any length, as often as a number of 64 bits says (at local 2), of which its lower half was taken."""
    before = GET + b"\2" + LOAD + assemble("local.tee 8; i64.extend_i32_u; i64.mul")
    after = assemble("local.get 2; i64.load; call FUNCTION; local.tee 8; i64.extend_i32_u; i64.mul", FUNCTION=functions["cloche_size"])
    for kind in ("long long", "unsigned long long"):
        for name in [name.decode() for name in module.names if name.startswith(f"int multiply_loop_core<{kind}>(".encode())]:
            substitute(module, name, before, after)


def filters(module, functions):
    """scipy.ndimage: the lines that filters compute in, and places outside of an array."""
    sum_of_three = assemble("local.get 3; local.get 2; i32.add; local.get 0; i32.add; i32.const 3; i32.shl")
    substitute(module, "NI_AllocateLineBuffer", sum_of_three,
               assemble("local.get 3; local.get 2; local.get 0; call FUNCTION", FUNCTION=functions["cloche_bytes_of_line"]))
    module.change("map_coordinate", b"\0" + assemble("local.get 0; local.get 1; local.get 2; call FUNCTION; end",
                                                    FUNCTION=functions["cloche_place_in_axis"]))


def patch(module, functions):
    repeats(module, functions)
    concatenations(module, functions)
    counts(module)
    bits(module, functions)
    moments(module)
    conversions(module, functions)
    strings(module, functions)
    filters(module, functions)
