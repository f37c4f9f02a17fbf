"""What modules of the library do when a program ends."""
import atexit
import concurrent.futures
import logging
import logging.handlers
import sys
import threading
import weakref


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, print, "the thing is finalized")
handler = logging.handlers.MemoryHandler(100, target=logging.StreamHandler(sys.stdout))
logging.getLogger().addHandler(handler)
logging.warning("written when logging ends")
atexit.register(print, "atexit")
threading._register_atexit(print, "before the threads are waited for")
thread = threading.Thread(target=lambda: print("a thread ends"))
thread.start()
thread.join()
pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(print, "a task of a pool")
print(pool.submit(abs, -1).result())
