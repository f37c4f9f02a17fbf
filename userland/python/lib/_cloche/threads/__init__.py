"""Threads, of which one runs at a time: scheduler.py says which, library.py is what the library sees of it."""
