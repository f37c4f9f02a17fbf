"""The prompt: `>>>` on a terminal, or whenever -i asks for it."""
import ast
import code
import linecache
import os
import signal
import sys


def run(main, report, banner):
    """`report` tells of an exception as the interpreter does at its top level. On a terminal that can move its cursor the
    lines are edited and remembered, as CPython's own prompt does it."""
    if banner:
        print(f"Python {sys.version} on linux\n"
              'Type "help", "copyright", "credits" or "license" for more information.', file=sys.stderr)
    startup = os.environ.get("PYTHONSTARTUP")
    if startup:
        try:
            with open(startup) as file:
                exec(compile(file.read(), startup, "exec"), main.__dict__)
        except OSError as error:
            print(f"Could not open PYTHONSTARTUP\n{type(error).__name__}: {error}", file=sys.stderr)
        except Exception as error:
            report(error)
    sys.ps1 = getattr(sys, "ps1", ">>> ")
    sys.ps2 = getattr(sys, "ps2", "... ")
    plain = not sys.flags.ignore_environment and os.environ.get("PYTHON_BASIC_REPL")
    edited = None if plain else _edited_prompt()
    if edited is None:
        Console(main.__dict__).loop()
    else:
        _read_history()
        edited(mainmodule=main)


def _edited_prompt():
    """The library's prompt in Python; None where it cannot be used: no terminal, or one that is `dumb`."""
    from _pyrepl import main
    if not main.CAN_USE_PYREPL:
        return None
    restore_whole()
    return main.interactive_console


def restore_whole():
    """The prompt gives the terminal back before each program. A Ctrl-C typed in the middle of that waits for its end: otherwise the
    terminal stayed raw, and the next prompt took that for the mode to restore."""
    from _pyrepl.unix_console import UnixConsole
    restore = UnixConsole.restore

    def whole(self):
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            restore(self)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    UnixConsole.restore = whole


def _read_history():
    """What earlier prompts have appended to ~/.python_history, or to the file that PYTHON_HISTORY names."""
    import site
    from _pyrepl import readline
    try:
        readline.read_history_file(site.gethistoryfile())
    except OSError:
        pass  # there is none yet


class Console(code.InteractiveInterpreter):
    """Reads from sys.stdin; prompts go to stderr, as CPython's do without readline."""

    def __init__(self, names):
        super().__init__(names)
        self.compile.compiler.flags |= ast.PyCF_ALLOW_INCOMPLETE_INPUT if hasattr(ast, "PyCF_ALLOW_INCOMPLETE_INPUT") else 0

    def loop(self):
        lines = []
        while True:
            try:
                sys.stdout.flush()
                sys.stderr.write(str(sys.ps2 if lines else sys.ps1))
                sys.stderr.flush()
                line = sys.stdin.readline()
            except KeyboardInterrupt:
                print("\nKeyboardInterrupt", file=sys.stderr)
                lines = []
                continue
            if not line:
                sys.stderr.write("\n")
                if lines:
                    self.runsource("\n".join(lines) + "\n", "<stdin>", "exec")
                return
            lines.append(line.rstrip("\n"))
            if not self.runsource("\n".join(lines), "<stdin>", "single"):
                lines = []

    def runsource(self, source, filename, symbol):
        self._source = source
        return super().runsource(source, filename, symbol)

    def runcode(self, code):
        linecache._register_code(code, self._source, "<stdin>")  # tracebacks show its lines
        super().runcode(code)

    def showtraceback(self):
        error = sys.exception()
        own = error.__traceback__
        while own is not None and own.tb_frame.f_code.co_filename != "<stdin>":
            own = own.tb_next
        error.__traceback__ = own
        sys.excepthook(type(error), error, own)
