/* time: runs a program and says what it took, with the options, formats and words of GNU time 1.9,
   whose source archive the registries do not carry. Its own failures are exit status 125, a program
   that cannot be run 126, one that is not there 127. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char default_format[] =
    "%Uuser %Ssystem %Eelapsed %PCPU (%Xavgtext+%Davgdata %Mmaxresident)k\n"
    "%Iinputs+%Ooutputs (%Fmajor+%Rminor)pagefaults %Wswaps";
static const char posix_format[] = "real %e\nuser %U\nsys %S";
static const char verbose_format[] =
    "\tCommand being timed: \"%C\"\n"
    "\tUser time (seconds): %U\n"
    "\tSystem time (seconds): %S\n"
    "\tPercent of CPU this job got: %P\n"
    "\tElapsed (wall clock) time (h:mm:ss or m:ss): %E\n"
    "\tAverage shared text size (kbytes): %X\n"
    "\tAverage unshared data size (kbytes): %D\n"
    "\tAverage stack size (kbytes): %p\n"
    "\tAverage total size (kbytes): %K\n"
    "\tMaximum resident set size (kbytes): %M\n"
    "\tAverage resident set size (kbytes): %t\n"
    "\tMajor (requiring I/O) page faults: %F\n"
    "\tMinor (reclaiming a frame) page faults: %R\n"
    "\tVoluntary context switches: %w\n"
    "\tInvoluntary context switches: %c\n"
    "\tSwaps: %W\n"
    "\tFile system inputs: %I\n"
    "\tFile system outputs: %O\n"
    "\tSocket messages sent: %s\n"
    "\tSocket messages received: %r\n"
    "\tSignals delivered: %k\n"
    "\tPage size (bytes): %Z\n"
    "\tExit status: %x";

static const char* name;

struct Usage {
  struct rusage rusage;
  long long elapsed_ms;
  int status; /* as of wait */
  char** command;
};

static long long milliseconds(struct timeval time) {
  return time.tv_sec * 1000LL + time.tv_usec / 1000;
}

static void print_seconds(FILE* out, long long ms) {
  fprintf(out, "%lld.%02lld", ms / 1000, ms % 1000 / 10);
}

/* [hours:]minutes:seconds, with hundredths below an hour. */
static void print_clock(FILE* out, long long ms) {
  const long long seconds = ms / 1000;
  if (seconds >= 3600) {
    fprintf(out, "%lld:%02lld:%02lld", seconds / 3600, seconds % 3600 / 60, seconds % 60);
  } else {
    fprintf(out, "%lld:%02lld.%02lld", seconds / 60, seconds % 60, ms % 1000 / 10);
  }
}

static void print_share(FILE* out, const struct Usage* usage) {
  const long long cpu_ms =
      milliseconds(usage->rusage.ru_utime) + milliseconds(usage->rusage.ru_stime);
  if (usage->elapsed_ms > 0) {
    fprintf(out, "%lld%%", cpu_ms * 100 / usage->elapsed_ms);
  } else {
    fputs("?%", out);
  }
}

/* What %LETTER stands for; false where it stands for nothing. Averages are 0, as on every Linux. */
static int print_value(FILE* out, char letter, const struct Usage* usage) {
  const struct rusage* r = &usage->rusage;
  switch (letter) {
    case '%':
      putc('%', out);
      break;
    case 'C':
      for (char** word = usage->command; *word != NULL; word++)
        fprintf(out, "%s%s", word == usage->command ? "" : " ", *word);
      break;
    case 'D':
    case 'K':
    case 'p':
    case 't':
    case 'X':
      putc('0', out);
      break;
    case 'E':
      print_clock(out, usage->elapsed_ms);
      break;
    case 'e':
      print_seconds(out, usage->elapsed_ms);
      break;
    case 'F':
      fprintf(out, "%ld", r->ru_majflt);
      break;
    case 'I':
      fprintf(out, "%ld", r->ru_inblock);
      break;
    case 'M':
      fprintf(out, "%ld", r->ru_maxrss);
      break;
    case 'O':
      fprintf(out, "%ld", r->ru_oublock);
      break;
    case 'P':
      print_share(out, usage);
      break;
    case 'R':
      fprintf(out, "%ld", r->ru_minflt);
      break;
    case 'r':
      fprintf(out, "%ld", r->ru_msgrcv);
      break;
    case 'S':
      print_seconds(out, milliseconds(r->ru_stime));
      break;
    case 's':
      fprintf(out, "%ld", r->ru_msgsnd);
      break;
    case 'U':
      print_seconds(out, milliseconds(r->ru_utime));
      break;
    case 'W':
      fprintf(out, "%ld", r->ru_nswap);
      break;
    case 'Z':
      fprintf(out, "%ld", sysconf(_SC_PAGESIZE));
      break;
    case 'c':
      fprintf(out, "%ld", r->ru_nivcsw);
      break;
    case 'k':
      fprintf(out, "%ld", r->ru_nsignals);
      break;
    case 'w':
      fprintf(out, "%ld", r->ru_nvcsw);
      break;
    case 'x':
      fprintf(out, "%d", WEXITSTATUS(usage->status));
      break;
    default:
      return 0;
  }
  return 1;
}

static void summarize(FILE* out, const char* format, const struct Usage* usage) {
  for (const char* p = format; *p != '\0'; p++) {
    if (*p == '%') {
      if (p[1] == '\0') {
        putc('?', out);
      } else if (!print_value(out, *++p, usage)) {
        fprintf(out, "?%c", *p);
      }
    } else if (*p == '\\' && p[1] != '\0') {
      switch (*++p) {
        case 't':
          putc('\t', out);
          break;
        case 'n':
          putc('\n', out);
          break;
        case '\\':
          putc('\\', out);
          break;
        default:
          fprintf(out, "?\\%c", *p);
      }
    } else {
      putc(*p == '\\' ? '?' : *p, out);
    }
  }
  putc('\n', out);
}

static void help(void) {
  printf(
      "Usage: %s [OPTIONS] COMMAND [ARG]...\n"
      "Runs COMMAND, and says what it took of the machine.\n\n"
      "  -a, --append              with -o FILE, append instead of overwriting\n"
      "  -f, --format=FORMAT       say it by FORMAT\n"
      "  -o, --output=FILE         write to FILE instead of standard error\n"
      "  -p, --portability         real, user and sys in seconds, as POSIX has it\n"
      "  -q, --quiet               no word of an exit status that is not 0, or of a signal\n"
      "  -v, --verbose             all there is\n"
      "  -h, --help                this text\n"
      "  -V, --version             the version\n\n"
      "In FORMAT: %%C command, %%e and %%E elapsed seconds and [hours:]minutes:seconds, %%U user "
      "and %%S system seconds,\n"
      "%%P share of a CPU, %%M largest memory in KB, %%F major and %%R minor page faults, %%w and "
      "%%c voluntary and\n"
      "involuntary switches, %%x exit status, %%%% a percent sign, \\n \\t \\\\ as in C.\n",
      name);
}

_Noreturn static void misused(void) {
  fprintf(stderr, "Try '%s --help' for more information.\n", name);
  exit(125);
}

static void run(struct Usage* usage) {
  struct timespec from, to;
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  clock_gettime(CLOCK_MONOTONIC, &from);
  const pid_t pid = vfork();
  if (pid == 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    execvp(usage->command[0], usage->command);
    const int error = errno;
    fprintf(stderr, "%s: cannot run %s: %s\n", name, usage->command[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126);
  }
  if (pid < 0 || wait4(pid, &usage->status, 0, &usage->rusage) < 0) {
    fprintf(stderr, "%s: cannot fork: %s\n", name, strerror(errno));
    exit(125);
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  usage->elapsed_ms = (to.tv_sec - from.tv_sec) * 1000LL + (to.tv_nsec - from.tv_nsec) / 1000000;
  signal(SIGINT, SIG_DFL);
  signal(SIGQUIT, SIG_DFL);
}

int main(int argc, char** argv) {
  static const struct option options[] = {{"append", no_argument, NULL, 'a'},
                                          {"format", required_argument, NULL, 'f'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"portability", no_argument, NULL, 'p'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"version", no_argument, NULL, 'V'},
                                          {NULL, 0, NULL, 0}};
  name = argv[0];
  const char* format = getenv("TIME") != NULL ? getenv("TIME") : default_format;
  const char* path = NULL;
  const char* mode = "w";
  int quiet = 0;
  for (int option; (option = getopt_long(argc, argv, "+af:ho:pqvV", options, NULL)) != -1;) {
    switch (option) {
      case 'a':
        mode = "a";
        break;
      case 'f':
        format = optarg;
        break;
      case 'h':
        help();
        return 0;
      case 'o':
        path = optarg;
        break;
      case 'p':
        format = posix_format;
        break;
      case 'q':
        quiet = 1;
        break;
      case 'v':
        format = verbose_format;
        break;
      case 'V':
        puts("time (Cloche; options and formats of GNU time 1.9)");
        return 0;
      default:
        misused();
    }
  }
  if (optind == argc) {
    fprintf(stderr, "%s: missing program to run\n", name);
    misused();
  }
  FILE* out = path == NULL ? stderr : fopen(path, path == NULL ? "" : *mode == 'a' ? "ae" : "we");
  if (out == NULL) {
    fprintf(stderr, "%s: %s: %s\n", name, path, strerror(errno));
    return 125;
  }
  quiet = quiet || format == posix_format;
  struct Usage usage = {.command = argv + optind};
  run(&usage);
  if (WIFSIGNALED(usage.status)) {
    if (!quiet) fprintf(out, "Command terminated by signal %d\n", WTERMSIG(usage.status));
  } else if (WEXITSTATUS(usage.status) != 0 && !quiet) {
    fprintf(out, "Command exited with non-zero status %d\n", WEXITSTATUS(usage.status));
  }
  summarize(out, format, &usage);
  if (fflush(out) != 0) {
    fprintf(stderr, "%s: %s: %s\n", name, path == NULL ? "standard error" : path, strerror(errno));
    return 125;
  }
  return WIFSIGNALED(usage.status) ? 128 + WTERMSIG(usage.status) : WEXITSTATUS(usage.status);
}
