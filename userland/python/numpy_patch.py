"""numpy's default integer has 64 bits, as on Linux x86-64.

numpy takes `intp`, which has the 32 bits of an address here, for its default integer, so products and sums that fit everywhere
else would overflow in silence. Type numbers: 5 `int`, 7 `long` (= `intp`), 9 `long long`, each followed by its unsigned one.

- What is made of Python's `int` (arrays, `arange`, `dtype=int`, sums and products) is 9 in place of 7.
- `int32` is 5, as on Linux, so that 7 means an index and nothing else. An element of an array of indices is an `int64`, and what
  can outgrow an index (products, multiples, powers, shifts to the left, matrix products) is computed in 64 bits.
- Arrays of indices keep their 32 bits in memory, since all C code that reads them counts on it; an `int64` array is taken for one.

Python's half is userland/python/lib/_cloche/libraries/integers.py.
"""
import re

from wasm_module import CONST, LEB, PatchError, encode, encode_signed, once, uleb, with_locals
from wasm_text import assemble

INT, LONG, LONGLONG = 5, 7, 9
PROMOTE = ("promote_and_get_info_and_ufuncimpl(_tagPyUFuncObject*, tagPyArrayObject* const*, PyArray_DTypeMeta_tag**, "
           "PyArray_DTypeMeta_tag**, unsigned char)")
# Of the ufuncs whose results can outgrow indices of which there are at most 2^32, and of those that look for a loop of the right size,
# which `int` has too.
OUTGROWING = ("multiply", "power", "square", "left_shift", "matmul", "vecdot", "matvec", "vecmat", "lcm")
KEEPING = ("floor_divide", "remainder", "fmod", "divmod", "bitwise_and", "bitwise_or", "bitwise_xor", "right_shift")
IMMORTAL = 1 << 30  # counts of references from here on are left alone
# Offsets in structures.
DESCR_TYPE_NUM, DESCR_BYTEORDER, ARRAY_DESCR, UFUNC_NARGS, UFUNC_NAME, DTYPE_TYPE_NUM, DTYPE_FLAGS = 16, 14, 28, 16, 40, 476, 488


def const(number):
    return assemble(f"i32.const {number}")


def substitute(module, name, before, after, count=1):
    """Exchanges instructions of a function that are there `count` times."""
    body = module.body(name)
    if body.count(before) != count:
        raise PatchError(f"{name} is not as expected: {body.count(before)} places")
    module.change(name, body.replace(before, after))


def prepend(module, name, parameters, text, scratch=1, **names):
    """Instructions that run before a function's own, with locals t0, t1, ... of their own."""
    body, first, start = with_locals(module.body(name), parameters, scratch)
    names |= {f"t{i}": first + i for i in range(scratch)}
    module.change(name, body[:start] + assemble(text, **names) + body[start:])


def default_integer(module):
    """Where numpy asks for the type of Python's int."""
    by_number = module.call("PyArray_DescrFromType")
    for name in ("int_default_descriptor", "_convert_from_any", "PyArray_ArangeObj"):
        substitute(module, name, const(LONG) + by_number, const(LONGLONG) + by_number)
    substitute(module, "py_resolve_dtypes_generic", const(LONG) + by_number, const(LONGLONG) + by_number, 2)
    substitute(module, "_multiarray_umath_exec", const(LONG) + by_number, const(LONGLONG) + by_number)
    # That an int is the default one is asked before its value is taken from the array made of it.
    substitute(module, "convert_ufunc_arguments", const(LONG) + assemble("i32.eq"), const(LONGLONG) + assemble("i32.eq"))
    # The value -1, and the values of 32 bits.
    substitute(module, "discover_descriptor_from_pylong", const(LONG) + by_number, const(LONGLONG) + by_number)
    substitute(module, "discover_descriptor_from_pylong", const(LONG) + const(LONGLONG), const(LONGLONG) + const(LONGLONG))
    # A ufunc of Python's numbers alone keeps the value on its stack.
    body = module.body("ufunc_generic_fastcall")
    at = once(re.escape(assemble("i32.store 304").replace(b"\x36\x00", b"\x36\x02") + const(LONG) + by_number), body, "a call with numbers")
    module.change("ufunc_generic_fastcall", body[:at.start()] + assemble("i64.extend_i32_s; i64.store 304") + const(LONGLONG) + by_number
                  + body[at.end():])


def dtype_words(module):
    """Addresses of the words that hold the classes of `long` and `long long`."""
    body = module.body("initialize_legacy_dtypemeta_aliases")
    words = []
    for number in (LONG, LONGLONG):
        found = re.search(re.escape(b"\x20\x00\x28\x02" + bytes([4 * number])) + rb".{1,16}?\x36\x02" + LEB, body, re.DOTALL)
        if not found:
            raise PatchError("the classes of integers are not where they are expected")
        words.append(uleb(found[1], 0)[0])
    return words


def default_of_bools(module, words):
    """Python's int with a bool is the default integer, by the class."""
    body = module.body("int_common_dtype")
    intp = uleb(once(re.escape(b"\x41\x00\x28\x02") + LEB + re.escape(b"\x22\x02\x28\x02\x00\x22\x01"), body, "an int with a bool")[1], 0)[0]
    module.change("int_common_dtype", body.replace(b"\x28\x02" + encode(intp), b"\x28\x02" + encode(words[1])))


def sums(module):
    """add.reduce and multiply.reduce of bools and of integers below 64 bits are computed in 64."""
    name = "reducelike_promote_and_resolve"
    substitute(module, name, const(LONG) + assemble("local.set 9"), const(LONGLONG) + assemble("local.set 9"))
    substitute(module, name, const(3) + b"\x4d", const(7) + b"\x4d")  # itemsize <= 3
    table = once(rb"\x2d\x00" + LEB + rb"\x21\x09", module.body(name), "the types of sums")
    wide = bytes([LONGLONG + 1, LONGLONG])
    module.put(uleb(table[1], 0)[0], b"\x08\x07" * 4 + b"\x08", wide * 4 + wide[:1])


def int32(module):
    """Types by kind and size: four bytes are `int`, as on Linux. The Python classes exchange their names."""
    name = "PyArray_TypestrConvert"
    tables = [uleb(match[1], 0)[0] for match in re.finditer(rb"\x2d\x00" + LEB + rb"\x0f", module.body(name), re.DOTALL)]
    expected = (bytes([1, 3, LONG, LONGLONG]), bytes([2, 4, LONG + 1, LONGLONG + 1]))
    changed = 0
    for address in tables:
        place = module.offset_of(address, 4)
        content = bytes(module.data[place:place + 4])
        if content in expected:
            changed += 1
            module.put(address, content, content[:2] + bytes([content[2] - LONG + INT]) + content[3:])
    if changed != 2:
        raise PatchError("the types by size are not where they are expected")
    for c_name, name in (("intc", "int32"), ("uintc", "uint32")):
        places = []
        for text in (c_name, name):
            strings = module.addresses_of(f"numpy.{text}\0".encode())
            pointers = [at for string in strings for at in module.addresses_of(string.to_bytes(4, "little")) if at % 4 == 0]
            if len(strings) != 1 or len(pointers) != 1:
                raise PatchError(f"the class {text} is not where it is expected")
            places.append((pointers[0], strings[0].to_bytes(4, "little")))
        (first, first_text), (second, second_text) = places
        module.put(first, first_text, second_text)
        module.put(second, second_text, first_text)


def names_of_classes(module):
    """The class of `int` is Int32DType and IntDType, as on Linux: numpy gives the first name to that of `long`."""
    text = {}
    for name in ("IntDType", "UIntDType", "LongDType", "ULongDType", "Int32DType", "UInt32DType"):
        found = module.addresses_of(f"numpy.dtypes.{name}\0".encode())
        if len(found) != 1:
            raise PatchError(f"the class {name} has {len(found)} names")
        text[name] = CONST + encode_signed(found[0])
    for sign in ("", "U"):
        own, by_size, long = text[f"{sign}IntDType"], text[f"{sign}Int32DType"], text[f"{sign}LongDType"]
        substitute(module, "set_typeinfo", by_size + long, long + const(0))
        substitute(module, "set_typeinfo", own + const(0), by_size + own)


def shifts(module):
    """By 64 bits or more nothing is left. Its C code compares what a `size_t` keeps of the number, which is its lower half here."""
    before, after = (assemble(f"i64.const {mask}; i64.and") for mask in (0xFFFFFFC0, -64))
    for kind in ("longlong", "ulonglong"):
        for name, count in ((f"{kind}_lshift", 1), (f"{kind}_rshift", 1), (f"{kind.upper()}_left_shift", 24), (f"{kind.upper()}_right_shift", 24)):
            substitute(module, name, before, after, count)


def elements(module):
    """One element of an array of `long` in the machine's order is a scalar of `long long`."""
    prepend(module, "PyArray_Scalar", 3, """
        local.get 1; i32.load TYPE_NUM; local.tee t0; i32.const LONG; i32.sub; i32.const 2; i32.lt_u
        local.get 1; i32.load8_u BYTEORDER; i32.const BIG; i32.ne; i32.and
        if
            global.get 0; i32.const 16; i32.sub; local.tee t1; global.set 0
            local.get t0; i32.const LONG; i32.eq
            if
                local.get t1; local.get 0; i32.load; i64.extend_i32_s; i64.store
            else
                local.get t1; local.get 0; i32.load; i64.extend_i32_u; i64.store
            end
            local.get t1
            local.get t0; i32.const 2; i32.add; call FROM_TYPE
            local.get 2; call SCALAR
            local.get t1; i32.const 16; i32.add; global.set 0
            return
        end
    """, 2, TYPE_NUM=DESCR_TYPE_NUM, BYTEORDER=DESCR_BYTEORDER, BIG=ord(">"), LONG=LONG,
            FROM_TYPE=module.index("PyArray_DescrFromType"), SCALAR=module.index("PyArray_Scalar"))


def name_of_ufunc(module, name):
    """Address of the text that the ufunc is made with."""
    body = module.body("InitOperators")
    found = [at for at in module.addresses_of(name.encode() + b"\0") if CONST + encode(at) in body]
    if len(found) != 1:
        raise PatchError(f"the ufunc {name} has {len(found)} names")
    return found[0]


def weak_integer(module):
    """Address of the class that stands for Python's int in a promotion."""
    found = re.findall(re.escape(const(1 << 30) + assemble("i32.or") + b"\x36\x02\x20\x02\x40\x41\x00\x28\x02") + LEB,
                       module.body("py_resolve_dtypes_generic"), re.DOTALL)
    if not found or len(set(found)) != 1:
        raise PatchError("the class of Python's int is not where it is expected")
    return uleb(found[0], 0)[0]


def promotions(module, words):
    """A ufunc of OUTGROWING that is given a `long` takes it, and every smaller integer beside it, for a `long long`. One of KEEPING takes
    what is smaller for a `long`: its result is indices again, and not `int`, of which a product would overflow in silence.

    This is where a ufunc looks for its loop. It does so again for the types that the older rules of promotion answer, so the types
    of results change as well. Who asks for a type by `dtype` or `signature` gets that.
    """

    def each(array, body):
        """The body for each element of an array of classes, the element in t4 and its place in t3."""
        return f"""
            local.get 0; i32.load NARGS; local.set t2
            loop
                local.get t2
                if
                    local.get t2; i32.const 1; i32.sub; local.tee t2
                    i32.const 2; i32.shl; local.get {array}; i32.add; local.tee t3; i32.load; local.set t4
                    {body}
                    br 1
                end
            end
        """

    def count(which, change):
        return f"""
            local.get {which}; i32.load; i32.const IMMORTAL; i32.lt_u
            if
                local.get {which}; local.get {which}; i32.load; i32.const {change}; i32.add; i32.store
            end
        """

    def widen(least):
        return f"""
            local.get t4
            if
                local.get t4; i32.const WEAK; i32.eq
                local.get t4; i32.load8_u FLAGS; i32.const 1; i32.and
                local.get t4; i32.load TYPE_NUM; i32.const {least}; i32.lt_u
                i32.and; i32.or
                if
                    {count("t4", -1)}
                    {count("t1", 1)}
                    local.get t3; local.get t1; i32.store
                end
            end
        """

    def to(wider, names, least):
        """What is of a type below the number `least` becomes the class `wider`, where a `long` is beside it."""
        is_one = "i32.const 0; " + "; ".join(f"local.get t0; i32.const {name_of_ufunc(module, name)}; i32.eq; i32.or" for name in names)
        return f"""
            block
                local.get 0; i32.load NAME; local.set t0
                {is_one}; i32.eqz; br_if 0
                i32.const 0; i32.load LONG; local.set t0
                i32.const 0; i32.load {wider}; local.set t1
                {each(2, "local.get t4; br_if 2")}
                i32.const 0; local.set t5
                {each(3, "local.get t4; local.get t0; i32.eq; local.get t5; i32.or; local.set t5")}
                local.get t5; i32.eqz; br_if 0
                {each(3, widen(least))}
            end
        """

    prepend(module, PROMOTE, 5, to(words[1], OUTGROWING, LONGLONG) + to(words[0], KEEPING, INT + 1), 6, NAME=UFUNC_NAME, NARGS=UFUNC_NARGS,
            FLAGS=DTYPE_FLAGS, TYPE_NUM=DTYPE_TYPE_NUM, IMMORTAL=IMMORTAL, LONG=words[0], WEAK=weak_integer(module))


def inner_products(module):
    """dot, inner, vdot, correlate and what is built on them compute with the type that an object has: not with `long`."""
    name = "PyArray_DTypeFromObject"
    end = b"\x20\x03" + const(272) + assemble("i32.add")
    substitute(module, name, end, assemble("""
        local.get 4; i32.eqz
        if
            local.get 2; i32.load; local.tee 4
            if
                local.get 4; i32.load TYPE_NUM; local.tee 4; i32.const LONG; i32.sub; i32.const 2; i32.lt_u
                if
                    local.get 2; local.get 4; i32.const 2; i32.add; call FROM_TYPE; i32.store
                end
            end
            i32.const 0; local.set 4
        end
    """, TYPE_NUM=DESCR_TYPE_NUM, LONG=LONG, FROM_TYPE=module.index("PyArray_DescrFromType")) + end)


def indices(module):
    """An array of `long long` may be given where indices are wanted, by "same kind" in place of "safe"."""
    before = assemble("local.get 2; i32.const 67108864; i32.and; select")
    substitute(module, "PyArray_FromArray", before, assemble("""
        local.get 2; i32.const 67108864; i32.and
        local.get 5; i32.load TYPE_NUM; i32.const LONG; i32.sub; i32.const 2; i32.lt_u
        i32.or; select
    """, TYPE_NUM=DESCR_TYPE_NUM, LONG=LONG))


def exact_checks(module):
    """scipy's C code that takes arrays of int32 only compares with the number that numpy's headers had for it."""
    for name, count in (("lbfgsb_setulb", 6), ("slsqp", 1), ("dvode_wrapper", 1), ("zvode_wrapper", 1)):
        body = module.body(name)
        pattern = rb"(\x41\x10\x6a\x28\x02\x00\x41)\x07([\x46\x47])"
        if len(re.findall(pattern, body, re.DOTALL)) != count:
            raise PatchError(f"{name} is not as expected")
        module.change(name, re.sub(pattern, lambda match: match[1] + bytes([INT]) + match[2], body, flags=re.DOTALL))


def masks(module):
    """What a loop with `where` keeps begins empty: a loop that leaves its own data as it finds it would have what is freed with it."""
    allocate = module.call("PyMem_Malloc")
    substitute(module, "PyArrayMethod_GetMaskedStridedLoop", allocate, const(1) + module.call("PyMem_Calloc"))


def hashes(module):
    """Integers of 32 bits hash as Python's do, which are taken by 2^31 - 1 here: numpy knows that of `long` alone."""
    for kind in ("int", "uint"):
        module.change(f"{kind}_arrtype_hash", module.body(kind.replace("int", "long") + "_arrtype_hash"))


def patch(module):
    words = dtype_words(module)
    hashes(module)
    default_integer(module)
    default_of_bools(module, words)
    sums(module)
    int32(module)
    names_of_classes(module)
    shifts(module)
    elements(module)
    promotions(module, words)
    inner_products(module)
    indices(module)
    masks(module)
    exact_checks(module)
