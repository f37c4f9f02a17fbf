# packages: pillow
"""TIFF's compressions as Pillow reads and writes them: modes, tags, pages, samples that lie apart, what fails."""
import hashlib
import io
import struct
import warnings

from PIL import Image, ImageDraw, ImageSequence, ImageStat, TiffImagePlugin, features

COMPRESSIONS = ("tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "jpeg", "group3", "group4", "tiff_ccitt", "raw")


def told(data):
    return hashlib.sha256(data).hexdigest()[:16]


def scene(mode="RGB", size=(90, 70)):
    across = Image.linear_gradient("L").resize(size)
    picture = Image.merge("RGB", (across, across.rotate(180), across.rotate(90).resize(size)))
    ImageDraw.Draw(picture).ellipse((20, 10, 60, 50), fill=(200, 30, 90))
    return picture.convert(mode)


def encoded(picture, **settings):
    file = io.BytesIO()
    picture.save(file, "TIFF", **settings)
    return file.getvalue()


def opened(data):
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def fails(label, action):
    try:
        action()
    except Exception as problem:
        print(label, type(problem).__name__, str(problem).split(" at 0x")[0])
    else:
        print(label, "works")


print(features.check("libtiff"))
print("-- compressions")
for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "I;16", "I", "F"):
    picture = scene("L").convert(mode) if mode in ("I;16", "I", "F") else scene("RGB" if mode == "LAB" else mode)
    for compression in COMPRESSIONS:
        if (mode == "1") != compression.startswith(("group", "tiff_ccitt")) and compression.startswith(("group", "tiff_ccitt")):
            continue
        if compression == "jpeg" and mode in ("1", "P", "LA", "LAB", "I;16", "I", "F"):
            continue
        try:
            back = opened(encoded(picture, compression=compression))
        except Exception as problem:
            print(mode, compression, type(problem).__name__, problem)
        else:
            print(mode, compression, back.mode, back.size, back.info["compression"], back.tobytes() == picture.tobytes(),
                  told(back.tobytes()) if mode != "YCbCr" else [round(level / 3) for level in ImageStat.Stat(back).mean])
print("-- bytes")
for compression in ("tiff_lzw", "packbits", "group3", "group4"):
    data = encoded(scene("1"), compression=compression)
    print(compression, len(data), told(data))
sizes = [len(encoded(scene(), compression="jpeg", quality=quality)) for quality in (10, 50, 75, 95)]
print(sizes == sorted(sizes), len(set(sizes)))
print("-- tags")
info = TiffImagePlugin.ImageFileDirectory_v2()
info[270], info[305], info[282], info[37000] = "words", "a program", 300.0, 4
info.tagtype[37000] = 3
info[37001], info.tagtype[37001] = (1.5, 2.5), 12
info[37002], info.tagtype[37002] = b"\1\2\3", 7
info[37003], info.tagtype[37003] = (7, 8, 9), 3
for compression in ("tiff_lzw", "raw"):
    back = opened(encoded(scene(), compression=compression, tiffinfo=info, dpi=(200, 100), icc_profile=b"profile" * 9, description="other"))
    kept = {tag: back.tag_v2[tag] for tag in sorted(back.tag_v2) if tag not in (273, 279)}
    print(compression, {tag: value if not isinstance(value, bytes) else told(value) for tag, value in kept.items()}, back.info["dpi"])
exif = Image.Exif()
exif[0x010E] = "of exif"
print(opened(encoded(scene(), compression="tiff_lzw", exif=exif)).getexif()[0x010E], opened(encoded(scene(), compression="tiff_lzw", strip_size=500)).tag_v2[278])
print("-- pages")
pages = [scene("RGB"), scene("L"), scene("1")]
data = encoded(pages[0], save_all=True, append_images=pages[1:], compression="tiff_adobe_deflate")
back = Image.open(io.BytesIO(data))
print(back.n_frames, [(page.mode, told(page.tobytes())) for page in ImageSequence.Iterator(back)])
print("-- files")
scene().save("a.tif", compression="tiff_lzw")
with open("b.tif", "w+b") as file:
    scene().save(file, "TIFF", compression="tiff_lzw")
with Image.open("a.tif") as picture:
    print(picture.format, told(picture.tobytes()), open("a.tif", "rb").read() == open("b.tif", "rb").read() == encoded(scene(), compression="tiff_lzw"))
print(told(Image.open(open("b.tif", "rb")).resize((30, 20), reducing_gap=2).tobytes()))


def made(tags, blocks, order="<"):
    """A file of its tags (number, type, values) and of what its strips or tiles hold."""
    data, offsets = b"II*\0\0\0\0\0", []
    for block in blocks:
        offsets.append(len(data))
        data += block
    tags = {**tags, 324 if 322 in tags else 273: (4, offsets), 325 if 322 in tags else 279: (4, [len(block) for block in blocks])}
    entries = b""
    for number, (kind, values) in sorted(tags.items()):
        packed = struct.pack(f"<{len(values)}{'H' if kind == 3 else 'I'}", *values)
        if len(packed) > 4:
            packed, data = struct.pack("<I", len(data)), data + packed
        entries += struct.pack("<HHI", number, kind, len(values)) + packed.ljust(4, b"\0")
    return data[:4] + struct.pack("<I", len(data)) + data[8:] + struct.pack("<H", len(tags)) + entries + bytes(4)


def packed_bits(data):
    return b"".join(bytes([len(piece) - 1]) + piece for piece in (data[at:at + 128] for at in range(0, len(data), 128)))


print("-- made by hand")
base = {256: (3, [32]), 257: (3, [32]), 259: (3, [32773]), 262: (3, [2]), 258: (3, [8, 8, 8]), 277: (3, [3])}
planes = [bytes((x * k) & 255 for x in range(1024)) for k in (1, 2, 3)]
apart = opened(made({**base, 284: (3, [2]), 278: (3, [32])}, [packed_bits(plane) for plane in planes]))
print("apart", apart.mode, apart.tobytes() == Image.merge("RGB", [Image.frombytes("L", (32, 32), plane) for plane in planes]).tobytes())
together = Image.merge("RGB", [Image.frombytes("L", (32, 32), plane) for plane in planes])
tiles = [packed_bits(together.crop((x, y, x + 16, y + 16)).tobytes()) for y in (0, 16) for x in (0, 16)]
print("tiles", opened(made({**base, 322: (3, [16]), 323: (3, [16])}, tiles)).tobytes() == together.tobytes())
cut = opened(made({**base, 256: (3, [20]), 257: (3, [27]), 322: (3, [16]), 323: (3, [16])}, tiles))
print("cut tiles", cut.size, cut.tobytes() == together.crop((0, 0, 20, 27)).tobytes())
four = Image.merge("RGBA", (*together.split(), Image.frombytes("L", (32, 32), planes[1])))
for extra in (1, 2):
    alpha = opened(made({**base, 258: (3, [8] * 4), 277: (3, [4]), 338: (3, [extra]), 284: (3, [2]), 278: (3, [32])},
                        [packed_bits(band.tobytes()) for band in four.split()]))
    print("alpha", extra, alpha.mode, told(alpha.tobytes()))
sixteen = struct.pack("<1024H", *range(0, 65536, 64))
gray = {256: (3, [32]), 257: (3, [32]), 259: (3, [32773]), 262: (3, [1]), 258: (3, [16]), 277: (3, [1]), 278: (3, [8])}
strips = [packed_bits(sixteen[at:at + 512]) for at in range(0, 2048, 512)]
print("sixteen", opened(made(gray, strips)).mode, opened(made(gray, strips)).tobytes() == sixteen)
print("-- broken")
lzw = encoded(scene(), compression="tiff_lzw")
warnings.simplefilter("ignore")
fails("cut", lambda: opened(lzw[:2000]))
fails("hurt", lambda: opened(lzw[:20] + b"\xff" * 2000 + lzw[2020:]))
fails("quality", lambda: encoded(scene(), compression="jpeg", quality=101))
fails("quality of lzw", lambda: encoded(scene(), compression="tiff_lzw", quality=50))
fails("group4", lambda: encoded(scene(), compression="group4"))
fails("unknown", lambda: encoded(scene(), compression="nothing"))
fails("few strips", lambda: opened(made(gray, strips[:2])))
