/* Functions of arrays that take integers of C's `long`, as scipy's of an order do. They are written where those have 64 bits, as the integers of
 * everybody's arrays have; here they have 32, so that an order would not be taken at all, or as a float, by another and less exact method. */
#include "floats.h"

enum { LONG = 7, LONGLONG = 9, MOST = 512 };

typedef void OwnLoop(char **, const Py_ssize_t *, const Py_ssize_t *, void *);

/* Loops that read orders, with what they are told by their ufunc. */
static struct {
  OwnLoop *loop;
  void *data;
  int inputs;
  unsigned orders; /* a bit for each operand */
} own_loops[MOST];
static int own_loop_count;
int loop_has_raised;

static int is_beyond(long long order) { return order < INT_MIN || order > INT_MAX; }

/* In place of a loop of own_loops, which reads the first half of each order: none is cut off in silence. */
static void loop_of_orders(char **operands, const Py_ssize_t *count, const Py_ssize_t *steps, void *place) {
  const int number = (int)(Py_ssize_t)place;
  for (int k = 0; k < own_loops[number].inputs; ++k) {
    if (!(own_loops[number].orders >> k & 1)) continue;
    for (Py_ssize_t i = 0; i < *count; ++i) {
      long long order;
      memcpy(&order, operands[k] + i * steps[k], sizeof order);
      if (!is_beyond(order)) continue;
      const PyGILState_STATE state = PyGILState_Ensure(); /* a loop has no thread state */
      PyErr_Format(PyExc_OverflowError, "the order %lld has more than the 32 bits that this function reads here", order);
      PyGILState_Release(state);
      loop_has_raised = 1;
      return;
    }
  }
  own_loops[number].loop(operands, count, steps, own_loops[number].data);
}

/* Before numpy makes a ufunc of loops that are listed by the types of their operands: what takes `long`, and has no loop for the larger ones,
 * takes those. */
void cloche_before_ufunc(OwnLoop **functions, void **data, char *types, int loops, int inputs, int outputs) {
  const int operands = inputs + outputs;
  int takes_long = 0;
  if (types == NULL) return;
  for (int loop = 0; loop < loops; ++loop) {
    for (int k = 0; k < operands; ++k) {
      const int type = types[loop * operands + k];
      if (type == LONGLONG || (type == LONG && k >= inputs)) return;
      takes_long |= type == LONG;
    }
  }
  for (int loop = 0; takes_long && loop < loops; ++loop) {
    unsigned orders = 0;
    for (int k = 0; k < inputs; ++k) {
      char *type = &types[loop * operands + k];
      if (*type != LONG) continue;
      *type = LONGLONG;
      orders |= 1U << k;
    }
    if (orders == 0) continue;
    if (own_loop_count == MOST) Py_FatalError("more functions of an order than there is room for");
    own_loops[own_loop_count].loop = functions[loop];
    own_loops[own_loop_count].data = data[loop];
    own_loops[own_loop_count].inputs = inputs;
    own_loops[own_loop_count].orders = orders;
    functions[loop] = loop_of_orders;
    data[loop] = (void *)(Py_ssize_t)own_loop_count++;
  }
}
