# packages: pillow
"""WebP as Pillow reads and writes it: lossless to the pixel, lossy within bounds, alpha, metadata, animations, what fails."""
import hashlib
import io

from PIL import Image, ImageChops, ImageDraw, ImageStat, features


def told(data):
    return hashlib.sha256(data).hexdigest()[:16]


def scene(mode="RGB", size=(96, 64)):
    across = Image.linear_gradient("L").resize(size)
    bands = [across, across.rotate(180), across.rotate(90).resize(size)] + ([across] if mode == "RGBA" else [])
    picture = Image.merge(mode, bands)
    ImageDraw.Draw(picture).ellipse((20, 10, 60, 50), fill=(200, 30, 90, 255)[:len(bands)])
    return picture


def encoded(picture, **settings):
    file = io.BytesIO()
    picture.save(file, "WEBP", **settings)
    return file.getvalue()


def opened(data):
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def error(a, b):
    return [round(value / 4) for value in ImageStat.Stat(ImageChops.difference(a.convert("RGB"), b.convert("RGB"))).rms]


def fails(label, action):
    try:
        action()
    except Exception as problem:
        print(label, type(problem).__name__, problem)
    else:
        print(label, "works")


print(features.check("webp"))
print("-- lossless")
for mode in ("RGB", "RGBA"):
    picture = scene(mode)
    for method in (0, 4, 6):
        back = opened(encoded(picture, lossless=True, exact=True, method=method))
        print(mode, method, back.mode, back.size, back.tobytes() == picture.tobytes())
for mode in ("L", "P", "LA", "1", "CMYK", "I"):
    back = opened(encoded(scene().convert("P").convert(mode) if mode == "P" else scene().convert(mode), lossless=True))
    print(mode, back.mode, told(back.tobytes()))
print("-- lossy")
sizes = []
for quality in (1, 30, 80, 100):
    data = encoded(scene(), quality=quality)
    sizes.append(len(data))
    print(quality, opened(data).mode, error(opened(data), scene()))
print(sizes == sorted(sizes), sizes[0] < 700, sizes[-1] < 4000)
back = opened(encoded(scene("RGBA"), quality=90, alpha_quality=100))
print(back.mode, back.getchannel("A").tobytes() == scene("RGBA").getchannel("A").tobytes())
print("-- what goes along")
exif = Image.Exif()
exif[0x010E] = "a picture"
back = opened(encoded(scene(), exif=exif, icc_profile=b"profile" * 20, xmp=b"<x/>"))
print(back.info["icc_profile"] == b"profile" * 20, dict(back.getexif()), back.info["xmp"], back.format, back.n_frames, back.is_animated)
print("-- animations")
frames = [scene("RGBA").rotate(angle) for angle in range(0, 180, 20)]
data = encoded(frames[0], save_all=True, append_images=frames[1:], duration=[100 + i for i in range(9)], loop=3, lossless=True,
               background=(1, 2, 3, 4))
back = opened(data)
print(back.n_frames, back.info["loop"], back.info["background"], back.is_animated)
for number in (0, 1, 8, 3, 4, 5):
    back.seek(number)
    back.load()
    same = ImageChops.difference(back.convert("RGBA"), frames[number])
    print(number, back.tell(), back.info["timestamp"], back.info["duration"], max(high for _, high in same.getextrema()))
fails("beyond", lambda: back.seek(9))
large = [Image.new("RGB", (800, 600), (i * 10, 0, 0)) for i in range(20)]
back = opened(encoded(large[0], save_all=True, append_images=large[1:], duration=40, lossless=True))
reds = []
for number in range(back.n_frames):
    back.seek(number)
    reds.append(back.getpixel((5, 5))[0])
print(reds)
gif = io.BytesIO()
frames[0].convert("P").save(gif, "GIF", save_all=True, append_images=[frame.convert("P") for frame in frames[1:3]], duration=50)
print(opened(encoded(Image.open(gif), save_all=True)).n_frames > 1)
print("-- files")
scene().save("a.webp")
with Image.open("a.webp") as picture:
    print(picture.format, picture.size, picture.copy().resize((10, 10)).size)
print("-- broken")
data = encoded(scene(), quality=80)
fails("cut", lambda: opened(data[:200]))
fails("head", lambda: opened(data[:40]))
fails("hurt", lambda: opened(data[:60] + b"\xff" * 200 + data[260:]))
fails("quality", lambda: encoded(scene(), quality=101))
fails("method", lambda: encoded(scene(), method=7))
fails("large", lambda: encoded(Image.new("RGB", (16384, 2))))
fails("background", lambda: encoded(frames[0], save_all=True, append_images=frames, background=(1, 2)))
