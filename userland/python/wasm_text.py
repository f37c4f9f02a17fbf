"""The few WebAssembly instructions that the patches of the interpreter are written in, as bytes."""

PLAIN = {
    "end": 0x0B, "else": 0x05, "return": 0x0F, "drop": 0x1A, "select": 0x1B,
    "i32.eqz": 0x45, "i32.eq": 0x46, "i32.ne": 0x47, "i32.lt_s": 0x48, "i32.lt_u": 0x49, "i32.gt_s": 0x4A, "i32.ge_s": 0x4E,
    "i32.add": 0x6A, "i32.sub": 0x6B, "i32.and": 0x71, "i32.or": 0x72, "i32.shl": 0x74, "i32.shr_u": 0x76,
    "i64.lt_s": 0x53, "i64.lt_u": 0x54, "i64.add": 0x7C, "i64.sub": 0x7D, "i64.mul": 0x7E, "i64.div_s": 0x7F, "i64.div_u": 0x80, "i64.rem_u": 0x82, "i64.and": 0x83,
    "i64.shr_u": 0x88, "i64.extend_i32_s": 0xAC, "i64.extend_i32_u": 0xAD,
}
OPENING = {"block": 0x02, "loop": 0x03, "if": 0x04}
INDEXED = {"br": 0x0C, "br_if": 0x0D, "call": 0x10, "local.get": 0x20, "local.set": 0x21, "local.tee": 0x22,
           "global.get": 0x23, "global.set": 0x24}
# With the alignment that is always true.
MEMORY = {"i32.load": 0x28, "i64.load": 0x29, "i32.load8_u": 0x2D, "i32.store": 0x36, "i64.store": 0x37}
CONSTANT = {"i32.const": 0x41, "i64.const": 0x42}
EMPTY_BLOCK = 0x40


def unsigned(value: int) -> bytes:
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def signed(value: int) -> bytes:
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        done = value == (-1 if low & 0x40 else 0)
        out.append(low if done else low | 0x80)
        if done:
            return bytes(out)


def assemble(text: str, **names: int) -> bytes:
    """Instructions divided by line ends or semicolons; a word that is one of `names` stands for its number."""
    out = bytearray()
    for line in text.replace(";", "\n").splitlines():
        if not line.strip():
            continue
        word, *rest = line.split()
        operands = [names[part] if part in names else int(part, 0) for part in rest]
        if word in PLAIN:
            out.append(PLAIN[word])
        elif word in OPENING:
            out += bytes([OPENING[word], EMPTY_BLOCK])
        elif word in INDEXED:
            out += bytes([INDEXED[word]]) + unsigned(operands[0])
        elif word in MEMORY:
            out += bytes([MEMORY[word], 0]) + unsigned(operands[0] if operands else 0)
        elif word in CONSTANT:
            out += bytes([CONSTANT[word]]) + signed(operands[0])
        else:
            raise ValueError(f"no instruction {word!r}")
    return bytes(out)
