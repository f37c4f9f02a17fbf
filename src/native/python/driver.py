# SPDX-License-Identifier: Apache-2.0
# What a kept Python of a box runs: src/sandbox/native/native_interpreter.h says what is asked of it,
# and by which descriptors. It is the `-c` of the image's own python3, so it wants nothing but the
# standard library, and imports what a turn needs when the first such turn comes.
def _cloche_serve():
    import _signal, os, struct, sys, traceback
    del sys.modules['__main__'].__dict__['_cloche_serve']
    requests, answers, library_file, images, port, sources = 3, 4, 5, 6, 7, 8
    own = os.getpid()
    library = None
    session = None
    written = None  # how it looked when its last image was written, if nothing was asked of it since

    def read(size):
        data = b''
        while len(data) < size:
            piece = os.read(requests, min(size - len(data), 1 << 20))
            if not piece:
                os._exit(0)
            data += piece
        return data

    def keep_own():
        for fd in range(requests, sources + 1):
            os.set_inheritable(fd, False)

    def whole(name):
        with open(name, 'rb', 0) as file:
            return file.read()

    def look():
        """What its image depends on besides its memory; None: it may do something while it waits."""
        try:
            if len(os.listdir('/proc/self/task')) > 1:  # those of C code too
                return None
            caught = int(whole('/proc/self/status').split(b'SigCgt:')[1].split()[0], 16)
            for number in range(1, 65):
                if caught >> number - 1 & 1 and number not in (32, 33):  # those are the C library's own
                    handler = _signal.getsignal(number)
                    if handler is not _signal.default_int_handler and not handler.__module__.startswith('_cloche.'):
                        return None
            return os.getcwd(), [line for line in whole('/proc/self/maps').splitlines() if b'/' in line]
        except Exception:
            return None

    def freeze(how):
        nonlocal library, own, written
        if len(sys._current_frames()) > 1:
            return 1
        if b'k' in how and written and look() == written:
            return 5
        written = None
        try:
            import ctypes, warnings
            if not os.confstr('CS_GNU_LIBC_VERSION'):
                return 2
            if library is None:
                library = ctypes.PyDLL('/proc/self/fd/%d' % library_file)
            symbols = ctypes.PyDLL(None)
            try:
                size = ctypes.c_uint.in_dll(symbols, '__rseq_size').value
                restartable = ctypes.c_long.in_dll(symbols, '__rseq_offset').value if size else 0
            except ValueError:
                restartable = 0
            write = library.cloche_freeze
        except (ImportError, OSError, ValueError, AttributeError):
            return 2
        write.restype = ctypes.c_long
        write.argtypes = (ctypes.c_int, ctypes.c_long)
        folder = os.getcwd()
        mask = os.umask(0o22)
        os.umask(mask)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            child = os.fork()
        if child:
            now = look()  # while that one writes
            try:
                end = os.waitpid(child, 0)[1]
            except ChildProcessError:
                return 0
            if end == 0:
                written = now
            return os.WEXITSTATUS(end) if os.WIFEXITED(end) else 4
        state = -1
        try:
            if session:
                session.let_go()
            state = write(images, restartable)
        finally:
            if state != 1:
                os._exit(0 if state == 0 else 3 if state == -95 else 4)
        own = os.getpid()
        keep_own()
        os.umask(mask)
        try:
            os.chdir(folder)
        except OSError:
            pass
        for finder in sys.path_importer_cache.values():
            if hasattr(finder, 'invalidate_caches'):
                finder.invalidate_caches()
        if 'random' in sys.modules:
            sys.modules['random'].seed()
        for name in ('numpy.random', 'torch') if b's' in how else ():
            try:
                if name in sys.modules:
                    sys.modules[name].seed()
            except Exception:
                pass
        if session:
            session.take_up()
        return 0

    def preload(requirements):
        """Imports what these distributions are for, as far as they are there."""
        import importlib, importlib.metadata as metadata, re
        def usual(name):
            return re.sub('[-_.]+', '-', name).lower()
        if not hasattr(metadata, 'packages_distributions'):  # before Python 3.10
            return 0
        modules = {}
        for module, distributions in metadata.packages_distributions().items():
            for name in set(map(usual, distributions)) if not module.startswith('_') else ():
                modules.setdefault(name, []).append(module)
        for requirement in requirements.decode().splitlines():
            name = usual(re.match('[A-Za-z0-9._-]*', requirement)[0])
            for module in modules.get(name, ()):
                if len(modules[name]) == 1 or usual(module) == name:
                    try:
                        importlib.import_module(module)
                    except Exception:
                        pass
        return 0

    def open_session():
        nonlocal session
        if sys.version_info < (3, 9):
            return 1
        if session is None:
            text = os.pread(sources, os.fstat(sources).st_size, 0)
            names = {'__name__': 'cloche_rooms'}
            exec(compile(text[text.index(b'\0') + 1:], '/usr/lib/cloche/python/rooms.py', 'exec'), names)
            session = names['open_session'](text[:text.index(b'\0')], port)
        return 0

    def run(source):
        status = 0
        try:
            exec(compile(source, '<cloche>', 'exec'), sys.modules['__main__'].__dict__)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            if end.code is not None and not isinstance(end.code, int):
                print(end.code, file=sys.stderr)
        except BaseException:
            status = 1
            kind, value, trace = sys.exc_info()
            traceback.print_exception(kind, value, trace.tb_next if trace else None)
            del kind, value, trace
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                status = status or 1
        return status

    keep_own()
    while True:
        size, memory, what = struct.unpack('<QQc', read(17))
        payload = read(size)
        status = 4
        if what != b'z':
            written = None
        try:
            if what == b'p':
                status = run(payload)
            elif what == b'i':
                status = preload(payload)
            elif what == b'z':
                status = freeze(payload)
            elif what == b'o':
                status = open_session()
            else:
                status = session.turn(what, payload, memory)
        except Exception:
            pass
        if os.getpid() != own:  # a child of the code, that has come to its end
            os._exit(status & 0xff)
        os.write(answers, struct.pack('<i', status & 0xff))


_cloche_serve()
