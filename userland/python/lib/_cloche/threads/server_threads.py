"""socketserver in a thread: one that has left the stack while it served, and was shut down since, does not serve again."""
from ..libraries import imports
from . import scheduler


def _adopt(module):
    base = module.BaseServer
    serve, shutdown = base.serve_forever, base.shutdown

    def serve_forever(self, poll_interval=0.5):
        job = scheduler.current_job()
        ended = vars(self).setdefault("_cloche_ended", [])
        if job in ended:
            return ended.remove(job)
        try:
            serve(self, poll_interval)
        except SystemExit:
            if job is not None and job.left:
                self._cloche_left = job
            raise

    def shut_down(self):
        job = vars(self).pop("_cloche_left", None)
        if job is None:
            shutdown(self)
        else:
            self._cloche_ended.append(job)  # it has stopped to serve when it left

    for function, own in ((serve_forever, serve), (shut_down, shutdown)):
        function.__name__, function.__qualname__, function.__doc__ = own.__name__, own.__qualname__, own.__doc__
    base.serve_forever, base.shutdown = serve_forever, shut_down


def install():
    imports.after("socketserver", _adopt)
