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
