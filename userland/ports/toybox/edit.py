"""toybox: functions get the type that they are called by, because a call by another type is a trap here, getconf tells the kernel's limit,
and netcat has the options that scripts know from OpenBSD's.

These lines are under toybox's licence (0BSD).
"""

from edits import replace

WHY = "gives exit handlers the signal number that they are called with"
replace("toys/posix/ps.c", "static void top_cursor_cleanup(void)\n", "static void top_cursor_cleanup(int sig)\n", WHY)
replace("lib/lib.c", "static void tempfile_handler(void)\n", "static void tempfile_handler(int sig)\n", WHY)
replace("toys/pending/dd.c", "static void status()\n", "static void status(int sig)\n", WHY)
replace("toys/pending/dd.c", "          if (TT.conv & _DD_conv_noerror) status();\n",
        "          if (TT.conv & _DD_conv_noerror) status(0);\n", WHY)
replace("toys/pending/dd.c", "\n      status();\n", "\n      status(0);\n", WHY)
# The C library has the least of all that Linux ever took; src/kernel/limits.h has ours.
replace("toys/posix/getconf.c", "    if (l == -1) puts(", "    if (!i && c->value == _SC_ARG_MAX) l = 2 << 20;\n    if (l == -1) puts(",
        "tells how long arguments may be")

NETCAT = "toys/net/netcat.c"
WHY = "knows OpenBSD's -z, -v, -N, -q 0 and -l [HOST] PORT"
replace(NETCAT, "q#<1s:f:46uUn[", "q#<0s:f:46uUnzvN[", WHY)
replace(NETCAT, "usage: netcat [-46ElLtUu]", "usage: netcat [-46ElLNtUuvz]", WHY)
replace(NETCAT, "    -n\tNo DNS lookup\n", "    -n\tNo DNS lookup\n    -v\tTell of the connection\n    -z\tConnect, and send nothing\n", WHY)
replace(NETCAT, "TT.q = TT.q ? TT.q*1000 : -1;", "TT.q = FLAG(q) ? TT.q*1000+!TT.q : -1;", WHY)
replace(NETCAT, "  // The argument parsing logic can't make", """  if (FLAG(l) && !TT.p && !FLAG(U) && toys.optc && toys.optc<3 && isdigit(*toys.optargs[toys.optc-1])) {
    TT.p = atolx_range(toys.optargs[--toys.optc], 1, 65535);
    if (toys.optc) TT.s = toys.optargs[--toys.optc];
  }

  // The argument parsing logic can't make""", WHY)
replace(NETCAT, "      alarm(0);\n      in1 = out2 = sockfd;\n", """      alarm(0);
      in1 = out2 = sockfd;
      if (FLAG(v)) fprintf(stderr, "Connection to %s %s port [%s/*] succeeded!\\n", *toys.optargs, FLAG(U) ? "" : toys.optargs[1], FLAG(u) ? "udp" : "tcp");
      if (FLAG(z)) goto cleanup;
""", WHY)
replace("lib/net.c", "      if (pollfds[i].revents & POLLIN) {\n", "      if (pollfds[i].revents & (POLLIN|POLLERR)) {\n", "ends where a datagram is refused")
WHY = "keeps its own side open where its input had nothing, as OpenBSD's does: the other side may still be about to send"
replace("lib/net.c", "  int i, pollcount = 2;\n\n  memset(pollfds", "  int i, sent = 0, pollcount = 2;\n\n  memset(pollfds", WHY)
replace("lib/net.c", "          xwrite(i ? out2 : out1, libbuf, len);\n", "          xwrite(i ? out2 : out1, libbuf, len);\n          sent |= i;\n", WHY)
replace("lib/net.c", "          shutdown(pollfds[0].fd, SHUT_WR);\n", "          if (sent) shutdown(pollfds[0].fd, SHUT_WR);\n", WHY)
