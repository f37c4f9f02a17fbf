"""What Pillow's plugins expect of a codec, in the place of those that its C part has natively."""
import os

from .child import BROKEN, Gone


class Codec:
    pulls_fd = pushes_fd = False

    def __init__(self, mode):
        self.mode = mode
        self.im = self.extents = None

    def setimage(self, im, extents=None):
        self.im, self.extents = im, extents or (0, 0, *im.size)

    def setfd(self, fd):
        self.fd = fd

    def cleanup(self):
        pass


class Encoder(Codec):
    """One that makes the whole file at once, in `encoded`: (how it ended, the file)."""

    def encode(self, bufsize=0):
        ended, data = self.encoded()
        return len(data), ended or 1, data

    def encode_to_file(self, fd, bufsize=0):
        ended, data = self.encoded()
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view):]
        return ended

    def encoded(self):
        try:
            return self.make_file()
        except Gone:
            return BROKEN, b""
