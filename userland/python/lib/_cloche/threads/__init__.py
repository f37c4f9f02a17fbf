"""Threads of an interpreter with one stack: scheduler.py runs them, library.py is what the library sees of it."""
