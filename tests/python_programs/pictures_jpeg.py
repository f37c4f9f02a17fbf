# packages: pillow
"""JPEG as Pillow decodes and encodes it: every setting of the encoder, colours, metadata, drafts, files that are broken."""
import hashlib
import io
import os
import random
import re
import warnings

from PIL import Image, ImageChops, ImageDraw, ImageFile, ImageOps, ImageStat, JpegImagePlugin, features


def scene(size=(160, 120)):
    """Gradients, edges and noise."""
    chance = random.Random(7)
    across = Image.linear_gradient("L").resize(size)
    picture = Image.merge("RGB", (across, across.rotate(90).resize(size), ImageOps.invert(across)))
    draw = ImageDraw.Draw(picture)
    for _ in range(30):
        x, y = chance.randrange(size[0]), chance.randrange(size[1])
        draw.ellipse((x, y, x + 20, y + 12), fill=tuple(chance.randrange(256) for _ in range(3)))
    return picture


def encoded(picture, **settings):
    file = io.BytesIO()
    picture.save(file, "JPEG", **settings)
    return file.getvalue()


def told(data):
    return hashlib.sha256(data).hexdigest()[:16]


def tell(label, data):
    picture = Image.open(io.BytesIO(data))
    picture.load()
    print(label, len(data), told(data), picture.mode, picture.size, told(picture.tobytes()), JpegImagePlugin.get_sampling(picture),
          "progressive" in picture.info)


def fails(label, action):
    try:
        action()
    except Exception as error:
        print(label, type(error).__name__, re.sub(r" at 0x.*|\(\d+ bytes", "", str(error)))
    else:
        print(label, "works")


picture = scene()
print(features.check("jpg"), features.check("libjpeg_turbo"))
print("-- qualities")
for quality in (1, 10, 50, 75, 85, 95, 100):
    tell(quality, encoded(picture, quality=quality))
for preset in ("web_low", "web_high", "low", "maximum"):
    tell(preset, encoded(picture, quality=preset))
print("-- settings")
tell("plain", encoded(picture))
tell("optimize", encoded(picture, optimize=True))
tell("progressive", encoded(picture, progressive=True))
tell("both", encoded(picture, progressive=True, optimize=True, quality=90))
for subsampling in (0, 1, 2, "4:4:4", "4:2:2", "4:2:0", "4:1:1"):
    tell(subsampling, encoded(picture, subsampling=subsampling))
tell("smooth", encoded(picture, smooth=50))
tell("keep_rgb", encoded(picture, keep_rgb=True))
tell("restart", encoded(picture, restart_marker_rows=1))
tell("blocks", encoded(picture, restart_marker_blocks=3))
tell("tables", encoded(picture, qtables=[[16] * 64, [40] * 64]))
tell("one table", encoded(picture, qtables=[[7] * 64], quality=30))
tell("three tables", encoded(picture, qtables=[[7] * 64, [9] * 64, [300] * 64]))
print("-- modes")
for mode in ("L", "1", "CMYK", "YCbCr", "RGBX"):
    tell(mode, encoded(picture.convert(mode)))
tell("tall", encoded(scene((17, 33))))
tell("dot", encoded(Image.new("RGB", (1, 1), "red")))
tell("wide", encoded(Image.new("L", (65500, 1), 77)))
print("-- again")
first = Image.open(io.BytesIO(encoded(picture, quality=40, subsampling=1)))
tell("keep", encoded(first, quality="keep"))
print("-- what goes along")
exif = Image.Exif()
exif[0x010E], exif[0x0112], exif[0x0132] = "a picture", 6, "2026:01:02 03:04:05"
data = encoded(picture, exif=exif, dpi=(300, 150), comment="made here", icc_profile=b"profile" * 9000, xmp=b"<x/>")
back = Image.open(io.BytesIO(data))
print(told(data), back.info["dpi"], back.info["comment"], len(back.info["icc_profile"]), back.info["xmp"], dict(back.getexif()))
print(ImageOps.exif_transpose(back).size, back.info["jfif_version"], back.layers, sorted(back.quantization))
print("-- drafts")
large = encoded(scene((640, 480)), quality=90)
for size in ((320, 240), (100, 100), (40, 40)):
    draft = Image.open(io.BytesIO(large))
    print(size, draft.draft("RGB", size)[1], draft.size, told(draft.tobytes()))
draft = Image.open(io.BytesIO(large))
draft.draft("L", (300, 300))
print(draft.mode, draft.size, told(draft.tobytes()))
small = Image.open(io.BytesIO(large))
small.thumbnail((90, 90))
print(small.size, told(small.tobytes()), Image.open(io.BytesIO(large)).reduce(4).size)
print("-- files")
with open("a.jpg", "wb") as file:
    picture.save(file, quality=80)
picture.save("b.jpeg", quality=80)
print(told(open("a.jpg", "rb").read()), open("a.jpg", "rb").read() == open("b.jpeg", "rb").read())
with Image.open("a.jpg") as opened:
    print(opened.format, opened.get_format_mimetype(), told(opened.crop((10, 10, 60, 60)).rotate(90).convert("L").tobytes()))
parser = ImageFile.Parser()
for at in range(0, len(large), 1000):
    parser.feed(large[at:at + 1000])
print(told(parser.close().tobytes()))
file = io.BytesIO()
picture.save(file, "MPO", save_all=True, append_images=[scene((32, 32))])
several = Image.open(file)
print(several.format, several.n_frames, told(several.tobytes()), several.seek(1), several.size, told(several.tobytes()))
picture.save("c.pdf")
pdf = open("c.pdf", "rb").read()
print(b"DCTDecode" in pdf, told(pdf[pdf.index(b"\xff\xd8"):pdf.index(b"endstream")]))
print("-- broken")
data = encoded(picture, quality=90)
fails("cut", lambda: Image.open(io.BytesIO(data[:3000])).load())
fails("head only", lambda: Image.open(io.BytesIO(data[:640])).load())
fails("no picture", lambda: Image.open(io.BytesIO(b"\xff\xd8\xff" + bytes(100))).load())
fails("bad tables", lambda: Image.open(io.BytesIO(data.replace(b"\xff\xc4", b"\xff\xfe"))).load())
fails("not one", lambda: Image.open(io.BytesIO(b"nothing")))
chance = random.Random(3)
hurt = bytearray(data)
for _ in range(40):
    hurt[chance.randrange(700, len(hurt))] = chance.randrange(256)
fails("hurt", lambda: print(len(Image.open(io.BytesIO(hurt)).tobytes())))
ImageFile.LOAD_TRUNCATED_IMAGES = True
cut = Image.open(io.BytesIO(data[:3000]))
print(cut.size, told(cut.crop((0, 0, 160, 32)).tobytes()))
ImageFile.LOAD_TRUNCATED_IMAGES = False
fails("alpha", lambda: encoded(picture.convert("RGBA")))
fails("quality", lambda: encoded(picture, quality="best"))
fails("tables", lambda: encoded(picture, qtables=[[1] * 63]))
fails("rgb", lambda: encoded(picture, keep_rgb=True, subsampling="4:2:0"))
fails("exif", lambda: encoded(picture, exif=b"x" * 70000))
fails("large", lambda: encoded(Image.new("L", (65536, 1))))
Image.MAX_IMAGE_PIXELS = 1000
with warnings.catch_warnings():
    warnings.simplefilter("error")
    fails("bomb", lambda: Image.open("a.jpg"))
Image.MAX_IMAGE_PIXELS = None
print("-- many")
stat = [ImageStat.Stat(Image.open(io.BytesIO(encoded(picture, quality=q)))).mean[0] for q in range(20, 90, 5)]
print([round(mean, 2) for mean in stat], len(os.listdir("/proc/self/fd")) < 12)
print(ImageChops.difference(picture, Image.open(io.BytesIO(encoded(picture, quality=95, subsampling=0)))).getextrema())
