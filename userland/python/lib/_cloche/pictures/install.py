"""What Pillow finds when it is imported: its codecs' names, as if its C part had been built with them."""
import sys

from ..libraries import imports
from . import child


def _jpeg_decoder(*arguments):
    from .jpeg import Decoder
    return Decoder(*arguments)


def _jpeg_encoder(*arguments):
    from .jpeg import JpegEncoder
    return JpegEncoder(*arguments)


def _libtiff_decoder(*arguments):
    from .tiff import Decoder
    return Decoder(*arguments)


def _libtiff_encoder(*arguments):
    from .tiff import TiffEncoder
    return TiffEncoder(*arguments)


def _jpeg2k_decoder(*arguments):
    from .jpeg2000 import Decoder
    return Decoder(*arguments)


def _jpeg2k_encoder(*arguments):
    from .jpeg2000 import Jpeg2000Encoder
    return Jpeg2000Encoder(*arguments)


def _adopt_core(core):
    core.jpeg2k_decoder, core.jpeg2k_encoder, core.jp2klib_version = _jpeg2k_decoder, _jpeg2k_encoder, "2.5.3"
    core.jpeg_decoder, core.jpeg_encoder = _jpeg_decoder, _jpeg_encoder
    core.libtiff_decoder, core.libtiff_encoder = _libtiff_decoder, _libtiff_encoder
    core.libtiff_version = "LIBTIFF, Version 4.7.0"
    core.jpeglib_version = "6.2"
    core.HAVE_LIBJPEGTURBO, core.libjpeg_turbo_version = True, "2.1.5"


def _fill_fonts(module):
    from .fonts import fill_module
    fill_module(module)


def _fill_webp(module):
    from .webp import fill_module
    fill_module(module)


def _fill_avif(module):
    from .avif import fill_module
    fill_module(module)


def _adopt_webp(plugin):
    from .webp import adopt_plugin
    adopt_plugin(plugin)


def install():
    if child.available():
        imports.after("PIL._imaging", _adopt_core)
        imports.supply("PIL._imagingft", _fill_fonts)
        imports.supply("PIL._avif", _fill_avif)
        imports.supply("PIL._webp", _fill_webp)
        imports.after("PIL.WebPImagePlugin", _adopt_webp)


def prepare():
    """While an image is made that has Pillow: its usual formats are there, and what does them."""
    pillow = sys.modules.get("PIL.Image")
    if pillow is not None:
        pillow.preinit()
        from . import fonts, jpeg, webp
