"""How a command fails."""


class PipError(Exception):
    """The text is what the user reads, one or more lines; `lead` comes before it."""

    lead = "ERROR: "
    status = 1


class NotFound(PipError):
    """A name that neither the registry nor a wheel has."""

    lead = ""


class UsageError(PipError):
    """The command line is wrong."""

    status = 2
