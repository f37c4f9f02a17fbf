# packages: bcrypt tiktoken
import base64
import hashlib
import warnings

import bcrypt
import tiktoken

SALT = b"$2b$05$abcdefghijklmnopqrstuu"
for password in (b"", b"secret", "p\u00e4ss".encode(), b"x" * 72):
    made = bcrypt.hashpw(password, SALT)
    print(made, bcrypt.checkpw(password, made), bcrypt.checkpw(b"other", made))
for arguments in ((b"x" * 73, SALT), (b"a", b"salt"), (b"a", b"$2z$05$abcdefghijklmnopqrstuu"), ("text", SALT), (b"a\0b", SALT)):
    try:
        print(bcrypt.hashpw(*arguments))
    except Exception as error:
        print(type(error).__name__, error if type(error) is not TypeError else "")
print(len({bcrypt.gensalt(4) for _ in range(10)}), bcrypt.gensalt(6, b"2a")[:7], bcrypt.checkpw(b"new", bcrypt.hashpw(b"new", bcrypt.gensalt(4))))
print(bcrypt.kdf(b"password", b"salt", 40, 60).hex())
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(bcrypt.kdf(b"password", b"salt", 16, 4).hex(), len(told))
for salt, count in ((b"", 60), (b"s", 0)):
    try:
        bcrypt.kdf(b"password", salt, 16, count)
    except ValueError as error:
        print(error)

PATTERN = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""
ranks = {bytes([byte]): byte for byte in range(256)}
for word in ("th", "the", " t", " the", "in", "ing", "er", "an", "and", " and", "qu", "qui", "quick", " quick", "\u00e4", "12", "123"):
    ranks.setdefault(word.encode(), len(ranks))
small = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={"<|end|>": 1000})
text = "The quick and the thing, they're quicker: 12345 \u00e4\u00f6 \U0001f600\n\n  and   end"
tokens = small.encode(text)
print(small, small.n_vocab, small.max_token_value, tokens)
print(small.decode(tokens) == text, small.decode_tokens_bytes(tokens)[:8], small.decode_with_offsets(tokens)[1][:12])
print(small.encode("a<|end|>b", allowed_special="all"), small.encode("a<|end|>b", disallowed_special=()), small.encode_ordinary("a<|end|>b"))
for call in (lambda: small.encode("a<|end|>b"), lambda: small.decode([5000]), lambda: small.encode_single_token("nothing"), lambda: tiktoken.get_encoding("none"),
             lambda: tiktoken.encoding_for_model("nobody")):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0][:100])
print(small.encode_single_token("the"), small.decode_single_token_bytes(258), sorted(small.encode_with_unstable("thi")[1]), small.token_byte_values()[254:259])
print(small.encode_batch([text, "the", ""])[1:], small.decode_batch([[104, 105], tokens])[0], small.encode_to_numpy.__name__)
longer = text * 500
print(len(small.encode(longer)), hashlib.sha256(str(small.encode(longer)).encode()).hexdigest()[:16], small.decode(small.encode(longer)) == longer)
print(tiktoken.encoding_name_for_model("gpt-4o"), tiktoken.list_encoding_names())
