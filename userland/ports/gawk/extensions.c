/* gawk's own extensions (-l, @load, -i inplace) are linked into it, for guests load no libraries:
   what gawk would load is looked up here by its name. Compiled with EXTENSIONS: X(name) for each;
   an extension's two symbols are named after it. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "config.h"
#include "gawkapi.h"

typedef int Load(const gawk_api_t* const, awk_ext_id_t);

struct Extension {
  const char* file;
  Load* load;
};

#define X(name) extern Load name##_load;
EXTENSIONS
#undef X

static const struct Extension extensions[] = {
#define X(name) {#name ".so", name##_load},
    EXTENSIONS
#undef X
};

static const int is_gpl_compatible;

void* dlopen(const char* path, int flags) {
  const char* file = strrchr(path, '/');
  file = file == NULL ? path : file + 1;
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
    if (strcmp(extensions[i].file, file) == 0) return (void*)&extensions[i];
  }
  return NULL;
}

void* dlsym(void* restrict library, const char* restrict name) {
  if (strcmp(name, "dl_load") == 0) return (void*)((struct Extension*)library)->load;
  return (void*)&is_gpl_compatible;
}

char* dlerror(void) { return "no shared libraries in a sandbox"; }
