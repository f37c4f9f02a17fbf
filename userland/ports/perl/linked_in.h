#include <spawn.h>

/* The extensions that are linked in. XSLoader asks for each by its name when it is wanted, so that a start enters none. */
static const struct { const char* module; XSUBADDR_t boot; } linked_in[] = {
#include "boot_table.h"
};

/* Defines MODULE::bootstrap; false where there is no such extension. */
XS_INTERNAL(define_bootstrap) {
  dXSARGS;
  if (items != 1) croak_xs_usage(cv, "module");
  const char* module = SvPV_nolen(ST(0));
  for (size_t i = 0; i < C_ARRAY_LENGTH(linked_in); ++i) {
    if (strNE(module, linked_in[i].module)) continue;
    newXS(Perl_form(aTHX_ "%s::bootstrap", module), linked_in[i].boot, __FILE__);
    XSRETURN_YES;
  }
  XSRETURN_NO;
}

/* Starts a program with this one's standard files, and answers its process; undef with an errno where it does not start. */
XS_INTERNAL(start_program) {
  dXSARGS;
  if (items < 1) croak_xs_usage(cv, "program, ...");
  char** arguments;
  Newx(arguments, items + 1, char*);
  SAVEFREEPV(arguments);
  for (SSize_t i = 0; i < items; ++i) arguments[i] = SvPV_nolen(ST(i));
  arguments[items] = NULL;
  pid_t started;
  errno = posix_spawnp(&started, arguments[0], NULL, NULL, arguments, environ);
  if (errno) XSRETURN_UNDEF;
  XSRETURN_IV(started);
}
