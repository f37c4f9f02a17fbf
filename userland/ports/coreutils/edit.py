"""coreutils without fork, and stdbuf without a library to load. These lines are under coreutils' licence (GPL-3.0-or-later).

All programs that fork do so to execute something: build.sh calls fork vfork. What is here are the other cases.
"""

from edits import after, before, replace

replace("src/sort.c", "static pid_t\npipe_fork (",
        "static inline __attribute__ ((__always_inline__, __returns_twice__)) pid_t\npipe_fork (",
        "has the frame of the vfork in the function that executes")
replace("lib/savewd.c", "          wd->val.child = fork ();\n", "          wd->val.child = -1;\n",
        "has no child with another directory: the directory that cannot be come back to is told")
# The C library of guests reads the variables itself.
replace("src/stdbuf.c", "  set_LD_PRELOAD ();\n", "", "needs no library to preload")
replace("configure", "\nstdbuf_supported=no\n", "\nstdbuf_supported=yes\n", "builds stdbuf")
replace("configure", "  *' stdbuf '*) pkglibexec_PROGRAMS=", "  *' no library '*) pkglibexec_PROGRAMS=",
        "builds stdbuf without its library")
replace("src/timeout.c", "      return exit_status;\n", "      _exit (exit_status);\n",
        "ends the child by _exit: a vforked one cannot return from main")

# sort -n and -g read the first key of a line once, where it is a short decimal number, and not at each comparison. What is kept is
# exact: whole numbers of up to 18 digits for -n; for -g decimals of up to 15 digits, which are doubles of the same order (and which
# cost a multiplication of 128 bits in software each time otherwise).
replace("src/sort.c", "  char *keylim;\t\t\t/* Limit of first key. */\n", """  char *keylim;\t\t\t/* Limit of first key. */
  int64_t number;\t\t/* The rank of the first key's number, or NO_NUMBER. */
""", "keeps a number with its line")
before("src/sort.c", "/* Fill BUF reading from FP, moving buf->left bytes", """#define NO_NUMBER INT64_MIN

/* DIGITS / 10^PLACES as a whole number of the same order. */
static int64_t
rank_of_decimal (bool negative, int64_t digits, int places)
{
  static double const powers[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
  double value = digits / powers[places];
  int64_t bits;
  memcpy (&bits, &value, sizeof bits);
  return negative ? - bits : bits;
}

static int64_t
number_of (struct line const *line, struct keyfield const *key)
{
  char const *p = line->keybeg;
  char const *lim = line->keylim;
  if (! (key->numeric || key->general_numeric) || key->ignore || key->translate || thousands_sep != NON_CHAR)
    return NO_NUMBER;
  while (p < lim && blanks[to_uchar (*p)])
    p++;
  bool negative = p < lim && *p == '-';
  p += negative;
  int64_t number = 0;
  int digits = 0;
  int places = -1;
  for (; p < lim; p++)
    if (ISDIGIT (*p) && digits < 18)
      {
        number = number * 10 + (*p - '0');
        digits++;
        places += 0 <= places;
      }
    else if (*p == decimal_point && places < 0 && key->general_numeric)
      places = 0;
    else
      break;
  if (p < lim && (ISDIGIT (*p) || *p == decimal_point))
    return NO_NUMBER;
  if (! key->general_numeric)
    return negative ? - number : number;
  if (digits == 0 || 15 < digits || (p < lim && strchr ("eExXpP", *p)))
    return NO_NUMBER;
  return rank_of_decimal (negative, number, MAX (places, 0));
}

""", "reads the number of a line")
after("src/sort.c", """                          line_start++;
                      line->keybeg = line_start;
                    }
""", "                  line->number = number_of (line, key);\n", "keeps a number with its line")
after("src/sort.c", "          temp.keylim = temp.text + (line->keylim - line->text);\n", "          temp.number = line->number;\n",
      "keeps a number with its line")
after("src/sort.c", "                    saved.text + (smallest->keylim - smallest->text);\n",
      "                  saved.number = smallest->number;\n", "keeps a number with its line")
replace("src/sort.c", "      if (hard_LC_COLLATE || key_numeric (key)\n", """      if (key == keylist && (key->numeric || key->general_numeric) && a->number != NO_NUMBER
          && b->number != NO_NUMBER)
        diff = (a->number > b->number) - (a->number < b->number);
      else if (hard_LC_COLLATE || key_numeric (key)
""", "compares the numbers of two lines")

# --- digits of numbers: a long double has 64 bits of fraction on x86, and 113 here -----------------------------------------
WHY = "rounds what printf and seq print as on x86: %.2f of 2.675 hangs on it"
before("lib/cl-strtod.c", "/* This function acts like strtod or strtold, except that it falls\n", """#if LONG
/* The nearest number with 64 bits of fraction; ties to even. */
long double
of_64_bits (long double v)
{
  union { long double value; unsigned long long half[2]; } u = { v };
  unsigned long long const dropped = (1ULL << 49) - 1;

  if ((u.half[1] >> 48 & 0x7fff) == 0x7fff)
    return v;
  unsigned long long sum = u.half[0] + (dropped >> 1) + (u.half[0] >> 49 & 1);
  u.half[1] += sum < u.half[0];
  u.half[0] = sum & ~dropped;
  return u.value;
}
#else
# define of_64_bits(v) (v)
#endif

""", WHY)
replace("lib/cl-strtod.c", "    *endptr = end;\n  return d;\n", "    *endptr = end;\n  return of_64_bits (d);\n", WHY)

replace("src/seq.c", "          x = first + i * step;\n", "          extern long double of_64_bits (long double);\n          x = of_64_bits (first + of_64_bits (i * step));\n", WHY)

# --- one program under many names: also under those that a user's links give it ---------------------------------------------
WHY = "finds its name behind links: ln -s /bin/cat mycat"
before("src/coreutils.c", "int\nmain (int argc, char **argv)\n{\n", """/* Finds the file that argv[0] names, in PATH unless it has a slash. */
static bool
find_program (char const *name, char *path, size_t size)
{
  char const *folders = getenv ("PATH");
  if (strchr (name, '/') || ! folders)
    return snprintf (path, size, "%s", name) < size;
  for (;; folders++)
    {
      int length = strcspn (folders, ":");
      if (snprintf (path, size, "%.*s/%s", length ? length : 1, length ? folders : ".", name) < size && access (path, X_OK) == 0)
        return true;
      folders += length;
      if (! *folders)
        return false;
    }
}

/* Launches the program that the first link on the way from argv[0] with a known name means. */
static void
launch_behind_links (int argc, char **argv)
{
  enum { links_max = 40 };
  char path[PATH_MAX], target[PATH_MAX];

  if (! find_program (argv[0], path, sizeof path))
    return;
  for (int i = 0; i < links_max; i++)
    {
      ssize_t length = readlink (path, target, sizeof target - 1);
      if (length <= 0)
        return;
      target[length] = 0;
      char *folder_end = target[0] == '/' ? path : last_component (path);
      if ((folder_end - path) + length >= (ssize_t) sizeof path)
        return;
      strcpy (folder_end, target);
      char const *name = last_component (path);
      launch_program (STREQ (name, "install") ? "ginstall" : name, argc, argv);
    }
}

""", WHY)
replace("src/coreutils.c", "  launch_program (prog_name, argc, argv);\n", "  launch_program (prog_name, argc, argv);\n  launch_behind_links (argc, argv);\n", WHY)
