# ripgrep: the module lies in a script of the package, compressed and as text. rg is a small program of ours that starts it.
python3 -B "$PORT/decode.py" lib/_rg.wasm.mjs > rg.wasm.br
brotli --decompress rg.wasm.br
mkdir -p "$OUT/usr/libexec"
install -m 755 rg.wasm "$OUT/usr/libexec/rg"
$CC -O2 -Wall -Wextra -Werror -o "$OUT/usr/bin/rg" "$PORT/rg.c"
$STRIP "$OUT/usr/bin/rg"
