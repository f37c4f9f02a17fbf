# packages: pillow
"""JPEG 2000 as Pillow reads and writes it: modes, settings, what is reduced, what fails."""
import hashlib
import io

from PIL import Image, ImageChops, ImageDraw, ImageStat, features


def told(data):
    return hashlib.sha256(data).hexdigest()[:16]


def scene(mode="RGB", size=(90, 70)):
    across = Image.linear_gradient("L").resize(size)
    picture = Image.merge("RGB", (across, across.rotate(180), across.rotate(90).resize(size)))
    ImageDraw.Draw(picture).ellipse((20, 10, 60, 50), fill=(200, 30, 90))
    if mode == "I;16":
        return Image.frombytes("I;16", size, b"".join(bytes((value * 7 & 255, value)) for value in picture.convert("L").tobytes()))
    return picture.convert(mode)


def encoded(picture, **settings):
    file = io.BytesIO()
    picture.save(file, "JPEG2000", **settings)
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


def error(a, b):
    return [round(value / 4) for value in ImageStat.Stat(ImageChops.difference(a.convert("RGB"), b.convert("RGB"))).rms]


print(features.check("jpg_2000"))
print("-- modes")
for mode in ("L", "LA", "RGB", "RGBA", "YCbCr", "CMYK", "I;16"):
    for kind in (False, True):
        data = encoded(scene(mode), no_jp2=kind)
        back = opened(data)
        print(mode, back.format, back.get_format_mimetype(), back.mode, back.size, back.tobytes() == scene(mode).tobytes(), told(back.tobytes()))
print("-- settings")
for settings in ({}, {"num_resolutions": 3}, {"codeblock_size": (32, 32)}, {"precinct_size": (64, 64)}, {"tile_size": (32, 32)}, {"mct": 1},
                 {"offset": (5, 7), "tile_size": (50, 50)}, {"progression": "RPCL"}, {"comment": "made here"}, {"plt": True}, {"signed": True},
                 {"num_resolutions": 2, "tile_size": (64, 64), "tile_offset": (0, 0)}):
    data = encoded(scene(), no_jp2=True, **settings)
    back = opened(data)
    print(settings, back.size, back.info.get("comment", b"")[:18], back.tobytes() == scene().tobytes())
for settings in ({"irreversible": True}, {"quality_mode": "rates", "quality_layers": [20]}, {"quality_mode": "dB", "quality_layers": [30, 45]},
                 {"quality_layers": [40, 10], "irreversible": True, "mct": 1}):
    data = encoded(scene(), **settings)
    print(settings, len(data) < 9000, error(opened(data), scene()))
sizes = [len(encoded(scene(), quality_layers=[rate], irreversible=True)) for rate in (80, 40, 20, 5)]
print(sizes == sorted(sizes), len(set(sizes)))
print("-- less of it")
data = encoded(scene(size=(160, 128)), num_resolutions=5)
for reduce in (0, 1, 2, 3):
    picture = Image.open(io.BytesIO(data))
    picture.reduce = reduce
    picture.load()
    print(reduce, picture.size, told(picture.tobytes()))
print("-- files")
scene().save("a.jp2")
scene("L").save("b.j2k")
for name in ("a.jp2", "b.j2k"):
    with Image.open(name) as picture:
        print(picture.format, picture.mode, told(picture.resize((20, 20)).tobytes()), open(name, "rb").read(4))
print("-- broken")
fails("cut", lambda: opened(encoded(scene())[:1500]))
fails("head", lambda: opened(encoded(scene())[:100]))
fails("hurt", lambda: opened(encoded(scene())[:140] + bytes(300)))
fails("mode", lambda: encoded(scene("P")))
fails("layers", lambda: encoded(scene(), quality_layers="few"))
fails("progression", lambda: encoded(scene(), progression="none"))
fails("tiles", lambda: encoded(scene(), tile_size=(10, 10), tile_offset=(5, 5)))
fails("tiles apart", lambda: encoded(scene(), offset=(50, 50), tile_size=(10, 10)))
fails("comment", lambda: encoded(scene(), comment="x" * 70000))
