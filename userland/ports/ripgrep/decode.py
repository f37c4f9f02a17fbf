"""decode.py FILE: the bytes that a script of the package holds as a Z85 text (ZeroMQ RFC 32), to stdout."""

import pathlib
import re
import sys

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def decode(text):
    value_of = {digit: value for value, digit in enumerate(DIGITS)}
    words = []
    for start in range(0, len(text), 5):
        word = 0
        for digit in text[start:start + 5]:
            word = word * 85 + value_of[digit]
        words.append(word.to_bytes(4, "big"))
    return b"".join(words)


def main():
    script = pathlib.Path(sys.argv[1]).read_text()
    text = re.search(r'getEncoded = \(\) => "([^"]+)"', script)
    length = re.search(r"compressedByteLength = (\d+)", script)
    if not text or not length:
        sys.exit(f"{sys.argv[1]} is not as expected")
    sys.stdout.buffer.write(decode(text[1])[:int(length[1])])


if __name__ == "__main__":
    main()
