"""Pillow's codecs, which the interpreter is built without: a program of the system does their work, one process for each picture."""
