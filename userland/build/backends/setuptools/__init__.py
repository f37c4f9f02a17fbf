"""In place of the build tool of that name, as far as pip asks it for metadata."""
