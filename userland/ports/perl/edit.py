"""perl: system, exec, open and backticks start programs by vfork, which wants the call in the function that execs; fork itself, which would
go on in the same frames as a second process, fails. These lines are under perl's licence.
"""

from edits import replace

WHY = "starts programs by vfork"
replace("iperlsys.h", "#  define PerlProc_fork()       my_fork()\n", "#  define PerlProc_fork()       fork()\n", WHY)
replace("pp_sys.c", """    sigprocmask(SIG_SETMASK, &newmask, &oldmask);
#endif
    childpid = PerlProc_fork();
""", """    sigprocmask(SIG_SETMASK, &newmask, &oldmask);
#endif
    errno = ENOSYS;
    childpid = -1;
""", "makes fork fail")
