"""The stack as a program is shown it: to its own first frame, as natively. Around that are frames of this runtime's, which every
`traceback.print_stack()`, `stack_info` of logging and `inspect.stack()` would begin with."""
import functools
import inspect
import sys
import traceback

from .. import FOLDER

_outer_frames = inspect.getouterframes


def _end(frame):
    """From which frame on all are this runtime's; None where the last one is not."""
    end = None
    while frame is not None:
        if not frame.f_code.co_filename.startswith(FOLDER):
            end = None
        elif end is None:
            end = frame
        frame = frame.f_back
    return end


def _shown(frame):
    end = _end(frame)
    while frame is not end:
        yield frame, frame.f_lineno
        frame = frame.f_back


@functools.wraps(traceback.walk_stack)
def walk_stack(f):
    return _shown(sys._getframe(1) if f is None else f)


@functools.wraps(inspect.getouterframes)
def getouterframes(frame, context=1):
    return _outer_frames(frame, context)[:sum(1 for _ in _shown(frame))]


def install():
    traceback.walk_stack = walk_stack
    inspect.getouterframes = getouterframes
