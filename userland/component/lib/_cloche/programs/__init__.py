"""The namespace of the user and its streams."""
