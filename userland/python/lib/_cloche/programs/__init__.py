"""What a command line names, from its options to its end."""
