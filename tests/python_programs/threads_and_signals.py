"""Signals are the main thread's, whatever the others do; what waits for a signal keeps no other thread waiting."""
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time


def beside(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


class Alarm(Exception):
    pass


def ring(number, frame):
    raise Alarm(threading.current_thread().name)


def compute():
    while not done.is_set():
        pass


def doze():
    while not done.is_set():
        time.sleep(0.001)


# However the main thread waits, and whatever the others do, the signal ends it.
signal.signal(signal.SIGALRM, ring)
taken = threading.Lock()
taken.acquire()
reading, writing = os.pipe()
here, there = socket.socketpair()
for kinds in ((compute,), (compute, compute, compute), (doze, doze), (compute, doze, compute)):
    done = threading.Event()
    threads = [beside(kind) for kind in kinds]
    for name, wait in {"join": threads[0].join, "sleep": lambda: time.sleep(60), "lock": taken.acquire, "queue": queue.Queue().get,
                       "event": threading.Event().wait, "read": lambda: os.read(reading, 1), "recv": lambda: here.recv(1),
                       "child": lambda: subprocess.run(["sleep", "60"]), "nothing": compute}.items():
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        try:
            print(name, wait())
        except Alarm as alarm:
            print(name, alarm, end="; ")
    done.set()
    for thread in threads:
        thread.join()
    print()

# Ctrl-C, in a program whose threads compute.
PROGRAM = """
import threading, time
def compute():
    while True: pass
for _ in range(3): threading.Thread(target=compute, daemon=True).start()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""
with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as program:
    print(program.stdout.readline(), end="")
    program.send_signal(signal.SIGINT)
    print(program.stdout.read(), end="")
print(program.returncode)

# Who waits for a signal lets others run, one of which sends it.
said = []


def work(number):
    for i in range(3):
        time.sleep(0.002)
        said.append(i)
    os.kill(os.getpid(), number)


def while_working(number, wait):
    said.clear()
    thread = beside(work, number)
    told = wait()
    thread.join()
    return told, said


signal.signal(signal.SIGUSR1, lambda number, frame: said.append("heard"))
print(while_working(signal.SIGUSR1, signal.pause), signal.getsignal(signal.SIGUSR1).__name__)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
print(while_working(signal.SIGUSR2, lambda: signal.sigwait({signal.SIGUSR2})))
print(while_working(signal.SIGUSR2, lambda: signal.sigwaitinfo({signal.SIGUSR2}).si_signo))
print(while_working(signal.SIGUSR2, lambda: signal.sigtimedwait({signal.SIGUSR2}, 60).si_signo))
idle = beside(threading.Event().wait)
print(signal.sigtimedwait({signal.SIGUSR2}, 0.01), signal.sigtimedwait({signal.SIGUSR2}, 0))

# Handlers of any signal may end a wait of all threads.
for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGWINCH):
    told = queue.SimpleQueue()  # which a handler may use
    before = signal.signal(number, lambda number, frame: told.put(number))
    child = subprocess.Popen(["sh", "-c", f"sleep 0.05; kill -{int(number)} {os.getpid()}"])
    print(number.name, told.get() == number, child.wait())
    signal.signal(number, before)
