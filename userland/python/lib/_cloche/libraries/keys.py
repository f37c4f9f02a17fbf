"""hashlib's keys out of passwords, which the library takes from OpenSSL: scrypt and PBKDF2."""

MAX = 2**31 - 1
SCRYPT_MEMORY = 32 << 20  # bytes, where nobody says how many
SCRYPT_PRODUCT = 2**30  # of r and p


def _bytes(value):
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise TypeError(f"a bytes-like object is required, not {type(value).__name__!r}") from None


def _unsigned(value, name):
    if not isinstance(value, int):
        raise TypeError(f"scrypt() argument {name!r} must be int, not {type(value).__name__}")
    if value < 0:
        raise ValueError("value must be positive")
    if value >= 2**64:
        raise OverflowError("Python int too large to convert to C unsigned long")
    return value


def scrypt(password, *, salt, n, r, p, maxmem=0, dklen=64):
    """scrypt password-based key derivation function."""
    import _scrypt
    password, salt = _bytes(password), _bytes(salt)
    n, r, p = _unsigned(n, "n"), _unsigned(r, "r"), _unsigned(p, "p")
    if n < 2 or n & (n - 1):
        raise ValueError("n must be a power of 2.")
    for name, value in (("maxmem", maxmem), ("dklen", dklen)):
        if not isinstance(value, int):
            raise TypeError(f"scrypt() argument {name!r} must be int, not {type(value).__name__}")
        if not -2**63 <= value < 2**63:
            raise OverflowError("Python int too large to convert to C long")
    if not 0 <= maxmem <= MAX:
        raise ValueError(f"maxmem must be positive and smaller than {MAX}")
    if not 1 <= dklen <= MAX:
        raise ValueError(f"dklen must be greater than 0 and smaller than {MAX}")
    if r == 0 or p == 0:
        raise ValueError("Invalid parameter combination for n, r, p, maxmem.")
    if p * r >= SCRYPT_PRODUCT or 16 * r < 64 and n >= 1 << 16 * r or p * 128 * r + 128 * r * (n + 2) > (maxmem or SCRYPT_MEMORY):
        raise ValueError("[digital envelope routines] memory limit exceeded")
    return _scrypt.scrypt(password, salt, n, r, p, dklen)


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Password based key derivation function 2 (PKCS #5 v2.0) with HMAC as pseudorandom function."""
    import hmac
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    start = hmac.new(bytes(password), None, hash_name)
    length = start.digest_size if dklen is None else dklen
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    if start.name == "hmac-sha256":
        import _scrypt
        return _scrypt.pbkdf2_sha256(bytes(password), bytes(salt), iterations, length)
    key = b""
    for number in range(1, -(-length // start.digest_size) + 1):
        step = start.copy()
        step.update(bytes(salt) + number.to_bytes(4, "big"))
        last = step.digest()
        total = int.from_bytes(last, "big")
        for _ in range(iterations - 1):
            step = start.copy()
            step.update(last)
            last = step.digest()
            total ^= int.from_bytes(last, "big")
        key += total.to_bytes(start.digest_size, "big")
    return key[:length]


def install():
    import hashlib
    for function in (pbkdf2_hmac, scrypt):
        if not hasattr(hashlib, function.__name__):
            function.__module__ = "hashlib"
            setattr(hashlib, function.__name__, function)
            hashlib.__all__ += (function.__name__,)
