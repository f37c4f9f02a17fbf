"""wget's one call of a function by another type than its own, which wasm does not have. This line is under wget's licence."""

from edits import replace

replace("src/css-url.c", "extern void yylex_destroy(void);", "extern int yylex_destroy(void);", "flex defines it so")
