"""The modules of our own sessions, over the imports of the world."""
