# packages: pillow matplotlib reportlab python-docx python-pptx
"""Pictures where agents put them: figures as JPEG and WebP, PDF files with a JPEG within, Word and PowerPoint files."""
import base64
import io
import zipfile

import docx
import matplotlib.pyplot as plt
import numpy as np
import pptx
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

figure, axes = plt.subplots(figsize=(3, 2), dpi=80)
axes.plot([1, 3, 2])
for name in ("f.jpg", "f.jpeg", "f.webp"):
    figure.savefig(name)
    with Image.open(name) as picture:
        print(name, picture.format, picture.mode, picture.size, picture.info.get("dpi"))
figure.savefig("q.jpg", pil_kwargs={"quality": 10})
print(len(open("q.jpg", "rb").read()) < len(open("f.jpg", "rb").read()), plt.imread("f.jpg").shape)

array = np.zeros((40, 60, 3), np.uint8)
array[:, 30:] = (250, 10, 20)
photo = Image.fromarray(array)
ImageDraw.Draw(photo).text((2, 2), "text", font=ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 14))
photo.save("photo.jpg", quality=90)
data = open("photo.jpg", "rb").read()
print(np.asarray(Image.open(io.BytesIO(data))).shape, Image.open(io.BytesIO(base64.b64decode(base64.b64encode(data)))).size)

page = canvas.Canvas("page.pdf", pageCompression=0)
page.drawImage("photo.jpg", 10, 10)
page.drawImage(ImageReader(photo), 90, 10)
page.save()
print(open("page.pdf", "rb").read().count(b"/DCTDecode"))
photo.save("pages.pdf", save_all=True, append_images=[photo.convert("L")], resolution=100)
print(open("pages.pdf", "rb").read().count(b"/DCTDecode"))

document = docx.Document()
document.add_picture("photo.jpg")
document.save("d.docx")
slides = pptx.Presentation()
slides.slides.add_slide(slides.slide_layouts[6]).shapes.add_picture("photo.jpg", 0, 0)
slides.save("s.pptx")
for name in ("d.docx", "s.pptx"):
    with zipfile.ZipFile(name) as box:
        print([(each, box.read(each) == data) for each in box.namelist() if each.endswith("jpg")])
print(photo.show())
