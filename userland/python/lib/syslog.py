"""Messages to the system's log: a datagram to /dev/log, where somebody reads it."""
import os
import sys
import time

LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG = range(8)
(LOG_KERN, LOG_USER, LOG_MAIL, LOG_DAEMON, LOG_AUTH, LOG_SYSLOG, LOG_LPR, LOG_NEWS, LOG_UUCP, LOG_CRON, LOG_AUTHPRIV,
 LOG_FTP) = range(0, 96, 8)
LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7 = range(128, 192, 8)
LOG_PID, LOG_CONS, LOG_ODELAY, LOG_NDELAY, LOG_NOWAIT, LOG_PERROR = 1, 2, 4, 8, 16, 32

_ident, _options, _facility, _mask = None, 0, LOG_USER, 0xFF


def LOG_MASK(pri, /):
    return 1 << pri


def LOG_UPTO(pri, /):
    return (1 << pri + 1) - 1


def openlog(ident=None, logoption=0, facility=LOG_USER):
    global _ident, _options, _facility
    _ident, _options, _facility = ident, logoption, facility


def closelog():
    openlog()


def setlogmask(maskpri, /):
    global _mask
    before = _mask
    _mask = maskpri or _mask
    return before


def syslog(*arguments):
    if not 1 <= len(arguments) <= 2:
        raise TypeError("syslog.syslog requires 1 to 2 arguments")
    priority, message = arguments if len(arguments) == 2 else (LOG_INFO, arguments[0])
    if not isinstance(message, str):
        raise TypeError(f"syslog() argument must be str, not {type(message).__name__}")
    if not _mask & LOG_MASK(priority & 7):
        return
    name = _ident if _ident is not None else os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    line = f"{name}{f'[{os.getpid()}]' if _options & LOG_PID else ''}: {message}"
    if _options & LOG_PERROR:
        print(line, file=sys.stderr)
    import socket
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            full = priority if priority & ~7 else priority | _facility
            sender.sendto(f"<{full}>{time.strftime('%b %e %T')} {line}".encode(), "/dev/log")
    except OSError:
        pass  # nobody reads it
