"""Terminal settings, as the kernel keeps them."""
import struct

from _cloche.door import Frame, call, call_data, error as _os_error  # noqa: F401

error = OSError
TCSANOW, TCSADRAIN, TCSAFLUSH = 0, 1, 2
TCIFLUSH, TCOFLUSH, TCIOFLUSH = 0, 1, 2
TCOOFF, TCOON, TCIOFF, TCION = 0, 1, 2, 3
IGNBRK, BRKINT, IGNPAR, PARMRK, INPCK, ISTRIP = 1, 2, 4, 8, 16, 32
INLCR, IGNCR, ICRNL, IUCLC, IXON, IXANY, IXOFF, IMAXBEL, IUTF8 = 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384
OPOST, OLCUC, ONLCR, OCRNL, ONOCR, ONLRET, OFILL, OFDEL = 1, 2, 4, 8, 16, 32, 64, 128
CSIZE, CS5, CS6, CS7, CS8, CSTOPB, CREAD, PARENB, PARODD, HUPCL, CLOCAL = 48, 0, 16, 32, 48, 64, 128, 256, 512, 1024, 2048
ISIG, ICANON, ECHO, ECHOE, ECHOK, ECHONL, NOFLSH, TOSTOP, ECHOCTL, ECHOPRT, ECHOKE, IEXTEN = (
    1, 2, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 32768)
VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSWTC, VSTART, VSTOP, VSUSP, VEOL, VREPRINT, VDISCARD, VWERASE, VLNEXT, VEOL2 = range(17)
B0, B9600, B19200, B38400, B57600, B115200 = 0, 13, 14, 15, 0o10001, 0o10002
TIOCGWINSZ, TIOCSWINSZ, FIONREAD, TIOCGPGRP, TIOCSPGRP, TIOCSCTTY, TIOCNOTTY = 0x5413, 0x5414, 0x541B, 0x540F, 0x5410, 0x540E, 0x5422
_STRUCT = struct.Struct("<4IB19s")
_CONTROLS = 19


def _number(fd):
    return fd if isinstance(fd, int) else fd.fileno()


def tcgetattr(fd, /):
    frame = Frame()
    room = frame.space(64)
    _, data = call_data("ioctl", _number(fd), 0x5401, room, frame=frame)
    iflag, oflag, cflag, lflag, _, raw = _STRUCT.unpack_from(data)
    controls = [bytes([value]) for value in raw] + [b"\0"] * (32 - _CONTROLS)
    if not lflag & ICANON:
        controls[VMIN], controls[VTIME] = raw[VMIN], raw[VTIME]
    return [iflag, oflag, cflag, lflag, cflag & 0o10017, cflag & 0o10017, controls]


def tcsetattr(fd, when, attributes, /):
    iflag, oflag, cflag, lflag, _, _, controls = attributes
    raw = bytes(value if isinstance(value, int) else value[0] for value in controls[:_CONTROLS])
    frame = Frame()
    at = frame.data(_STRUCT.pack(iflag, oflag, cflag, lflag, 0, raw))
    call("ioctl", _number(fd), 0x5402 + when, at, frame=frame)


def tcsendbreak(fd, duration, /):
    call("ioctl", _number(fd), 0x5409, duration)


def tcdrain(fd, /):
    call("ioctl", _number(fd), 0x5409, 1)


def tcflush(fd, queue, /):
    call("ioctl", _number(fd), 0x540B, queue)


def tcflow(fd, action, /):
    call("ioctl", _number(fd), 0x540A, action)


def tcgetwinsize(fd, /):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("ioctl", _number(fd), TIOCGWINSZ, room, frame=frame)
    return struct.unpack_from("<HH", data)


def tcsetwinsize(fd, winsize, /):
    frame = Frame()
    at = frame.data(struct.pack("<HHHH", *winsize, 0, 0))
    call("ioctl", _number(fd), TIOCSWINSZ, at, frame=frame)
