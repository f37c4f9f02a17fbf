"""dash on cloche_clone: a child shell runs a function instead of coming back from fork a second time.

These lines are under dash's licence (BSD-3-Clause).
"""

from edits import after, before, replace

WHY = "starts child shells by cloche_clone"

after("src/jobs.h", "int forkshell(struct job *, union node *, int);\n", """
/* Runs child(arg), which does not return, in a child shell; gives its pid. */
int forkshell_run(struct job *, union node *, int, void (*)(void *), void *);
""", WHY)

replace("src/jobs.c", """	pid = fork();
	if (pid == 0)
""", """	pid = -1;
	if (pid == 0)
""", WHY)

before("src/jobs.c", "struct job *vforkexec(union node *n,", """struct forkshell_start {
	struct job *jp;
	union node *n;
	int mode;
	void (*child)(void *);
	void *arg;
};

extern struct jmploc main_handler;

static int forkshell_child(void *p)
{
	struct forkshell_start *start = p;

	/* The frame of main, to which exceptions go, is not in a clone: this one takes its place. forkchild makes it
	   the handler. */
	if (setjmp(main_handler.loc)) {
		exitreset();
		exitshell();
	}
	forkchild(start->jp, start->n, start->mode);
	start->child(start->arg);
	exitshell();
	return 0;
}

int
forkshell_run(struct job *jp, union node *n, int mode,
	      void (*child)(void *), void *arg)
{
	struct forkshell_start start = { jp, n, mode, child, arg };
	int pid;

	pid = cloche_clone(forkshell_child, &start);
	forkparent(jp, n, mode, pid);
	return pid;
}

""", WHY)
after("src/jobs.c", "#include <fcntl.h>\n", "#include <cloche.h>\n", WHY)

# ( list ) and list &
before("src/eval.c", "STATIC int\nevalsubshell(union node *n, int flags)\n{", """struct subshell_start {
	union node *n;
	int flags;
};

static void subshell_child(void *p)
{
	struct subshell_start *start = p;

	INTON;
	redirect(start->n->nredir.redirect, 0);
	evaltreenr(start->n->nredir.n, start->flags);
}

""", WHY)
replace("src/eval.c", "	if (forkshell(jp, n, backgnd) == 0) {\n", """	forkshell_run(jp, n, backgnd, subshell_child, &(struct subshell_start) {
		n, (flags | EV_EXIT) & (backgnd ? ~EV_TESTED : ~0) });
	if (0) {
""", WHY)

# Each member of a pipeline.
before("src/eval.c", "STATIC int\nevalpipe(union node *n, int flags)\n{", """struct pipe_start {
	union node *n;
	int flags;
	int prevfd;
	int *pip;
};

static void pipe_child(void *p)
{
	struct pipe_start *start = p;

	INTON;
	if (start->pip[1] >= 0)
		close(start->pip[0]);
	if (start->prevfd > 0) {
		dup2(start->prevfd, 0);
		close(start->prevfd);
	}
	if (start->pip[1] > 1) {
		dup2(start->pip[1], 1);
		close(start->pip[1]);
	}
	evaltreenr(start->n, start->flags);
}

""", WHY)
replace("src/eval.c", "		if (forkshell(jp, lp->n, n->npipe.backgnd) == 0) {\n",
        """		forkshell_run(jp, lp->n, n->npipe.backgnd, pipe_child,
			      &(struct pipe_start) { lp->n, flags, prevfd, pip });
		if (0) {
""", WHY)

# $( list )
before("src/eval.c", "void\nevalbackcmd(union node *n, struct backcmd *result)\n{", """struct backcmd_start {
	union node *n;
	int *pip;
};

static void backcmd_child(void *p)
{
	struct backcmd_start *start = p;

	FORCEINTON;
	close(start->pip[0]);
	if (start->pip[1] != 1) {
		dup2(start->pip[1], 1);
		close(start->pip[1]);
	}
	ifsfree();
	evaltreenr(start->n, EV_EXIT);
}

""", WHY)
replace("src/eval.c", "	if (forkshell(jp, n, FORK_NOJOB) == 0) {\n", """	forkshell_run(jp, n, FORK_NOJOB, backcmd_child,
		      &(struct backcmd_start) { n, pip });
	if (0) {
""", WHY)

# A here-document that is longer than a pipe holds.
before("src/redir.c", "STATIC int\nopenhere(union node *redir)\n{", """struct here_start {
	const char *text;
	size_t len;
	int *pip;
};

static void here_child(void *p)
{
	struct here_start *start = p;

	close(start->pip[0]);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	xwrite(start->pip[1], start->text, start->len);
	_exit(0);
}

""", WHY)
replace("src/redir.c", "	if (forkshell((struct job *)NULL, (union node *)NULL, FORK_NOJOB) == 0) {\n",
        """	forkshell_run(NULL, NULL, FORK_NOJOB, here_child,
		      &(struct here_start) { p, len, pip });
	if (0) {
""", WHY)
