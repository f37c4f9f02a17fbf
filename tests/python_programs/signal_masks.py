"""A thread that blocks signals blocks its own: not the process's, nor those of its children."""
import _thread
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time


def nap():
    time.sleep(600)


def main():
    print(sorted(set(range(1, 65)) - set(signal.valid_signals())))
    told = []

    def deaf():
        told.append(signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()))
        told.append(len(signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})) > 60)
        told.append(signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2}))
        told.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        try:
            signal.pthread_sigmask(9, ())
        except OSError as error:
            told.append(error.errno)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        blocked.set()
        done.wait()

    blocked, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=deaf)
    thread.start()
    blocked.wait()
    print(told, signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    # The main thread hears, and other threads have their turns.
    heard = []
    signal.signal(signal.SIGUSR1, lambda *_: heard.append("heard"))
    os.kill(os.getpid(), signal.SIGUSR1)
    counted = [0]

    def count():
        while not done.is_set():
            counted[0] += 1

    threading.Thread(target=count).start()
    while counted[0] < 1000:
        pass
    print(heard)

    # Children may be ended.
    child = subprocess.Popen([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"], stdout=subprocess.PIPE)
    print(child.stdout.readline())
    child.terminate()
    print(child.wait())
    done.set()
    thread.join()

    # As a pool is ended after connections were given to its processes, for which a thread waits that blocks all signals.
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    with socket.socket() as unused:
        giver = spawn.Process(target=print, args=("given", theirs is not None), daemon=True)
        giver.start()
        giver.join()
        ours.send(unused)
        with theirs.recv() as same:
            print(same.family.name)
    sleeper = spawn.Process(target=nap)
    sleeper.start()
    sleeper.terminate()
    sleeper.join()
    print(sleeper.exitcode)

    # A lock of _thread, too, lets others run while it is waited for.
    lock = _thread.RLock()
    held = threading.Event()

    def hold():
        with lock:
            held.set()
            time.sleep(0.05)

    threading.Thread(target=hold).start()
    held.wait()
    with lock, lock:
        print("mine")


if __name__ == "__main__":
    main()
