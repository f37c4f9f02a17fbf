# packages: pillow
"""Pictures beside other work: threads, children of the program's own, descriptors, a closed input, pictures that are given up."""
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from PIL import Image, ImageFile, ImageFont


def picture(number):
    return Image.linear_gradient("L").rotate(number).resize((64, 48)).convert("RGB")


def encoded(number, kind="JPEG"):
    file = io.BytesIO()
    picture(number).save(file, kind)
    return file.getvalue()


def once(number):
    kind = ("JPEG", "WEBP", "JPEG2000", "TIFF")[number % 4]
    return Image.open(io.BytesIO(encoded(number, kind))).convert("RGB").size, len(ImageFont.load_default(10 + number).getbbox("x"))


def descriptors():
    return sorted(int(name) for name in os.listdir("/proc/self/fd"))


for number in range(4):
    once(number)
before = descriptors()
with ThreadPoolExecutor(8) as pool:
    print(list(pool.map(once, range(16))))
ticks = []
done = threading.Event()


def tick():
    while not done.wait(0.001):
        ticks.append(1)


ticker = threading.Thread(target=tick)
ticker.start()
for number in range(10):
    once(number)
done.set()
ticker.join()
print(len(ticks) > 0, descriptors() == before)

child = subprocess.Popen(["sleep", "0.2"])
sizes = [len(encoded(number)) > 300 for number in range(3)]
print(sizes, child.wait(), child.returncode)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child is left")

seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
same = {encoded(3) for _ in range(20)}
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(same), len(seen) > 0)

data = encoded(5)
for length in range(200, len(data), 400):
    parser = ImageFile.Parser()
    parser.feed(data[:length])
    try:
        parser.close()
    except OSError as problem:
        print(length, problem)
for _ in range(30):
    half = ImageFile.Parser()
    half.feed(data[:len(data) // 2])
del half, parser
print(descriptors() == before)

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    Image.open(io.BytesIO(data)).save("here.jpg")
    names = os.listdir()
    os.chdir("/")
print(names)

program = """
import os, sys, io
os.close(0)
from PIL import Image
file = io.BytesIO()
Image.new("RGB", (30, 20), "red").save(file, "JPEG")
os.close(1)
sys.stderr.write(repr(Image.open(io.BytesIO(file.getvalue())).getpixel((3, 3))))
"""
ended = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
print(ended.stderr.decode()[:20])
