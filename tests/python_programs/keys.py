import hashlib

for arguments in ((b"", b"", 16, 1, 1), (b"password", b"NaCl", 1024, 8, 16), (b"pleaseletmein", b"SodiumChloride", 16384, 8, 1), (b"p" * 200, b"s" * 100, 2, 1, 3)):
    password, salt, n, r, p = arguments
    print(n, r, p, hashlib.scrypt(password, salt=salt, n=n, r=r, p=p).hex())
for size in (1, 31, 32, 33, 100):
    print(size, hashlib.scrypt(bytearray(b"key"), salt=memoryview(b"salt"), n=4, r=2, p=2, dklen=size).hex())
good = {"salt": b"salt", "n": 2, "r": 1, "p": 1}
for change in ({"n": 3}, {"n": 0}, {"n": 1}, {"n": None}, {"n": 2.0}, {"r": 0}, {"p": 0}, {"r": "1"}, {"dklen": None}, {"maxmem": 1.0}, {"n": 1 << 20, "r": 8},
               {"n": 16384, "r": 8, "maxmem": 1 << 20}, {"r": 1 << 20, "p": 1 << 20}, {"n": 1 << 16, "maxmem": 1 << 30}, {"dklen": 0}, {"dklen": -1}, {"dklen": 2**31},
               {"maxmem": -1}, {"salt": None}, {"salt": "text"}):
    try:
        print(change, hashlib.scrypt(b"p", **{**good, **change}).hex())
    except Exception as error:
        print(change, type(error).__name__, error if type(error) is not TypeError else "")
for lacking in good:
    try:
        hashlib.scrypt(b"p", **{name: value for name, value in good.items() if name != lacking})
    except TypeError as error:
        print(lacking, type(error).__name__)
for arguments in (("text",), (None,)):
    try:
        hashlib.scrypt(*arguments, **good)
    except TypeError as error:
        print(error)
print(hashlib.scrypt(b"p", salt=b"s", n=1 << 15, r=8, p=1, maxmem=1 << 26).hex()[:32])
for name in ("sha1", "sha256", "sha512", "sha3_256"):
    try:
        print(name, [hashlib.pbkdf2_hmac(name, b"password", b"salt", count, size).hex()[:40] for count, size in ((1, None), (2, 20), (1000, 77))])
    except ValueError as error:
        print(name, "ValueError")
print(hashlib.pbkdf2_hmac("sha256", b"passwd" * 20, b"", 3).hex(), hashlib.pbkdf2_hmac("sha256", bytearray(b"a\0b"), memoryview(b"c"), 1, 5))
