"""bc tells a failed write. These lines are under bc's licence (GPL-3.0-or-later)."""

from edits import replace

# As Debian's.
replace("bc/util.c", "  exit(val);\n  /*NOTREACHED*/\n", """  if (fflush (stdout) != 0 || ferror (stdout))
    {
      perror ("dc: could not write output file");
      val = 1;
    }
  exit(val);
  /*NOTREACHED*/
""", "tells a failed write at the end")
