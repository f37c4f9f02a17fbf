/* What the flags of sums of products would have been, and of what else makes many numbers of many: see floats.c. A result that is no number
 * though nothing was that it is made of tells of an invalid operation, one that is endless though they were finite of an overflow. */
#include "floats.h"

/* An operand as a table. The operand's own step is that between columns. */
typedef struct {
  Operand of;
  Py_ssize_t rows, columns, row_step;
} Table;

static int flags_of_sum(int result, int operands) {
  if (operands & NAN_CLASS || !(result & ENDLESS)) return 0;
  return (result & NAN_CLASS ? INVALID : 0) | (operands & INF_CLASS ? 0 : OVERFLOWS);
}

/* Whatever of `count` elements is endless. */
static int class_of_line(const Operand *line, Py_ssize_t count) {
  if (!may_be_endless(line, count)) return 0;
  int class = 0;
  for (Py_ssize_t i = 0; i < count && !(class & NAN_CLASS); ++i) class |= class_of(line, i);
  return class & ENDLESS;
}
static Operand row_of(const Table *table, Py_ssize_t row) {
  Operand line = table->of;
  line.at += row * table->row_step;
  return line;
}
static Operand column_of(const Table *table, Py_ssize_t column) {
  Operand line = table->of;
  line.at += column * line.step;
  line.step = table->row_step;
  return line;
}
static int class_of_table(const Table *table) {
  int class = 0;
  for (Py_ssize_t row = 0; row < table->rows && !(class & NAN_CLASS); ++row) {
    const Operand line = row_of(table, row);
    class |= class_of_line(&line, table->columns);
  }
  return class;
}
/* Of `count` tables that are `step` apart: 0, no element is endless, for sure. They are one line where they lie so. */
static int may_have_endless(const Table *table, Py_ssize_t count, Py_ssize_t step) {
  const Py_ssize_t width = table->of.size * table->of.parts, each = table->rows * table->columns;
  const int is_line = (table->columns == 1 || table->of.step == width) && (table->rows == 1 || table->row_step == table->columns * width);
  if (is_line && (count == 1 || step == each * width)) {
    Operand line = table->of;
    line.step = width;
    return may_be_endless(&line, count * each);
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    for (Py_ssize_t row = 0; row < table->rows; ++row) {
      Operand line = row_of(table, row);
      line.at += i * step;
      if (may_be_endless(&line, table->columns)) return 1;
    }
  }
  return 0;
}

/* Each element of `made` is the sum of the products of a row of `first` and a column of `last`. */
static int flags_of_product(const Table *first, const Table *last, const Table *made) {
  if (!may_have_endless(made, 1, 0)) return 0;
  char *of_columns = PyMem_RawMalloc(made->columns + 1);
  if (of_columns == NULL) return 0;
  for (Py_ssize_t column = 0; column < made->columns; ++column) {
    const Operand line = column_of(last, column);
    of_columns[column] = class_of_line(&line, last->rows);
  }
  int flags = 0;
  for (Py_ssize_t row = 0; row < made->rows; ++row) {
    const Operand line = row_of(made, row), of_first = row_of(first, row);
    if (!may_be_endless(&line, made->columns)) continue;
    const int of_row = class_of_line(&of_first, first->columns);
    if (of_row & NAN_CLASS) continue;
    for (Py_ssize_t column = 0; column < made->columns; ++column) flags |= flags_of_sum(class_of(&line, column), of_row | of_columns[column]);
  }
  PyMem_RawFree(of_columns);
  return flags;
}

/* The operand `k` of a gufunc: of one size a row, or where it is a product's last operand a column. */
static Table table_of(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, int k, int is_column) {
  const Ufunc *ufunc = context->caller;
  const Py_ssize_t *core = steps + ufunc->inputs + ufunc->outputs;
  for (int before = 0; before < k; ++before) core += ufunc->core_dimensions[before];
  const int *size_of = ufunc->core_size_of + ufunc->core_first[k];
  Table table = {operand(context->types[k]->number, data[k], 0), 1, 1, 0};
  const int count = ufunc->core_dimensions[k];
  if (count == 2 || (count == 1 && is_column)) {
    table.rows = dimensions[1 + size_of[0]];
    table.row_step = core[0];
  }
  if (count == 2 || (count == 1 && !is_column)) {
    table.columns = dimensions[1 + size_of[count - 1]];
    table.of.step = core[count - 1];
  }
  return table;
}

int judged_product(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps) {
  const Ufunc *ufunc = context->caller;
  const int is_of_rows = ufunc->core_dimensions[0] == 2; /* a product with one line is a column then, and a row otherwise */
  Table first = table_of(context, data, dimensions, steps, 0, 0), last = table_of(context, data, dimensions, steps, 1, 1);
  Table made = table_of(context, data, dimensions, steps, 2, is_of_rows);
  int flags = 0;
  if (!may_have_endless(&made, dimensions[0], steps[2])) return 0;
  for (Py_ssize_t i = 0; i < dimensions[0]; ++i) {
    flags |= flags_of_product(&first, &last, &made);
    first.of.at += steps[0];
    last.of.at += steps[1];
    made.of.at += steps[2];
  }
  return flags;
}

/* All results of one turn are made of all operands: a Fourier transform, a determinant. */
int judged_whole(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps) {
  const Ufunc *ufunc = context->caller;
  const int last = ufunc->inputs + ufunc->outputs - 1;
  Table first = table_of(context, data, dimensions, steps, 0, 0), made = table_of(context, data, dimensions, steps, last, 0);
  int flags = 0;
  if (!may_have_endless(&made, dimensions[0], steps[last])) return 0;
  for (Py_ssize_t i = 0; i < dimensions[0]; ++i) {
    if (may_have_endless(&made, 1, 0)) flags |= flags_of_sum(class_of_table(&made), class_of_table(&first));
    first.of.at += steps[0];
    made.of.at += steps[last];
  }
  return flags;
}

static int told_of_lines; /* the flags that were set since a product of arrays began */

/* What numpy's loops for a product of two lines go on with: `number` is that of their type. */
void cloche_dot(char *first, Py_ssize_t first_step, char *last, Py_ssize_t last_step, char *made, Py_ssize_t count, int number) {
  const Operand result = operand(number, made, 0);
  const int class = class_of(&result, 0);
  if (!(class & ENDLESS)) return;
  const Operand lines[2] = {operand(number, first, first_step), operand(number, last, last_step)};
  const int flags = flags_of_sum(class, class_of_line(&lines[0], count) | class_of_line(&lines[1], count));
  told_of_lines |= flags;
  set_flags(flags);
}

/* An array as a table, of which one line is a row or a column. */
static Table table_of_array(const Array *array, int is_column) {
  Table table = {operand(array->type->number, array->data, 0), 1, 1, 0};
  const int count = array->dimensions;
  if (count == 2 || (count == 1 && is_column)) {
    table.rows = array->shape[0];
    table.row_step = array->steps[0];
  }
  if (count == 2 || (count == 1 && !is_column)) {
    table.columns = array->shape[count - 1];
    table.of.step = array->steps[count - 1];
  }
  return table;
}

/* numpy's product of two arrays of one or two dimensions, which takes the references to them away, is between these two. It tells itself
 * of the flags that it finds. */
void cloche_before_product(PyObject *first, PyObject *last) {
  told_of_lines = 0;
  Py_INCREF(first);
  Py_INCREF(last);
}
PyObject *cloche_product(PyObject *result, int number, Array *first, Array *last) {
  if (result != NULL && generic_type != NULL && first->dimensions <= 2 && last->dimensions <= 2) {
    const int is_of_rows = first->dimensions == 2;
    const Table of_first = table_of_array(first, 0), of_last = table_of_array(last, 1);
    Table made = {operand(number, (char *)result + sizeof(PyObject), 0), 1, 1, 0}; /* of one number */
    if (Py_TYPE(result) == Py_TYPE(first) || !PyObject_TypeCheck(result, generic_type)) made = table_of_array((Array *)result, is_of_rows);
    int flags = 0;
    if (first->dimensions > 0 && last->dimensions > 0)
      flags = flags_of_product(&of_first, &of_last, &made);
    else if (may_have_endless(&made, 1, 0))
      flags = flags_of_sum(class_of_table(&made), class_of_table(&of_first) | class_of_table(&of_last));
    flags &= ~told_of_lines;
    if (flags != 0 && PyUFunc_GiveFloatingpointErrors("dot", flags) < 0) Py_CLEAR(result);
  }
  Py_DECREF(first);
  Py_DECREF(last);
  return result;
}

/* `function.at` of arrays of doubles and floats: numpy's loops. What one of them became is looked at while it is there. */
static inline int is_endless_double(double value) {
  unsigned long long bits;
  memcpy(&bits, &value, sizeof bits);
  return bits << 1 >= 0x7ffULL << 53;
}
static inline int is_endless_float(float value) {
  unsigned bits;
  memcpy(&bits, &value, sizeof bits);
  return bits << 1 >= 0xffU << 24;
}
#define AT(type, name, operator, is_quotient)                                                                       \
  static int flags_of_##name##_##type(type before, type value, type made) {                                         \
    if (before != before || value != value) return 0;                                                               \
    if (made != made) return INVALID;                                                                               \
    if (before - before != 0 || value - value != 0) return 0;                                                       \
    return is_quotient && value == 0 ? DIVIDE : OVERFLOWS;                                                          \
  }                                                                                                                 \
  int cloche_##name##_at_##type(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) { \
    const char *index_at = data[1], *value_at = data[2];                                                            \
    const Py_ssize_t place_step = steps[0], index_step = steps[1], value_step = steps[2], size = steps[3];          \
    char *const places = data[0];                                                                                   \
    int flags = 0;                                                                                                  \
    for (Py_ssize_t left = dimensions[0]; left > 0; --left, index_at += index_step, value_at += value_step) {       \
      Py_ssize_t index = *(const Py_ssize_t *)index_at;                                                             \
      index += index < 0 ? size : 0;                                                                                \
      type *const place = (type *)(places + place_step * index);                                                    \
      const type before = *place, value = *(const type *)value_at, made = before operator value;                    \
      *place = made;                                                                                                \
      if (__builtin_expect(is_endless_##type(made), 0)) flags |= flags_of_##name##_##type(before, value, made);            \
    }                                                                                                               \
    set_flags(flags);                                                                                               \
    return 0;                                                                                                       \
  }
AT(double, add, +, 0)
AT(double, subtract, -, 0)
AT(double, multiply, *, 0)
AT(double, divide, /, 1)
AT(float, add, +, 0)
AT(float, subtract, -, 0)
AT(float, multiply, *, 0)
AT(float, divide, /, 1)
