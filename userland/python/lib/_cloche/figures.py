"""plt.show() where nobody looks at a screen: each figure becomes a file that the host finds, /workspace/.cloche/figures/figure-N.png."""
import os
import sys

FOLDER = "/workspace/.cloche/figures"
_WATCHED = "matplotlib.backends.backend_agg"


class _Loader:
    """Loads as the module's own loader does, then puts our `show` in place."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def exec_module(self, module):
        self._loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self._loader
        module.show = show


class Finder:
    """Comes first on sys.meta_path, and speaks up for one module only."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != _WATCHED:
            return None
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def show(*args, **kwargs):
    """Saves the figures that have changed since they were last shown. They stay open, as those of a script without a screen do."""
    from matplotlib._pylab_helpers import Gcf
    for manager in Gcf.get_all_fig_managers():
        figure = manager.canvas.figure
        if figure.stale or not getattr(figure, "_cloche_shown", False):
            os.makedirs(FOLDER, exist_ok=True)
            figure.savefig(_free_name())
            figure._cloche_shown, figure.stale = True, False


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
        while function is not None and not hasattr(function, "cache_clear"):
            function = getattr(function, "__wrapped__", None)
        if function is not None:
            function.cache_clear()


def install():
    sys.meta_path.insert(0, Finder)
