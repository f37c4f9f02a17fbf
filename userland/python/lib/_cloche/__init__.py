"""The guest side of the Python runtime: what makes this interpreter an ordinary process of the kernel.

image     prepares the interpreter once; its memory is then the boot image
start     the entry of every process and every session turn
options   the command line
program   runs what the command line names, and ends as CPython ends
door      system calls, through the one import that the interpreter has
"""
