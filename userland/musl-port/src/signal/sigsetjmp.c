// In siglongjmp.c, with what it undoes.
