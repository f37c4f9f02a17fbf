"""numpy's older random numbers, `RandomState` and the functions of `numpy.random`, are 64-bit integers, as on Linux x86-64.

They are made by C code of `long`, which has 32 bits here: a number beyond that would be another one in silence. numpy has the same
functions for 64 bits as well, for its newer generators; where the older ones draw otherwise their own conversions are widened. What
gives an array of `long` gives one of `long long` for it. Numbers of trials beyond 2^31, which `binomial` and `multinomial` take as
`long`, are a ValueError or an OverflowError all the same. Of the newer generators `choice` counts by an index, of 32 bits too.
"""
import re

from wasm_module import CALL, TEE, PatchError, encode, once, with_locals
from wasm_text import assemble

I64 = 0x7E
TO_INT, TO_LONG, CUT = b"\xfc\2", b"\xfc\6", b"\xc4"  # the last: 64 bits to the lower 32 of them, with their sign
STATE, NEXT_LONG = 0, 4  # places in what a generator is called by
CLASS, NAME_OF_CLASS, ARRAY_DESCR, DESCR_TYPE_NUM, LONG, LONGLONG = 4, 12, 28, 16, 7, 9
IMMORTAL = 1 << 30  # counts of references from here on are left alone
LIMIT_OF_LONG, LIMIT = 10, 9  # which of numpy's constraints a mean is held against
OF_LONG = ("choice", "binomial", "multinomial", "permutation")


def replace(module, name, before, after):
    body = module.body(name)
    if body.count(before) != 1:
        raise PatchError(f"{name} is not as expected: {body.count(before)} places")
    module.change(name, body.replace(before, after))


def method(module, name):
    """The function that has a method of RandomState."""
    pattern = re.compile(rb"__pyx_pw_5numpy_6random_6mtrand_11RandomState_\d+" + name.encode())
    found = [function for function in module.names if pattern.fullmatch(function)]
    if len(found) != 1:
        raise PatchError(f"RandomState has {len(found)} methods {name}")
    return found[0].decode()


def poisson(module):
    call, wider = module.call("npy_legacy_random_poisson"), module.call("random_poisson")
    for name in ("legacy_random_poisson", "legacy_negative_binomial"):
        replace(module, name, call + assemble("i64.extend_i32_s"), wider)
    replace(module, method(module, "poisson"), assemble(f"i32.const {LIMIT_OF_LONG}"), assemble(f"i32.const {LIMIT}"))


def conversions(module):
    """Of the floats that numbers are drawn as."""
    widened = TO_INT + assemble("i64.extend_i32_s")
    for name in ("legacy_random_geometric", "legacy_random_zipf"):
        replace(module, name, widened, TO_LONG)
    ends = [b"\x44" + end for end in (bytes.fromhex("0000c0ffffffdf41"), bytes.fromhex("000000000000e043"))]  # 2^31 - 1 and 2^63
    replace(module, "legacy_random_zipf", *ends)
    body, number, start = with_locals(module.body("legacy_logseries"), 2, 1, I64)
    drawn = once(re.escape(TO_INT) + rb"\x22(.)" + re.escape(assemble("i32.const 1; i32.lt_s")), body, "the number of a logarithmic series")
    body = body.replace(drawn[0], TO_LONG + assemble(f"local.tee {number}; i64.const 1; i64.lt_s"))
    module.change("legacy_logseries", body)
    replace(module, "legacy_logseries", b"\x20" + drawn[1] + assemble("i64.extend_i32_u"), assemble(f"local.get {number}"))


def whole_range(module):
    """`tomaxint` gives 63 bits."""
    name = "npy_legacy_random_positive_int"
    if b"\x11" not in module.body(name) or not module.body(name).endswith(assemble("i32.const 1; i32.shr_u; i64.extend_i32_u; end")):
        raise PatchError(f"{name} is not as expected")
    # What draws 64 bits has the type of this function.
    draw = b"\x11" + encode(module.type_of(module.index(name))) + b"\0"
    module.change(name, b"\0" + assemble("local.get 0; i32.load STATE; local.get 0; i32.load NEXT", STATE=STATE, NEXT=NEXT_LONG) + draw
                  + assemble("i64.const 1; i64.shr_u; end"))


def as_they_are(module):
    """Numbers of 64 bits are made first, and would be made `long` by this function then."""
    module.change("__pyx_f_5numpy_6random_6mtrand_int64_to_long", b"\0" + assemble("""
        local.get 0; i32.load; i32.const IMMORTAL; i32.lt_u
        if
            local.get 0; local.get 0; i32.load; i32.const 1; i32.add; i32.store
        end
        local.get 0
        end
    """, IMMORTAL=IMMORTAL))


def choice(module):
    """Without replacement, of many: its loop has 64 bits, and begins at a number that is cut to 32, so that it would not end."""
    replace(module, "__pyx_pf_5numpy_6random_10_generator_9Generator_26choice", assemble("i64.sub") + CUT + TEE, assemble("i64.sub") + TEE)


def patch(module):
    poisson(module)
    choice(module)
    conversions(module)
    whole_range(module)
    as_they_are(module)


def widen(module):
    """Methods whose array is one of `long` give it as one of `long long`."""
    texts = [at for at in module.addresses_of(b"numpy.ndarray\0") if any(place % 4 == 0 for place in module.addresses_of(at.to_bytes(4, "little")))]
    if len(texts) != 1:
        raise PatchError(f"the class of arrays has {len(texts)} names")
    for short in OF_LONG:
        name = method(module, short)
        index = module.index(name)
        copy = module.copied(index, name)
        module.changed[index] = b"\1\3\x7f" + assemble("""
            local.get 0; local.get 1; local.get 2; local.get 3; call COPY; local.tee 4
            if
                local.get 4; i32.load CLASS; i32.load NAME_OF_CLASS; i32.const ARRAY; i32.eq
                if
                    local.get 4; i32.load DESCR; i32.load TYPE_NUM; i32.const LONG; i32.eq
                    if
                        local.get 4; i32.const LONGLONG; call FROM_TYPE; i32.const 0; call CAST; local.set 5
                        local.get 4; local.get 4; i32.load; i32.const 1; i32.sub; local.tee 6; i32.store
                        local.get 6; i32.eqz; if; local.get 4; call FREE; end
                        local.get 5; return
                    end
                end
            end
            local.get 4
            end
        """, COPY=copy, CLASS=CLASS, NAME_OF_CLASS=NAME_OF_CLASS, ARRAY=texts[0], DESCR=ARRAY_DESCR, TYPE_NUM=DESCR_TYPE_NUM, LONG=LONG,
            LONGLONG=LONGLONG, FROM_TYPE=module.index("PyArray_DescrFromType"), CAST=module.index("PyArray_CastToType"),
            FREE=module.index("_Py_Dealloc"))
