"""CPU time, as the kernel counts it: the C library of this interpreter answers with the clock on the wall."""
import os
import posix
import struct
import time

from .door import Frame, call_data

_SELF, _CHILDREN = 0, -1
_get_clock_info = time.get_clock_info
_CLOCKS = {2, 3}  # CLOCK_PROCESS_CPUTIME_ID and CLOCK_THREAD_CPUTIME_ID: there is one thread
_clock_gettime, _clock_gettime_ns, _clock_getres = time.clock_gettime, time.clock_gettime_ns, time.clock_getres


def _used(who):
    """(user, system) in microseconds."""
    frame = Frame()
    room = frame.space(72)
    _, data = call_data("getrusage", who, room, frame=frame)
    user, user_us, system, system_us = struct.unpack_from("<4i", data)
    return user * 1000000 + user_us, system * 1000000 + system_us


def process_time_ns():
    return sum(_used(_SELF)) * 1000


def process_time():
    return sum(_used(_SELF)) / 1e6


def clock_gettime(clk_id, /):
    return process_time() if clk_id in _CLOCKS else _clock_gettime(clk_id)


def clock_gettime_ns(clk_id, /):
    return process_time_ns() if clk_id in _CLOCKS else _clock_gettime_ns(clk_id)


def clock_getres(clk_id, /):
    return 1e-6 if clk_id in _CLOCKS else _clock_getres(clk_id)


def get_clock_info(name, /):
    return _get_clock_info("process_time" if name == "thread_time" else name)


def times():
    """os.times()"""
    values = [microseconds / 1e6 for who in (_SELF, _CHILDREN) for microseconds in _used(who)]
    return os.times_result((*values, time.monotonic()))


def install():
    time.process_time, time.process_time_ns = process_time, process_time_ns
    time.thread_time, time.thread_time_ns = process_time, process_time_ns
    time.clock_gettime, time.clock_gettime_ns, time.clock_getres = clock_gettime, clock_gettime_ns, clock_getres
    time.get_clock_info = get_clock_info
    time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID = 2, 3
    posix.times = os.times = times
