"""What termios takes and what it refuses, and what a flush takes away at each end of a terminal."""
import os
import pty
import tempfile
import termios


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except termios.error as error:
        return f"termios.error {error.args[0]}"
    except Exception as error:
        return type(error).__name__


master, slave = pty.openpty()
settings = termios.tcgetattr(slave)
with tempfile.TemporaryFile() as file:
    for target in (file, -1, 1 << 999, object()):
        print([attempt(termios.tcgetattr, target), attempt(termios.tcsetattr, target, termios.TCSANOW, settings), attempt(termios.tcdrain, target),
               attempt(termios.tcflush, target, termios.TCIFLUSH), attempt(termios.tcflow, target, termios.TCOON),
               attempt(termios.tcsendbreak, target, 0), attempt(termios.tcgetwinsize, target), attempt(termios.tcsetwinsize, target, (1, 2))])
for when in (-1, 3, 9, 1 << 999, "0"):
    print(attempt(termios.tcsetattr, slave, when, settings), attempt(termios.tcflush, slave, when), end=" ")
print()
for wrong in (tuple(settings), settings[:6], [*settings[:6], settings[6][:5]], ["x", *settings[1:]], [*settings[:6], ["ab", *settings[6][1:]]],
              [*settings[:6], tuple(settings[6])], [*settings[:6], [b"xy", *settings[6][1:]]]):
    print(attempt(termios.tcsetattr, slave, termios.TCSANOW, wrong), end=" ")
print(termios.tcgetattr(slave) == settings)
for size in ((1,), (1, 2, 3), "ab", (1, "b"), (-1, 2), (1 << 16, 2), (24, 80)):
    print(attempt(termios.tcsetwinsize, slave, size), end=" ")
print(termios.tcgetwinsize(slave))

settings[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(slave, termios.TCSANOW, settings)
os.set_blocking(slave, False)
os.write(slave, b"abcdef")
print(os.read(master, 2))
termios.tcflush(master, termios.TCOFLUSH)
print(os.read(master, 2))
os.write(master, b"typed")
termios.tcflush(master, termios.TCIFLUSH)
os.write(slave, b"ABCDEF")
print(os.read(master, 99), attempt(os.read, slave, 99))
os.write(master, b"gone")
termios.tcflush(slave, termios.TCIFLUSH)
os.write(master, b"kept")
print(os.read(slave, 99))
