"""What modules of others are changed by when they are imported."""
