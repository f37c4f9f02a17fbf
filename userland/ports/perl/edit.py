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
WHY = "starts what open2 and open3 are told by posix_spawn"
OPEN3 = "ext/IPC-Open3/lib/IPC/Open3.pm"
replace(OPEN3, "use constant DO_SPAWN => $^O eq 'os2' || $^O eq 'MSWin32' || FORCE_DEBUG_SPAWN;", "use constant DO_SPAWN => 1;", WHY)
replace(OPEN3, "$pid = eval { system 1, @_ }; # 1 == P_NOWAIT", """# As exec has it: one string may be the shell's.
	    $pid = eval { start_program(@_ > 1 ? @_ : $_[0] =~ /[\\$&*(){}[\\]'";\\\\|?<>~`\\n]/ ? ('/bin/sh', '-c', @_) : split ' ', $_[0]) };""", WHY)
replace(OPEN3, """	} elsif(!$pid || $pid < 0) {
	    push @errs, "IO::Pipe: Can't spawn-NOWAIT: $!";""", """	} elsif(!$pid) {
	    push @errs, "exec of @_ failed: $!";""", WHY)
replace("cpan/JSON-PP/bin/json_pp", "use Getopt::Long;\n", "use Getopt::Long qw(:config no_ignore_case);\n", "has the options -v and -V")
