"""The guest side of the Python runtime: what makes this interpreter an ordinary process of the kernel.

host        system calls, through the one import that the interpreter has, and what `os` is over them
libraries   what modules of others are changed by when they are imported
threads     threads, of which one runs at a time
sockets     names, polls, and asyncio's loop
processes   children, signals, terminals
pictures    Pillow's codecs, by a program of the system
programs    the command line: runs what it names, and ends as CPython ends
sessions    code of one __main__, call after call, and the host that it speaks with
image       prepares the interpreter once; its memory is then the boot image, and its entry the one of every process and turn

A room imports from those above it, never from one below. docs/python-replaced.md names each module.
"""
FOLDER = __file__.rpartition("/")[0] + "/"
