"""Terminal settings, as the kernel keeps them."""
import operator
import struct

from _cloche.host import door
from _cloche.host.door import Frame


class error(Exception):
    """What termios' functions raise, with an errno and its text."""


def _own(function):
    def own(*words, frame=None):
        try:
            return function(*words, frame=frame)
        except OSError as problem:
            raise error(problem.errno, problem.strerror) from None
    return own


call, call_data = _own(door.call), _own(door.call_data)
error.__module__ = "termios"
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
# The rest, as Linux numbers them.
globals().update((name, int(value)) for name, _, value in (word.partition("=") for word in """
    B1000000=4104 B110=3 B1152000=4105 B1200=9 B134=4 B150=5 B1500000=4106 B1800=10 B200=6 B2000000=4107 B230400=4099 B2400=11
    B2500000=4108 B300=7 B3000000=4109 B3500000=4110 B4000000=4111 B460800=4100 B4800=12 B50=1 B500000=4101 B576000=4102 B600=8 B75=2
    B921600=4103 BS0=0 BS1=8192 BSDLY=8192 CBAUD=4111 CBAUDEX=4096 CDSUSP=25 CEOF=4 CEOL=0 CEOT=4 CERASE=127 CFLUSH=15
    CIBAUD=269418496 CINTR=3 CKILL=21 CLNEXT=22 CQUIT=28 CR0=0 CR1=512 CR2=1024 CR3=1536 CRDLY=1536 CRPRNT=18 CRTSCTS=2147483648
    CSTART=17 CSTOP=19 CSUSP=26 CWERASE=23 EXTA=14 EXTB=15 EXTPROC=65536 FF0=0 FF1=32768 FFDLY=32768 FIOASYNC=21586 FIOCLEX=21585
    FIONBIO=21537 FIONCLEX=21584 FLUSHO=4096 IOCSIZE_MASK=1073676288 IOCSIZE_SHIFT=16 NCC=8 NCCS=32 NL0=0 NL1=256 NLDLY=256
    PENDIN=16384 TAB0=0 TAB1=2048 TAB2=4096 TAB3=6144 TABDLY=6144 TCFLSH=21515 TCGETA=21509 TCGETS=21505 TCSBRK=21513 TCSBRKP=21541
    TCSETA=21510 TCSETAF=21512 TCSETAW=21511 TCSETS=21506 TCSETSF=21508 TCSETSW=21507 TCXONC=21514 TIOCCONS=21533 TIOCEXCL=21516
    TIOCGETD=21540 TIOCGLCKTRMIOS=21590 TIOCGSOFTCAR=21529 TIOCINQ=21531 TIOCMBIC=21527 TIOCMBIS=21526 TIOCMGET=21525 TIOCMSET=21528
    TIOCNXCL=21517 TIOCOUTQ=21521 TIOCPKT=21536 TIOCPKT_DATA=0 TIOCPKT_DOSTOP=32 TIOCPKT_FLUSHREAD=1 TIOCPKT_FLUSHWRITE=2
    TIOCPKT_NOSTOP=16 TIOCPKT_START=8 TIOCPKT_STOP=4 TIOCSETD=21539 TIOCSLCKTRMIOS=21591 TIOCSSOFTCAR=21530 TIOCSTI=21522 VSWTCH=7
    VT0=0 VT1=16384 VTDLY=16384 XCASE=4 XTABS=6144 _POSIX_VDISABLE=0
""".split()))
_STRUCT = struct.Struct("<4IB19s")
_CONTROLS = 19


def _int(value):
    value = operator.index(value)
    if not -1 << 31 <= value < 1 << 31:
        raise OverflowError("Python int too large to convert to C int")
    return value


def _number(fd):
    if not isinstance(fd, int):
        if not hasattr(fd, "fileno"):
            raise TypeError("argument must be an int, or have a fileno() method.")
        fd = fd.fileno()
    if _int(fd) < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({fd})")
    return fd


def _control(value):
    if isinstance(value, int):
        return value & 0xFF
    if not isinstance(value, bytes) or len(value) != 1:
        raise TypeError("tcsetattr: elements of attributes must be characters or integers")
    return value[0]


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
    if not isinstance(attributes, list) or len(attributes) != 7:
        raise TypeError("tcsetattr, arg 3: must be 7 element list")
    *flags, controls = attributes
    flags = [operator.index(word) & 0xFFFFFFFF for word in flags]
    if not isinstance(controls, list) or len(controls) != NCCS:
        raise TypeError(f"tcsetattr: attributes[6] must be {NCCS} element list")  # noqa: F821 (made above)
    raw = bytes(map(_control, controls))[:_CONTROLS]
    if _int(when) not in (TCSANOW, TCSADRAIN, TCSAFLUSH):
        raise error(22, "Invalid argument")
    frame = Frame()
    at = frame.data(_STRUCT.pack(*flags[:4], 0, raw))
    call("ioctl", _number(fd), 0x5402 + when, at, frame=frame)


def tcsendbreak(fd, duration, /):
    call("ioctl", _number(fd), 0x5409, _int(duration))


def tcdrain(fd, /):
    call("ioctl", _number(fd), 0x5409, 1)


def tcflush(fd, queue, /):
    call("ioctl", _number(fd), 0x540B, _int(queue))


def tcflow(fd, action, /):
    call("ioctl", _number(fd), 0x540A, _int(action))


def tcgetwinsize(fd, /):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("ioctl", _number(fd), TIOCGWINSZ, room, frame=frame)
    return struct.unpack_from("<HH", data)


def tcsetwinsize(fd, winsize, /):
    if not isinstance(winsize, (tuple, list)) or len(winsize) != 2:
        raise TypeError("tcsetwinsize, arg 2: must be a two-item sequence")
    rows, columns = map(operator.index, winsize)
    if not 0 <= rows <= 0xFFFF or not 0 <= columns <= 0xFFFF:
        raise OverflowError("winsize value(s) out of range.")
    frame = Frame()
    at = frame.data(struct.pack("<HHHH", rows, columns, 0, 0))
    call("ioctl", _number(fd), TIOCSWINSZ, at, frame=frame)
