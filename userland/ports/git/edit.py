"""git without fork: programs start by vfork, its own background work by cloche_clone.

These lines are under git's licence (GPL-2.0-only).
"""

from edits import after, before, replace

WHY = "starts programs by vfork"
# Between vfork and exec the memory is the parent's, so these routines would stay; nothing there calls them.
replace("run-command.c", """		set_die_routine(child_die_fn);
		set_error_routine(child_error_fn);
		set_warn_routine(child_warn_fn);

		close(notify_pipe[0]);
""", "		close(notify_pipe[0]);\n", WHY)
replace("run-command.c", "	cmd->pid = fork();\n", "	cmd->pid = vfork();\n", WHY)
# A use keeps the compiler content with the routines that are not set.
replace("run-command.c", "	atfork_prepare(&as);\n\n", """	atfork_prepare(&as);
	(void)child_die_fn, (void)child_error_fn, (void)child_warn_fn;

""", WHY)

WHY = "runs asynchronous parts as clones"
after("run-command.c", '#include "cache.h"\n', "#include <cloche.h>\n", WHY)
before("run-command.c", "int start_async(struct async *async)\n{", """struct async_start {
	struct async *async;
	int proc_in, proc_out;
	int close_in, close_out;
};

static int async_child(void *p)
{
	struct async_start *start = p;

	if (start->close_in >= 0)
		close(start->close_in);
	if (start->close_out >= 0)
		close(start->close_out);
	git_atexit_clear();
	process_is_async = 1;
	exit(!!start->async->proc(start->proc_in, start->proc_out, start->async->data));
}

""", WHY)
replace("run-command.c", """	async->pid = fork();
	if (async->pid < 0) {
""", """	async->pid = cloche_clone(async_child, &(struct async_start) {
		async, proc_in, proc_out, need_in ? fdin[1] : -1, need_out ? fdout[0] : -1 });
	if (async->pid < 0) {
""", WHY)
replace("run-command.c", """	if (!async->pid) {
		if (need_in)
			close(fdin[1]);
		if (need_out)
			close(fdout[0]);
		git_atexit_clear();
		process_is_async = 1;
		exit(!!async->proc(proc_in, proc_out, async->data));
	}

	mark_child""", "	mark_child", WHY)

WHY = "copies both ways of a remote helper as clones"
after("transport-helper.c", '#include "cache.h"\n', "#include <cloche.h>\n", WHY)
before("transport-helper.c", """/*
 * Spawn the transfer tasks and then wait for them. Returns 0 on success,
 * -1 on failure.
 */
static int tloop_spawnwait_tasks(struct bidirectional_transfer_state *s)
{
	pid_t pid1, pid2;
""", """static int copy_gtp(void *p)
{
	struct bidirectional_transfer_state *s = p;

	udt_kill_transfer(&s->ptg);
	exit(udt_copy_task_routine(&s->gtp) ? 0 : 1);
}

static int copy_ptg(void *p)
{
	struct bidirectional_transfer_state *s = p;

	udt_kill_transfer(&s->gtp);
	exit(udt_copy_task_routine(&s->ptg) ? 0 : 1);
}

""", WHY)
replace("transport-helper.c", """	pid1 = fork();
	if (pid1 < 0)
		die_errno(_("can't start thread for copying data"));
	else if (pid1 == 0) {
		udt_kill_transfer(&s->ptg);
		exit(udt_copy_task_routine(&s->gtp) ? 0 : 1);
	}
""", """	pid1 = cloche_clone(copy_gtp, s);
	if (pid1 < 0)
		die_errno(_("can't start thread for copying data"));
""", WHY)
replace("transport-helper.c", """	pid2 = fork();
	if (pid2 < 0)
		die_errno(_("can't start thread for copying data"));
	else if (pid2 == 0) {
		udt_kill_transfer(&s->gtp);
		exit(udt_copy_task_routine(&s->ptg) ? 0 : 1);
	}
""", """	pid2 = cloche_clone(copy_ptg, s);
	if (pid2 < 0)
		die_errno(_("can't start thread for copying data"));
""", WHY)

WHY = "collects garbage before the command ends: there is no going into the background"
replace("setup.c", """int daemonize(void)
{
#ifdef NO_POSIX_GOODIES
""", """int daemonize(void)
{
#if 1
""", WHY)
