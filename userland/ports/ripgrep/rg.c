// rg: starts ripgrep's module with what WASI cannot tell it, or do. Its standard input is searched where no path is given and
// it is a file or a pipe, as on Linux: WASI programs take it for none, so a path of "-" is added. Threads it
// cannot start, so their number is taken away.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE "/usr/libexec/rg"

static const char short_with_value[] = "ABCEMTdefgjmrt";

static const char *const long_with_value[] = {
  "regexp", "file", "pre", "pre-glob", "dfa-size-limit", "encoding", "engine", "max-count", "regex-size-limit", "threads", "glob",
  "iglob", "ignore-file", "max-depth", "maxdepth", "max-filesize", "type", "type-not", "type-add", "type-clear", "after-context",
  "before-context", "color", "colors", "context", "context-separator", "field-context-separator", "field-match-separator",
  "hostname-bin", "hyperlink-format", "max-columns", "path-separator", "replace", "sort", "sortr", "generate", 0,
};

// With these ripgrep does something else than to search.
static const char *const other_modes[] = { "files", "type-list", "generate", "help", "version", "pcre2-version", 0 };

static char **kept;
static int kept_count, positional_count;
static bool has_pattern, other_mode, stdin_taken;

static bool among(const char *const *names, const char *name, size_t length)
{
  for (; *names; names++)
    if (strlen(*names) == length && !memcmp(*names, name, length)) return true;
  return false;
}

static void keep(char *argument)
{
  if (argument) kept[kept_count++] = argument;
}

static void note_pattern(bool in_file, const char *value)
{
  has_pattern = true;
  if (in_file && value && !strcmp(value, "-")) stdin_taken = true;
}

// Each returns the next argument to look at.
static char **long_option(char **at)
{
  const char *name = *at + 2, *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  bool apart = !equals && at[1] && among(long_with_value, name, length);
  const char *value = equals ? equals + 1 : apart ? at[1] : 0;
  if (among(other_modes, name, length)) other_mode = true;
  if (length == 6 && !memcmp(name, "regexp", 6)) note_pattern(false, value);
  if (length == 4 && !memcmp(name, "file", 4)) note_pattern(true, value);
  if (length != 7 || memcmp(name, "threads", 7)) {
    keep(at[0]);
    if (apart) keep(at[1]);
  }
  return at + (apart ? 2 : 1);
}

static char **short_options(char **at)
{
  char *letter = *at + 1;
  for (; *letter; letter++) {
    if (*letter == 'h' || *letter == 'V') other_mode = true;
    if (strchr(short_with_value, *letter)) break;
  }
  if (!*letter) {
    keep(*at);
    return at + 1;
  }
  bool apart = !letter[1] && at[1];
  const char *value = apart ? at[1] : letter + 1;
  if (*letter == 'e' || *letter == 'f') note_pattern(*letter == 'f', value);
  if (*letter == 'j') {
    *letter = 0;
    if (letter - *at > 1) keep(*at);
  } else {
    keep(at[0]);
    if (apart) keep(at[1]);
  }
  return at + (apart ? 2 : 1);
}

static bool stdin_is_searched(void)
{
  struct stat status;
  if (other_mode || stdin_taken || positional_count != (has_pattern ? 0 : 1) || fstat(STDIN_FILENO, &status)) return false;
  return S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

int main(int argc, char **argv)
{
  kept = calloc(argc + 2, sizeof *kept);
  if (!kept) return 2;
  char **at = argv;
  keep(*at ? *at++ : "rg");
  bool only_positional = false;
  while (*at) {
    if (!only_positional && !strcmp(*at, "--")) {
      only_positional = true;
      keep(*at++);
    } else if (!only_positional && !strncmp(*at, "--", 2)) {
      at = long_option(at);
    } else if (!only_positional && **at == '-' && (*at)[1]) {
      at = short_options(at);
    } else {
      positional_count++;
      keep(*at++);
    }
  }
  if (stdin_is_searched()) keep("-");
  execv(MODULE, kept);
  perror("rg: " MODULE);
  return 2;
}
