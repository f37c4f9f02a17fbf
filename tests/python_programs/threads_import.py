"""Threads that import the same modules at once: each waits for the one that imports, is itself afterwards, and ends."""
import importlib
import os
import sys
import tempfile
import threading
import time

NAMES = [f"part_{number}" for number in range(4)]
BODY = """import time
time.sleep(0.02)
end = time.monotonic() + 0.02
while time.monotonic() < end:
    pass
whole = True
"""
wrong, loaded, lock = [], [], threading.Lock()


def load(names):
    own = threading.current_thread()
    try:
        for name in names:
            whole = importlib.import_module(name).whole
            if not whole or threading.current_thread() is not own or threading.get_ident() != own.ident:
                wrong.append(name)
            with lock:
                loaded.append(name)
    except Exception as error:
        wrong.append(repr(error))


def together(orders):
    for name in NAMES:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    loaded.clear()
    threads = [threading.Thread(target=load, args=(names,), daemon=True) for names in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    print(sorted(set(loaded)), len(loaded), wrong, sum(thread.is_alive() for thread in threads), threading.active_count())


with tempfile.TemporaryDirectory() as folder:
    sys.path.insert(0, folder)
    for name in NAMES:
        with open(os.path.join(folder, name + ".py"), "w") as file:
            file.write(BODY)
    together([NAMES] * 8)
    together([NAMES[number % 4:] + NAMES[:number % 4] for number in range(8)])

    # Who waits for another thread's import takes no time of the processor.
    with open(os.path.join(folder, "slow.py"), "w") as file:
        file.write("import time\ntime.sleep(0.5)\nwhole = True\n")
    NAMES = ["slow"]
    used = time.process_time()
    together([NAMES] * 4)
    print(time.process_time() - used < 0.05)

    # Two modules that import each other, from both ends.
    for own, other in (("left", "right"), ("right", "left")):
        with open(os.path.join(folder, own + ".py"), "w") as file:
            file.write(f"import time\ntime.sleep(0.02)\nimport {other}\nwhole = True\n")
    NAMES = ["left", "right"]
    importlib.invalidate_caches()
    both = [threading.Thread(target=importlib.import_module, args=(name,), daemon=True) for name in NAMES]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(10)
    print([sys.modules[name].whole for name in NAMES], threading.active_count())
os._exit(sys.stdout.flush() or 0)
