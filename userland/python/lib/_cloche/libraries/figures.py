"""plt.show() where nobody looks at a screen: each figure becomes a file that the host finds, /workspace/.cloche/figures/figure-N.png."""
import os
import sys

from . import imports

FOLDER = "/workspace/.cloche/figures"


def _adopt_backend(module):
    module.show = show


def show(*args, **kwargs):
    """Saves the figures that have changed since they were last shown. They stay open, as those of a script without a screen do."""
    from matplotlib._pylab_helpers import Gcf
    for manager in Gcf.get_all_fig_managers():
        figure = manager.canvas.figure
        if figure.stale or not getattr(figure, "_cloche_shown", False):
            os.makedirs(FOLDER, exist_ok=True)
            name = _free_name()
            figure.savefig(name)
            _tell(name)
            figure._cloche_shown, figure.stale = True, False


def _tell(name):
    """The doors list what was shown in a run's result."""
    import _host
    try:
        _host.call(bytearray(b"fig0" + name.encode() + bytes(8)))
    except OSError:
        pass  # this host does not ask


def _free_name():
    numbers = [int(name[7:-4]) for name in os.listdir(FOLDER) if name.startswith("figure-") and name[7:-4].isdigit()]
    return f"{FOLDER}/figure-{max(numbers, default=0) + 1}.png"


def adopt():
    """A process starts from an image that has matplotlib: what it reads of the environment when it is imported it is told now."""
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is not None and (backend := os.environ.get("MPLBACKEND")):
        try:
            matplotlib.rcParams["backend"] = backend
        except ValueError:
            pass  # matplotlib says so when the backend is asked for


def forget():
    """While an image is made: folders that belong to the user who imports are looked for by each process."""
    matplotlib = sys.modules.get("matplotlib")
    for name in ("get_configdir", "get_cachedir"):
        function = getattr(matplotlib, name, None)
        # matplotlib._logged_cached keeps in its closure whether it has asked.
        code = getattr(function, "__code__", None)
        if code is not None and "called" in code.co_freevars:
            function.__closure__[code.co_freevars.index("called")].cell_contents = False


def install():
    imports.after("matplotlib.backends.backend_agg", _adopt_backend)
