"""The prompt: `>>>` on a terminal, or whenever -i asks for it."""
import ast
import code
import os
import sys


def run(main, report, banner):
    """`report` tells of an exception as the interpreter does at its top level."""
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
    Console(main.__dict__).loop()


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

    def showtraceback(self):
        error = sys.exception()
        own = error.__traceback__
        while own is not None and own.tb_frame.f_code.co_filename != "<stdin>":
            own = own.tb_next
        error.__traceback__ = own
        sys.excepthook(type(error), error, own)
