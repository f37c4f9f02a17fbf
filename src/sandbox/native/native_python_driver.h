// SPDX-License-Identifier: Apache-2.0
// What the kept Python of a box runs. Requests come by descriptor 3: the length of a source in
// eight bytes, then its text; or `freeze_order`, and it writes an image of itself to 6 by the
// library that is 5. Each is answered on 4, in four bytes: the exit status, or a FreezeAnswer. One
// that goes on in another box has been asked nothing there, and answers that once, to say that it
// lives.
#pragma once

#include <cstdint>

namespace cloche::sandbox {

inline constexpr std::uint64_t freeze_order = ~std::uint64_t{0};

enum class FreezeAnswer : std::uint8_t { done, has_threads, has_no_means, shares_memory, failed };

inline constexpr const char* python_driver = R"py(
import os, struct, sys, traceback
def _cloche_serve():
    here = sys.modules['__main__'].__dict__
    del here['_cloche_serve']
    library = None
    def read(size):
        data = b''
        while len(data) < size:
            piece = os.read(3, min(size - len(data), 1 << 20))
            if not piece:
                os._exit(0)
            data += piece
        return data
    def keep_own():
        for fd in (3, 4, 5, 6):
            os.set_inheritable(fd, False)
    def freeze():
        nonlocal library
        if len(sys._current_frames()) > 1:
            return 1
        try:
            import ctypes, warnings
            if not os.confstr('CS_GNU_LIBC_VERSION'):
                return 2
            if library is None:
                library = ctypes.PyDLL('/proc/self/fd/5')
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
            try:
                end = os.waitpid(child, 0)[1]
            except ChildProcessError:
                return 0
            return os.WEXITSTATUS(end) if os.WIFEXITED(end) else 4
        state = -1
        try:
            state = write(6, restartable)
        finally:
            if state != 1:
                os._exit(0 if state == 0 else 3 if state == -95 else 4)
        keep_own()
        os.umask(mask)
        try:
            os.chdir(folder)
        except OSError:
            pass
        return 0
    keep_own()
    while True:
        size = struct.unpack('<Q', read(8))[0]
        status = 0
        if size == (1 << 64) - 1:
            try:
                status = freeze()
            except Exception:
                status = 4
            os.write(4, struct.pack('<i', status & 0xff))
            continue
        source = read(size)
        try:
            exec(compile(source, '<cloche>', 'exec'), here)
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
        os.write(4, struct.pack('<i', status & 0xff))
_cloche_serve()
)py";

}  // namespace cloche::sandbox
