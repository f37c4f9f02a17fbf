# packages: pillow
"""Text in fonts, as Pillow's basic layout draws it: measures, anchors, strokes, lines, modes, and what fails."""
import hashlib
import io
import pickle

from PIL import Image, ImageDraw, ImageFont, features

BASIC = ImageFont.Layout.BASIC
WORDS = ("Hello, World", "AVAToy fi ffl", "Ünïcödé ß €", "Привет", "jgpqy|", " ", "", "\tx", "漢", "0123456789")


def told(data):
    return hashlib.sha256(data).hexdigest()[:16]


def fails(label, action):
    try:
        action()
    except Exception as error:
        print(label, type(error).__name__, error)
    else:
        print(label, "works")


def font(size, name="DejaVuSans.ttf"):
    return ImageFont.truetype(name, size, layout_engine=BASIC)


print("freetype", features.check("freetype2"))
print("-- measures")
for size in (8, 12, 15.5, 20, 48):
    face = font(size)
    print(size, face.getname(), face.getmetrics(), face.font.height, face.font.glyphs, face.font.x_ppem)
    for words in WORDS:
        print(repr(words), face.getlength(words), face.getbbox(words), face.getbbox(words, mode="1"))
for name in ("DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf", "DejaVuSans-Oblique.ttf", "DejaVuSerif-BoldItalic"):
    face = font(24, name)
    mask, offset = face.getmask2("Quick brown")
    print(face.getname(), face.getlength("Quick brown"), face.getbbox("Quick brown"), mask.size, offset, told(bytes(mask)))
print("-- the default")
for size in (None, 10, 20, 33.3):
    face = ImageFont.load_default(size)
    print(size, face.getname(), face.getmetrics(), face.getlength("Some text"), face.getbbox("Some text"), told(bytes(face.getmask("Some text"))))
print("-- anchors")
for anchor in ("la", "lt", "lm", "ls", "lb", "ld", "ma", "mt", "mm", "ms", "mb", "md", "ra", "rt", "rm", "rs", "rb", "rd"):
    print(anchor, font(21).getbbox("Anchor gy", anchor=anchor), font(21).getmask2("Anchor gy", anchor=anchor)[1])
print("-- masks")
for mode in ("L", "1"):
    for start in (None, (0.25, 0.5), (0.9, 0.1)):
        mask, offset = font(19).getmask2("Mask gy", mode, start=start)
        print(mode, start, mask.mode, mask.size, offset, told(bytes(mask)))
print("-- pictures")
for mode, colour in (("RGB", "navy"), ("L", 30), ("RGBA", (255, 0, 0, 128)), ("1", 0), ("P", 3), ("CMYK", "red"), ("I", 99), ("F", 0.5)):
    picture = Image.new(mode, (220, 60), "white" if mode not in ("I", "F", "P") else 200)
    draw = ImageDraw.Draw(picture)
    draw.text((5, 3), "Text in a mode", fill=colour, font=font(22))
    draw.text((210.5, 50.25), "right", fill=colour, font=font(14), anchor="rs")
    print(mode, told(picture.tobytes()), draw.textlength("Text", font(22)), draw.textbbox((5, 3), "Text", font(22)))
print("-- lines")
for align in ("left", "center", "right", "justify"):
    picture = Image.new("RGB", (260, 110), "white")
    draw = ImageDraw.Draw(picture)
    lines = "The first line\nis longer than\nthe last one here is"
    draw.multiline_text((10, 5), lines, "black", font(18), spacing=6, align=align)
    print(align, told(picture.tobytes()), draw.multiline_textbbox((10, 5), lines, font(18), spacing=6, align=align),
          draw.textbbox((130, 60), lines, font(18), anchor="mm"))
picture = Image.new("RGB", (200, 40))
ImageDraw.Draw(picture).text((4, 4), "no font named")
ImageDraw.Draw(picture).text((4, 14), "a size", font_size=19, fill="yellow")
print(picture.getbbox(), round(sum(picture.convert("L").tobytes()) / 1e4))
print("-- strokes")
for width in (1, 2, 5, 0.7):
    face = font(30)
    mask, offset = face.getmask2("Stroke", stroke_width=width)
    levels = Image.Image()._new(mask).histogram()
    print(width, mask.size, offset, face.getbbox("Stroke", stroke_width=width), round(sum(i * n for i, n in enumerate(levels)) / 2e4))
print("-- files")
path = font(10).path
held = ImageFont.truetype(io.BytesIO(open(path, "rb").read()), 20, layout_engine=BASIC)
print(held.getbbox("held") == font(20).getbbox("held"), held.font_variant(size=40).getbbox("held"), font(20).font_variant(size=9).size)
print(pickle.loads(pickle.dumps(font(17))).getbbox("pickled"), ImageFont.TransposedFont(font(20), Image.Transpose.ROTATE_90).getbbox("turned"))
fails("missing", lambda: ImageFont.truetype("nothere.ttf", 20))
fails("no font", lambda: ImageFont.truetype(io.BytesIO(b"no font at all"), 20))
fails("size", lambda: font(0))
fails("anchor", lambda: font(20).getbbox("a", anchor="xx"))
fails("anchors", lambda: font(20).getbbox("a", anchor="l"))
fails("type", lambda: font(20).getbbox(7))
fails("long", lambda: font(20).getbbox("a" * 1000001))
fails("features", lambda: font(20).getbbox("a", features=["-kern"]))
fails("direction", lambda: font(20).getlength("a", direction="rtl"))
fails("names", lambda: font(20).get_variation_names())
fails("axes", lambda: font(20).get_variation_axes())
fails("hurt", lambda: ImageFont.truetype(io.BytesIO(open(path, "rb").read()[:2000]), 20))
print("-- many")
face = font(16)
print(sum(face.getlength(f"number {i} of many") for i in range(3000)), sum(font(size).getbbox("size")[2] for size in range(5, 60)))
