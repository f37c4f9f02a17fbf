# packages: xxhash uuid-utils
"""xxhash, whose code is C, and uuid_utils, whose code is Rust."""
import array
import copy
import pickle
import threading
import uuid

import uuid_utils
import uuid_utils.compat
import xxhash


def attempt(what, *args, **named):
    try:
        print(repr(what(*args, **named)))
    except Exception as error:
        print(type(error).__name__, str(error))


class Index:
    def __index__(self):
        return 7


print(xxhash.VERSION, xxhash.XXHASH_VERSION, sorted(xxhash.algorithms_available))
noise, state = bytearray(), 12345
for _ in range(5000):
    state = state * 1103515245 + 12345 & 0x7FFFFFFF
    noise.append(state >> 16 & 0xFF)
noise = bytes(noise)
names = ("xxh32", "xxh64", "xxh3_64", "xxh3_128", "xxh128")
for name in names:
    kind = getattr(xxhash, name)
    once, number, raw = (getattr(xxhash, f"{name}_{form}") for form in ("hexdigest", "intdigest", "digest"))
    print(name, kind().name, kind().digest_size, kind().digestsize, kind().block_size, kind(seed=5).seed)
    print([once(noise[:length]) for length in (0, 1, 3, 4, 8, 9, 16, 17, 31, 32, 33, 64, 100, 128, 129, 200, 240, 241, 256, 1023, 1024, 1025, 5000)])
    print([once(b"seeds", seed) for seed in (0, 1, -1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 63, 2 ** 64 - 1, 2 ** 64, 3 ** 100, -(3 ** 100), True, Index())])
    print(number(noise), raw(noise), once(data=noise, seed=9) == kind(seed=9, data=noise).hexdigest() == kind(noise, 9).hexdigest())
    for value in (bytearray(noise), memoryview(noise), memoryview(noise)[10:-10], array.array("i", range(100))):
        print(once(value), kind(value).intdigest() == number(value), kind(value).digest() == raw(value))
    hasher = kind(seed=3)
    for at in range(0, len(noise), 37):
        hasher.update(noise[at:at + 37])
    other = hasher.copy()
    other.update(b"more")
    print(hasher.hexdigest() == once(noise, 3), other.hexdigest() == once(noise + b"more", 3), other.seed, hasher.digest() == raw(noise, seed=3))
    other.reset()
    print(other.hexdigest() == once(b"", 3))
    if name not in ("xxh32", "xxh3_128"):
        continue
    for wrong in ("text", None, 5, [1], memoryview(noise)[::2]):
        attempt(once, wrong)
        attempt(kind, wrong)
        attempt(kind().update, wrong)
    attempt(once)
    attempt(once, b"", "seed")
    attempt(once, b"", 1.5)
    attempt(once, b"", 1, 2)
    attempt(once, b"", data=b"")
    attempt(once, b"", 1, seed=1)
    attempt(once, b"", sede=1)
    attempt(kind, b"", 1, 2)
    attempt(kind, data=b"", sede=1)
    attempt(kind().update)
    attempt(kind().update, b"", b"")
    attempt(kind().update, text=b"")
    attempt(setattr, kind, "extra", 1)
    attempt(pickle.dumps, kind())
large = noise * 4000
print([getattr(xxhash, f"{name}_hexdigest")(large) for name in names])
shared = xxhash.xxh3_64()
workers = [threading.Thread(target=lambda: [shared.update(bytes(100_000)) for _ in range(20)]) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(shared.hexdigest() == xxhash.xxh3_64_hexdigest(bytes(8_000_000)))
attempt(type, "Named", (xxhash.xxh64,), {})
print(uuid_utils.__version__)
one = uuid_utils.UUID("12345678-1234-5678-1234-567812345678")
print(one, repr(one), int(one), one.hex, one.urn, one.bytes, one.bytes_le, one.fields, one.variant, one.version, one.node, one.clock_seq, one.time)
print(one.time_low, one.time_mid, one.time_hi_version, one.clock_seq_hi_variant, one.clock_seq_low, one.is_safe)
same = [uuid_utils.UUID(hex=text) for text in ("{12345678-1234-5678-1234-567812345678}", "12345678123456781234567812345678", "urn:uuid:12345678-1234-5678-1234-567812345678")]
same += [uuid_utils.UUID(bytes=one.bytes), uuid_utils.UUID(bytes_le=one.bytes_le), uuid_utils.UUID(fields=one.fields), uuid_utils.UUID(int=int(one))]
print(all(each == one and hash(each) == hash(one) for each in same), len({*same, one}), pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one)
print(uuid_utils.UUID(int=1) < one <= same[0], one > uuid_utils.UUID(int=2 ** 128 - 1), sorted([one, uuid_utils.MAX, uuid_utils.NIL]))
print([uuid_utils.UUID(int=5, version=version).version for version in range(1, 9)])
for arguments in ({}, {"hex": "x"}, {"hex": ""}, {"hex": 5}, {"bytes": b"short"}, {"bytes_le": b"x" * 17}, {"int": "5"}, {"fields": (1, 2)},
                  {"fields": (0, 0, 0, 0, 0, 2 ** 48)}, {"hex": "12345678123456781234567812345678", "int": 1}, {"int": 5, "version": 9}):
    attempt(lambda: uuid_utils.UUID(**arguments))
for arguments in ({"int": -1}, {"int": 2 ** 128}, {"fields": (2 ** 32, 0, 0, 0, 0, 0)}):  # said in another way by each PyO3
    try:
        print(uuid_utils.UUID(**arguments))
    except (OverflowError, ValueError):
        print("refused")
attempt(setattr, one, "hex", "0")
attempt(lambda: one == "12345678-1234-5678-1234-567812345678")
attempt(lambda: one < 5)
for space in ("DNS", "URL", "OID", "X500"):
    ours, theirs = getattr(uuid_utils, f"NAMESPACE_{space}"), getattr(uuid, f"NAMESPACE_{space}")
    for name in ("python.org", "", "ä" * 100, b"bytes"):
        print(uuid_utils.uuid3(ours, name), uuid_utils.uuid5(ours, name), name == b"bytes" or str(uuid.uuid5(theirs, name)) == str(uuid_utils.uuid5(ours, name)))
attempt(uuid_utils.uuid5, uuid.NAMESPACE_DNS, "x")
attempt(uuid_utils.uuid3, uuid_utils.NAMESPACE_DNS, 5)
first = uuid_utils.uuid1(node=0x123456789ABC, clock_seq=0x1234)
print(first.version, hex(first.node), hex(first.clock_seq), first.variant)
sixth = uuid_utils.uuid6(node=5, timestamp=1_700_000_000, nanos=123_456_700)
print(sixth.version, sixth.node, sixth.timestamp, hex(sixth.time), str(sixth)[:18])
seventh = uuid_utils.uuid7(timestamp=1_700_000_000, nanos=123_456_789)
print(seventh.version, seventh.timestamp, str(seventh)[:13], seventh.variant)
attempt(uuid_utils.uuid7, -1)
attempt(uuid_utils.uuid8, b"0123456789abcdef")
attempt(uuid_utils.uuid8, b"short")
attempt(lambda: uuid_utils.uuid4().timestamp)
print(uuid_utils.getnode() == uuid_utils.getnode() == uuid_utils.uuid1().node, uuid_utils.reseed_rng())
drawn = [uuid_utils.uuid7() for _ in range(20000)]
print(drawn == sorted(drawn), len(set(drawn)), len({uuid_utils.uuid4() for _ in range(20000)}), len({uuid_utils.uuid1() for _ in range(5000)}), len({uuid_utils.uuid6() for _ in range(5000)}))
bits = 0
for _ in range(200):
    bits |= int(uuid_utils.uuid4())
print(bits == 2 ** 128 - 1 - (0b1011 << 76) - (0b01 << 62))
made = [getattr(uuid_utils.compat, f"uuid{version}")() for version in (1, 4, 6, 7)]
print([(type(each) is uuid.UUID, each.version, each.is_safe) for each in made], uuid_utils.compat.uuid5(uuid.NAMESPACE_DNS, "x") == uuid.uuid5(uuid.NAMESPACE_DNS, "x"))
print(uuid_utils.compat.NIL, uuid_utils.compat.MAX, uuid_utils.compat.uuid8(b"0123456789abcdef"))
