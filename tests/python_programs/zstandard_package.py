# packages: zstandard
"""The package zstandard, whose code is C: what clients of HTTP and langsmith take Zstandard from."""
import array
import hashlib
import io
import pickle
import threading

import zstandard as zstd


def digest(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()[:16]}"


def shown(what, *args, **named):
    try:
        result = what(*args, **named)
        return digest(result) if isinstance(result, bytes) else repr(result).split(" object at ")[0]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


state = 12345
noise = bytearray()
for _ in range(40000):
    state = state * 1103515245 + 12345 & 0x7FFFFFFF
    noise.append(state >> 16 & 0xFF)
samples = {"empty": b"", "one": b"x", "text": b"the quick brown fox jumps over the lazy dog. " * 2000, "noise": bytes(noise), "zeros": bytes(1 << 20),
           "mixed": bytes(noise[:5000]) * 3 + b"abc" * 20000 + bytes(noise[5000:20000])}
print(zstd.__version__, zstd.ZSTD_VERSION, zstd.backend, sorted(zstd.backend_features), zstd.MAX_COMPRESSION_LEVEL, zstd.FRAME_HEADER, zstd.MAGIC_NUMBER)
unpacker = zstd.ZstdDecompressor()
for name, data in samples.items():
    packed = {level: zstd.ZstdCompressor(level=level).compress(data) for level in (-5, 1, 3, 9, 19, 22)}
    print(name, {level: digest(p) for level, p in packed.items()}, all(unpacker.decompress(p) == data for p in packed.values()))
    about = zstd.get_frame_parameters(packed[3])
    print(" ", about.content_size, about.window_size, about.dict_id, about.has_checksum, zstd.frame_content_size(packed[3]), zstd.frame_header_size(packed[3]))
    print(" ", zstd.compress(data) == packed[3], zstd.decompress(packed[3]) == data)
text, whole = samples["text"], zstd.ZstdCompressor(write_checksum=True).compress(samples["text"])
for options in ({"write_checksum": True}, {"write_content_size": False}, {"write_dict_id": False}, {"level": 23}, {"level": "3"}, {"dict_data": b""}, {"compression_params": 5},
                {"level": -100000}):
    print(options, shown(lambda: zstd.ZstdCompressor(**options).compress(text)))
for broken in (b"", b"\0", whole[:-1], whole[:10], b"x" * 20, whole[:-1] + bytes([whole[-1] ^ 1]), whole + b"rest", whole + whole, "text", None, 5):
    print(shown(unpacker.decompress, broken), shown(zstd.frame_content_size, broken), shown(zstd.get_frame_parameters, broken))
print(shown(unpacker.decompress, whole + b"rest", allow_extra_data=False), shown(unpacker.decompress, whole + whole, read_across_frames=True))
unsized = zstd.ZstdCompressor(write_content_size=False).compress(text)
print(shown(unpacker.decompress, unsized), shown(unpacker.decompress, unsized, max_output_size=len(text)), shown(unpacker.decompress, unsized, max_output_size=10))
print(shown(zstd.ZstdDecompressor(max_window_size=1 << 12).decompress, zstd.ZstdCompressor().compress(bytes(noise) * 3)))
print(shown(zstd.ZstdDecompressor(max_window_size=1 << 12).stream_reader(io.BytesIO(zstd.ZstdCompressor(write_content_size=False).compress(bytes(noise) * 3))).read))

params = zstd.ZstdCompressionParameters(compression_level=7, window_log=15, write_checksum=True, strategy=zstd.STRATEGY_LAZY2, enable_ldm=True, ldm_hash_log=12)
print(params.compression_level, params.window_log, params.write_checksum, params.strategy, params.enable_ldm, params.ldm_hash_log, params.write_content_size)
print(shown(zstd.ZstdCompressor(compression_params=params).compress, samples["mixed"]), shown(zstd.ZstdCompressor, compression_params=params, threads=2))
print(shown(zstd.ZstdCompressor, compression_params=params, write_checksum=True))
other = zstd.ZstdCompressionParameters.from_level(5, source_size=100000, dict_size=10, window_log=14)
print(other.window_log, other.hash_log, other.chain_log, other.search_log, other.min_match, other.target_length, other.strategy)
print(shown(zstd.ZstdCompressionParameters, window_log=99), shown(zstd.ZstdCompressionParameters, strategy=77), shown(zstd.ZstdCompressionParameters.from_level, "x"))
bare = zstd.ZstdCompressionParameters(format=zstd.FORMAT_ZSTD1_MAGICLESS)
magicless = zstd.ZstdCompressor(compression_params=bare).compress(text)
print(zstd.ZstdDecompressor(format=zstd.FORMAT_ZSTD1_MAGICLESS).decompress(magicless) == text, shown(unpacker.decompress, magicless))
for threads in (1, 4, -1):
    several = zstd.ZstdCompressor(threads=threads)
    print(unpacker.decompress(several.compress(samples["mixed"] * 20)) == samples["mixed"] * 20, several.frame_progression()[1] == len(samples["mixed"]) * 20)
    workers = zstd.ZstdCompressionParameters(threads=threads, job_size=1 << 20, overlap_log=3)
    print(unpacker.decompress(zstd.ZstdCompressor(compression_params=workers).compress(text)) == text)

pusher = zstd.ZstdCompressor(level=5).compressobj(size=len(text))
parts = [pusher.compress(text[:1000]), pusher.compress(text[1000:5000]), pusher.flush(zstd.COMPRESSOBJ_FLUSH_BLOCK), pusher.compress(text[5000:]), pusher.flush()]
print([len(part) for part in parts], digest(b"".join(parts)), shown(pusher.compress, b"more"), shown(pusher.flush), shown(pusher.flush, 77))
print(shown(zstd.ZstdCompressor().compressobj(size=5).compress, b"too much of it" * 100000))
puller = zstd.ZstdDecompressor().decompressobj()
print(b"".join(puller.decompress(whole[at:at + 7]) for at in range(0, len(whole), 7)) == text, puller.eof, puller.unused_data, puller.unconsumed_tail, shown(puller.decompress, b"x"))
puller = zstd.ZstdDecompressor().decompressobj(read_across_frames=False)
print(digest(puller.decompress(whole + b"tail")), puller.unused_data, puller.eof)
print(digest(zstd.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(whole * 3)))
chunker = zstd.ZstdCompressor().chunker(chunk_size=100)
pieces = [bytes(piece) for at in range(0, len(noise), 5000) for piece in chunker.compress(noise[at:at + 5000])] + [bytes(piece) for piece in chunker.finish()]
print({len(piece) for piece in pieces[:-1]}, len(pieces), unpacker.decompressobj().decompress(b"".join(pieces)) == noise, shown(chunker.compress, b"x"))

with zstd.ZstdCompressor().stream_reader(io.BytesIO(text), size=len(text)) as reader:
    packed = reader.read(10) + reader.read1(20) + reader.readall()
    print(digest(packed), reader.tell(), reader.readable(), reader.writable(), reader.seekable(), shown(reader.readline))
print(reader.closed, shown(reader.read, 5))
for source in (whole, io.BytesIO(whole), memoryview(whole), bytearray(whole), array.array("B", whole)):
    with zstd.ZstdDecompressor().stream_reader(source, read_size=100) as reader:
        room = bytearray(1000)
        print(reader.read(100) == text[:100], reader.seek(50, io.SEEK_CUR), reader.readinto(room), bytes(room) == text[150:1150], reader.tell(), digest(reader.read()), reader.read())
print(shown(zstd.ZstdDecompressor().stream_reader, 5), shown(zstd.ZstdDecompressor().stream_reader(b"broken" * 10).read), shown(zstd.ZstdDecompressor().stream_reader(whole[:-5]).read))
print(shown(zstd.ZstdDecompressor().stream_reader(whole).seek, -1), shown(zstd.ZstdDecompressor().stream_reader(whole).read, -2))
box = io.BytesIO()
with zstd.ZstdCompressor().stream_writer(box, closefd=False) as writer:
    print(writer.write(text[:100]), writer.flush(), writer.write(memoryview(text)[100:]), writer.tell() > 0, writer.memory_size() > 0, shown(writer.write, "text"), shown(writer.read))
print(digest(box.getvalue()), shown(writer.write, b"x"), box.closed)
out = io.BytesIO()
with zstd.ZstdDecompressor().stream_writer(out, closefd=False) as writer:
    print(writer.write(box.getvalue()), out.getvalue() == text, shown(writer.write, b"rest"))


class Refusing:
    def write(self, data):
        raise OSError(28, "full")

    def read(self, size):
        raise ValueError("no more")


print(shown(lambda: zstd.ZstdCompressor().stream_writer(Refusing()).write(bytes(noise) * 10)), shown(lambda: zstd.ZstdDecompressor().stream_writer(Refusing()).write(whole)))
print(shown(lambda: zstd.ZstdCompressor().stream_reader(Refusing()).read()), shown(lambda: list(zstd.ZstdCompressor().read_to_iter(Refusing()))))
print(digest(b"".join(zstd.ZstdCompressor().read_to_iter(io.BytesIO(text)))), digest(b"".join(zstd.ZstdDecompressor().read_to_iter(io.BytesIO(whole)))), shown(zstd.ZstdCompressor().read_to_iter, 5))
box, again = io.BytesIO(), io.BytesIO()
print(zstd.ZstdCompressor().copy_stream(io.BytesIO(text), box), zstd.ZstdDecompressor().copy_stream(io.BytesIO(box.getvalue()), again), again.getvalue() == text)
print(shown(zstd.ZstdCompressor().copy_stream, io.BytesIO(text), Refusing()), shown(zstd.ZstdCompressor().copy_stream, 5, box))

with zstd.open("lines.zst", "wt", encoding="utf-8") as file:
    file.writelines(f"line {number} ä\n" for number in range(1000))
with zstd.open("lines.zst", "rt", encoding="utf-8") as file:
    print(sum(1 for _ in file), file.closed)
print(shown(zstd.open, "lines.zst", "x+"), shown(zstd.open, "nothing.zst"))

words = [b"user=%d name=person%d role=%s" % (i, i * 7 % 100, (b"admin", b"guest", b"editor")[i % 3]) for i in range(3000)]
trained = zstd.train_dictionary(4096, words)
print(len(trained), trained.dict_id() > 0, digest(trained.as_bytes()), trained.k, trained.d, digest(zstd.train_dictionary(4096, words, k=64, d=8, level=5, dict_id=42).as_bytes()))
print(zstd.train_dictionary(4096, words, dict_id=4_000_000_000).dict_id())
small = zstd.ZstdCompressor(dict_data=trained).compress(words[5])
print(len(small), zstd.ZstdDecompressor(dict_data=trained).decompress(small) == words[5], shown(unpacker.decompress, small), zstd.get_frame_parameters(small).dict_id == trained.dict_id())
print(trained.precompute_compress(level=3), zstd.ZstdCompressor(dict_data=trained).compress(words[5]) == small, shown(trained.precompute_compress))
raw = zstd.ZstdCompressionDict(words[1] * 3, dict_type=zstd.DICT_TYPE_RAWCONTENT)
print(raw.dict_id(), len(zstd.ZstdCompressor(dict_data=raw).compress(words[1])), shown(zstd.ZstdCompressionDict, b"x", dict_type=77), shown(zstd.ZstdCompressionDict, "x"))
print(shown(zstd.train_dictionary, 10, words), shown(zstd.train_dictionary, 4096, []), shown(zstd.train_dictionary, 4096, ["x"]))
chain = [text[:2000], text[:2000] + b"changed", text[:2500]]
frames = [zstd.ZstdCompressor().compress(chain[0])]
for before, after in zip(chain, chain[1:]):
    frames.append(zstd.ZstdCompressor(dict_data=zstd.ZstdCompressionDict(before, dict_type=zstd.DICT_TYPE_RAWCONTENT)).compress(after))
print(unpacker.decompress_content_dict_chain(frames) == chain[-1], shown(unpacker.decompress_content_dict_chain, []), shown(unpacker.decompress_content_dict_chain, ["x"]))

many = zstd.ZstdCompressor().multi_compress_to_buffer([text, bytes(noise), words[0]] * 5, threads=4)
print(len(many), many.size(), [len(many[at]) for at in range(3)], unpacker.decompress(many[0].tobytes()) == text, shown(lambda: many[99]))
back = unpacker.multi_decompress_to_buffer(many, threads=-1)
print(len(back), back.size(), back[1].tobytes() == bytes(noise), back[0].offset, bytes(memoryview(back[2])) == words[0])
print(shown(unpacker.multi_decompress_to_buffer, [b"broken"]), shown(zstd.ZstdCompressor().multi_compress_to_buffer, [1]))
segments = zstd.BufferWithSegments(b"abcdefgh", array.array("Q", [0, 3, 3, 5]).tobytes())
print(len(segments), segments[1].tobytes(), segments.size, shown(zstd.BufferWithSegments, b"abc", b"short"), shown(zstd.BufferWithSegments, b"abc", array.array("Q", [2, 9]).tobytes()))
print(shown(lambda: segments[5]), len(zstd.BufferWithSegmentsCollection(segments, segments)), shown(zstd.BufferWithSegmentsCollection), shown(zstd.BufferWithSegmentsCollection, 5))
print(shown(pickle.dumps, zstd.ZstdCompressor()), shown(pickle.dumps, trained), unpacker.memory_size() > 0, zstd.estimate_decompression_context_size() > 0)

large = b"".join(hashlib.sha256(b"%d" % number).digest() * 40 for number in range(16000))
print(len(large), digest(zstd.ZstdCompressor(level=1).compress(large)), unpacker.decompress(zstd.ZstdCompressor(level=1).compress(large)) == large)
results = []
threads = [threading.Thread(target=lambda level=level: results.append(zstd.decompress(zstd.compress(large[:1 << 22], level)) == large[:1 << 22])) for level in range(1, 5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)


class Writer:
    def __init__(self):
        self.parts = []

    def write(self, data):
        self.parts.append(bytes(data))
        return len(data)


kept = Writer()
writer = zstd.ZstdCompressor(level=3).stream_writer(kept, write_size=1000)
for at in range(0, len(samples["mixed"]), 3000):
    writer.write(samples["mixed"][at:at + 3000])
print(writer.flush(zstd.FLUSH_FRAME) > 0, max(map(len, kept.parts)) <= 1000, unpacker.decompressobj().decompress(b"".join(kept.parts)) == samples["mixed"], writer.close(), shown(writer.fileno))
