/* Functions of arrays that take integers of C's `long`, as scipy's of an order do. They are written where those have 64 bits, as the integers of
 * everybody's arrays have; here they have 32, so that an order would not be taken at all, or as a float, by another and less exact method. */
#include "numpy.h"

enum { LONG = 7, LONGLONG = 9 };

/* Before numpy makes a ufunc of loops that are listed by the types of their operands: what takes `long`, and has no loop for the larger ones,
 * takes those. A loop reads the first half of each, which is the number. */
void cloche_before_ufunc(char *types, int loops, int inputs, int outputs) {
  int takes_long = 0;
  if (types == NULL) return;
  for (int loop = 0; loop < loops; ++loop) {
    for (int k = 0; k < inputs + outputs; ++k) {
      const int type = types[loop * (inputs + outputs) + k];
      if (type == LONGLONG || (type == LONG && k >= inputs)) return;
      takes_long |= type == LONG;
    }
  }
  for (int i = 0; takes_long && i < loops * (inputs + outputs); ++i)
    if (types[i] == LONG) types[i] = LONGLONG;
}
