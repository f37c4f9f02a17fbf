"""The version that pip names itself by."""
__version__ = "0.1.0"
