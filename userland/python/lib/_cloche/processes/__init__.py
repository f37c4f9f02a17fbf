"""Children, signals, terminals."""
