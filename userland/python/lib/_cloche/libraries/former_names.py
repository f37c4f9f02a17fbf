"""Names of the standard library's insides that are gone in this Python, and that a library looks for."""
from . import imports


def _ansible(_module):
    # Its modules (2.19 to 2.21) ask what `dataclasses._is_type` is before they look whether it has the fault that they would
    # replace it for. It has not, so any answer will do.
    import dataclasses
    if not hasattr(dataclasses, "_is_type"):
        dataclasses._is_type = None


def _truststore(module):
    # It has the system say whom to trust, by way of `_ssl`, which is absent: connections of `ssl` here do that always.
    import ssl
    module.SSLContext = ssl.SSLContext
    module.inject_into_ssl = module.extract_from_ssl = lambda: None


def install():
    imports.after("ansible", _ansible)
    imports.supply("truststore._api", _truststore)
