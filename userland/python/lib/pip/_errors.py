"""How a command fails."""


class PipError(Exception):
    """The text is what the user reads, one or more lines; `lead` comes before it."""

    lead = "ERROR: "
    status = 1


class Missing(PipError):
    """There is nothing of that name that can be used here."""


class NotFound(Missing):
    """A name that neither the registry nor a wheel has."""

    lead = ""


class NotAsked(PipError):
    """A name that may be in an index that could not be asked."""

    lead = ""


class NotBuildable(Missing):
    """A source that takes a compiler, or another program that is not here."""


class UsageError(PipError):
    """The command line is wrong."""

    status = 2
