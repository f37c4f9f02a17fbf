import hashlib, io, pickle, sys, tarfile, threading
try:
    from compression import zstd
    import zipfile
except ImportError:  # the native side: the same code for older interpreters
    from backports import zstd
from types import SimpleNamespace


def digest(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()[:16]}"


def shown(function, *arguments, **named):
    try:
        result = function(*arguments, **named)
        return digest(result) if isinstance(result, bytes) else repr(result)
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("backports.zstd", "compression.zstd")


state = 12345
noise = bytearray()
for _ in range(40000):
    state = state * 1103515245 + 12345 & 0x7FFFFFFF
    noise.append(state >> 16 & 0xFF)
samples = {"empty": b"", "one": b"x", "text": b"the quick brown fox jumps over the lazy dog. " * 2000, "noise": bytes(noise),
           "zeros": bytes(1 << 20), "mixed": bytes(noise[:5000]) * 3 + b"abc" * 20000 + bytes(noise[5000:20000])}
print(zstd.zstd_version, zstd.zstd_version_info, zstd.COMPRESSION_LEVEL_DEFAULT)
for name, data in samples.items():
    packed = {level: zstd.compress(data, level=level) for level in (-5, 1, 3, 9, 19, 22)}
    print(name, {level: digest(p) for level, p in packed.items()}, all(zstd.decompress(p) == data for p in packed.values()))
    print(" ", zstd.get_frame_info(packed[3]), zstd.get_frame_size(packed[3]) == len(packed[3]))
C, D = zstd.CompressionParameter, zstd.DecompressionParameter
for one in C:
    if one.name not in ("nb_workers", "job_size", "overlap_log", "window_log", "chain_log", "hash_log", "search_log", "ldm_hash_rate_log"):  # by the address's size, or threads
        print(one.name, int(one), one.bounds())
print(D.window_log_max.name, [s.name for s in zstd.Strategy])
text = samples["text"]
for options in ({C.checksum_flag: 1}, {C.content_size_flag: 0}, {C.strategy: zstd.Strategy.btultra2, C.compression_level: 5}, {C.window_log: 12},
                {C.enable_long_distance_matching: 1}, {C.compression_level: 1000}, {"a": 1}, {C.checksum_flag: "x"}):
    print(options if all(isinstance(k, C) for k in options) else "other keys", shown(zstd.compress, text, options=options))
print(shown(zstd.compress, text, level=3, options={C.checksum_flag: 1}), shown(zstd.compress, "text"), shown(zstd.compress, b"", level="3"))
whole = zstd.compress(text, options={C.checksum_flag: 1})
for broken in (b"", b"\0", whole[:-1], whole[:10], b"x" * 20, whole[:-1] + bytes([whole[-1] ^ 1]), whole + b"rest", whole + whole):
    print(shown(zstd.decompress, broken))
c = zstd.ZstdCompressor(level=5)
parts = [c.compress(text[:1000]), c.compress(text[1000:5000], c.FLUSH_BLOCK), c.compress(text[5000:]), c.flush(), c.compress(b"second", c.FLUSH_FRAME), c.flush()]
print([len(part) > 0 for part in parts], zstd.decompress(b"".join(parts)) == text + b"second", c.last_mode == c.FLUSH_FRAME)
print(shown(c.compress, b"", 77), shown(c.flush, c.CONTINUE), shown(c.set_pledged_input_size, 3), shown(zstd.ZstdCompressor, 3, {}), shown(pickle.dumps, c))
c.set_pledged_input_size(10)
c.compress(b"12345")
print(shown(c.flush))
d = zstd.ZstdDecompressor()
out = []
for start in range(0, len(whole), 7):
    out.append(d.decompress(whole[start:start + 7]))
print(b"".join(out) == text, d.eof, d.needs_input, d.unused_data, shown(d.decompress, b"more"))
d = zstd.ZstdDecompressor()
pieces = [d.decompress(whole + b"tail", max_length=100)]
while not d.eof:
    pieces.append(d.decompress(b"", max_length=1000))
print(b"".join(pieces) == text, max(map(len, pieces)), d.unused_data)
print(shown(zstd.ZstdDecompressor(options={D.window_log_max: 10}).decompress, zstd.compress(samples["zeros"] + samples["noise"], options={C.window_log: 20, C.content_size_flag: 0})))
words = [b"user=%d name=person%d role=%s" % (i, i * 7 % 100, (b"admin", b"guest", b"editor")[i % 3]) for i in range(3000)]
trained = zstd.train_dict(words, 4096)
print(len(trained), trained.dict_id > 0, repr(trained).startswith("<ZstdDict dict_id="), digest(trained.dict_content))
for one in (trained, trained.as_digested_dict, trained.as_undigested_dict, trained.as_prefix):
    small = zstd.compress(words[5], zstd_dict=one)
    print(len(small), shown(zstd.decompress, small, zstd_dict=one if one is not trained.as_digested_dict else trained), shown(zstd.decompress, small))
final = zstd.finalize_dict(zstd.ZstdDict(trained.dict_content), words, 8192, 5)
print(len(final), shown(zstd.train_dict, [], 100), shown(zstd.train_dict, words, 0), shown(zstd.ZstdDict, b"short"), shown(zstd.ZstdDict, b"raw content", is_raw=True) != "")
box = io.BytesIO()
with zstd.open(box, "wb", level=7) as file:
    print(file.write(text), file.writable(), file.readable(), file.seekable(), shown(file.read))
box.seek(0)
with zstd.open(box, "rt", encoding="ascii") as file:
    print(file.readline() == file.read()[:0], file.closed)
box.seek(0)
with zstd.ZstdFile(box) as file:
    print(file.seek(100), file.read(9), file.peek(3)[:3], file.tell(), file.seek(-3, 2), file.read(), file.seek(0), digest(file.read()), file.mode)
print(shown(zstd.open, box, "q"), shown(zstd.ZstdFile, box, "r", level=3), shown(zstd.ZstdFile, "/nowhere/x.zst"))
results = [None] * 4


def work(i):
    data = samples["mixed"] + bytes([i]) * 1000
    results[i] = zstd.decompress(zstd.compress(data, level=i + 1)) == data


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
