"""perl: system, exec, open and backticks start programs by vfork, which wants the call in the function that execs; fork itself, which would
go on in the same frames as a second process, fails. These lines are under perl's licence.
"""

from edits import before, replace

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
before("perl.h", "#endif /* Include guard */", '#include "real_time_signals.h"\n\n', "counts real-time signals as bash does")
WHY = "has modules of C though nothing is loaded dynamically"
replace("lib/Unicode/UCD.pm", "use if defined &DynaLoader::boot_DynaLoader, Storable =>", "use Storable", WHY)
replace("lib/Unicode/UCD.pm", 'use if defined &DynaLoader::boot_DynaLoader, "Unicode::Normalize" =>', "use Unicode::Normalize", WHY)
