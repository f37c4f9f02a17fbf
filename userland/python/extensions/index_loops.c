/* Arithmetic of indices. A result that has more than 32 bits is an OverflowError, and is not cut off: where indices have 64 bits it would be
 * right. userland/python/indices_patch.py puts these in the places of numpy's loops. */
#include "floats.h"
#include "indices.h"

enum { BLOCK = 256 };
typedef int Ints __attribute__((vector_size(16), aligned(1)));
typedef signed char Bytes __attribute__((vector_size(16)));
typedef void OwnLoop(char **, const Py_ssize_t *, const Py_ssize_t *, void *);

static void refuse(long long value, int is_unsigned) {
  refuse_index(value, is_unsigned);
  loop_has_raised = 1;
}

/* Whether `count` results may be written in blocks: an operand that they take the place of is read before, number by number. */
static int is_apart(const char *read, Py_ssize_t read_step, const char *made, Py_ssize_t made_step, Py_ssize_t count) {
  const Py_ssize_t length = read_step * (count - 1), made_length = made_step * (count - 1);
  const char *const first = length < 0 ? read + length : read, *const last = length < 0 ? read : read + length;
  const char *const made_first = made_length < 0 ? made + made_length : made, *const made_last = made_length < 0 ? made : made + made_length;
  return last + sizeof(int) <= made_first || made_last + sizeof(int) <= first || (read == made && read_step == made_step && made_step != 0);
}

static inline int at(const char *first, Py_ssize_t i, Py_ssize_t step) {
  int value;
  memcpy(&value, first + i * step, sizeof value);
  return value;
}

/* Sums and differences, 16 at a time where they lie side by side, else four. How many are done before the first 16 of which one does not fit. */
#define OVERFLOWS_add(first, last, made) ((first ^ made) & (last ^ made))
#define OVERFLOWS_subtract(first, last, made) ((first ^ last) & (first ^ made))
#define SUMS(name, operator)                                                                                        \
  static inline __attribute__((always_inline)) Py_ssize_t dense_of_##name(                                          \
      const char *first, const char *last, char *made, Py_ssize_t count, int one_first, int one_last) {             \
    int value;                                                                                                      \
    memcpy(&value, first, sizeof value);                                                                            \
    const Ints of_first = {value, value, value, value};                                                             \
    memcpy(&value, last, sizeof value);                                                                             \
    const Ints of_last = {value, value, value, value};                                                              \
    Py_ssize_t i = 0;                                                                                               \
    for (; i + 16 <= count; i += 16) {                                                                              \
      Ints results[4], odd = {0};                                                                                   \
      for (int j = 0; j < 4; ++j) {                                                                                 \
        const Ints a = one_first ? of_first : ((const Ints *)(first + 4 * i))[j];                                   \
        const Ints b = one_last ? of_last : ((const Ints *)(last + 4 * i))[j];                                      \
        results[j] = a operator b;                                                                                  \
        odd |= OVERFLOWS_##name(a, b, results[j]);                                                                  \
      }                                                                                                             \
      if (__builtin_wasm_any_true_v128((Bytes)(odd >> 31))) break;                                                  \
      for (int j = 0; j < 4; ++j) ((Ints *)(made + 4 * i))[j] = results[j];                                         \
    }                                                                                                               \
    return i;                                                                                                       \
  }                                                                                                                 \
  static Py_ssize_t dense_##name(char **operands, const Py_ssize_t *steps, Py_ssize_t count) {                      \
    const int one_first = steps[0] == 0, one_last = steps[1] == 0;                                                  \
    if (count == 0 || (one_first && one_last) || steps[2] != sizeof(int) || (!one_first && steps[0] != sizeof(int)) || (!one_last && steps[1] != sizeof(int))) return 0; \
    if (one_first) return dense_of_##name(operands[0], operands[1], operands[2], count, 1, 0);                      \
    if (one_last) return dense_of_##name(operands[0], operands[1], operands[2], count, 0, 1);                       \
    return dense_of_##name(operands[0], operands[1], operands[2], count, 0, 0);                                     \
  }                                                                                                                 \
  void cloche_LONG_##name(char **operands, const Py_ssize_t *count, const Py_ssize_t *steps, void *Py_UNUSED(data)) { \
    const Py_ssize_t first_step = steps[0], last_step = steps[1], made_step = steps[2];                             \
    Py_ssize_t i = 0;                                                                                               \
    if (*count >= 16 && made_step != 0 && is_apart(operands[0], first_step, operands[2], made_step, *count) &&      \
        is_apart(operands[1], last_step, operands[2], made_step, *count)) {                                         \
      i = dense_##name(operands, steps, *count);                                                                    \
      for (; i + 4 <= *count; i += 4) {                                                                             \
        int results[4], odd = 0;                                                                                    \
        for (int j = 0; j < 4; ++j) {                                                                               \
          const int first = at(operands[0], i + j, first_step), last = at(operands[1], i + j, last_step);           \
          results[j] = (int)((unsigned)first operator (unsigned)last);                                              \
          odd |= OVERFLOWS_##name(first, last, results[j]);                                                         \
        }                                                                                                           \
        if (odd < 0) break;                                                                                         \
        for (int j = 0; j < 4; ++j) memcpy(operands[2] + (i + j) * made_step, &results[j], sizeof(int));            \
      }                                                                                                             \
    }                                                                                                               \
    for (; i < *count; ++i) {                                                                                       \
      const long long made = (long long)at(operands[0], i, first_step) operator at(operands[1], i, last_step);      \
      const int index = (int)made;                                                                                  \
      if (made != index) {                                                                                          \
        refuse(made, 0);                                                                                            \
        return;                                                                                                     \
      }                                                                                                             \
      memcpy(operands[2] + i * made_step, &index, sizeof index);                                                    \
    }                                                                                                               \
  }
SUMS(add, +)
SUMS(subtract, -)

/* Of one operand: the least index alone has no counterpart. */
#define TURNS(name, turned)                                                                                         \
  void cloche_LONG_##name(char **operands, const Py_ssize_t *count, const Py_ssize_t *steps, void *Py_UNUSED(data)) { \
    Py_ssize_t i = 0;                                                                                               \
    if (steps[0] == sizeof(int) && steps[1] == sizeof(int) && is_apart(operands[0], steps[0], operands[1], steps[1], *count)) { \
      for (; i + 4 <= *count; i += 4) {                                                                             \
        const Ints values = *(const Ints *)(operands[0] + 4 * i);                                                   \
        if (__builtin_wasm_any_true_v128((Bytes)(values == INT_MIN))) break;                                        \
        *(Ints *)(operands[1] + 4 * i) = turned(values);                                                            \
      }                                                                                                             \
    }                                                                                                               \
    for (; i < *count; ++i) {                                                                                       \
      const int value = at(operands[0], i, steps[0]);                                                               \
      if (value == INT_MIN) {                                                                                       \
        refuse(-(long long)value, 0);                                                                               \
        return;                                                                                                     \
      }                                                                                                             \
      const int made = value < 0 || TURNS_ALL_##name ? -value : value;                                              \
      memcpy(operands[1] + i * steps[1], &made, sizeof made);                                                       \
    }                                                                                                               \
  }
enum { TURNS_ALL_negative = 1, TURNS_ALL_absolute = 0 };
TURNS(negative, -)
TURNS(absolute, __builtin_elementwise_abs)

/* What is seldom asked for as indices is computed by numpy's loop for 64 bits. */
static void by_wide_loop(OwnLoop *wide, int inputs, int is_unsigned, char **operands, Py_ssize_t count, const Py_ssize_t *steps) {
  long long numbers[3][BLOCK];
  static const Py_ssize_t wide_steps[] = {sizeof **numbers, sizeof **numbers, sizeof **numbers};
  Py_ssize_t block = BLOCK;
  for (int k = 0; k < inputs; ++k)
    if (count > 1 && !is_apart(operands[k], steps[k], operands[inputs], steps[inputs], count)) block = 1;
  for (Py_ssize_t done = 0; done < count; done += block) {
    const Py_ssize_t part = count - done < block ? count - done : block;
    for (int k = 0; k < inputs; ++k) {
      for (Py_ssize_t i = 0; i < part; ++i) {
        int value;
        memcpy(&value, operands[k] + (done + i) * steps[k], sizeof value);
        numbers[k][i] = is_unsigned ? (long long)(unsigned)value : value;
      }
    }
    memset(numbers[inputs], 0, part * sizeof **numbers); /* which stays where the loop refuses an operand */
    char *places[3] = {(char *)numbers[0], (char *)numbers[1], (char *)numbers[2]};
    wide(places, &part, wide_steps, NULL);
    for (Py_ssize_t i = 0; i < part; ++i) {
      const long long made = numbers[inputs][i];
      const int index = (int)made;
      if (is_unsigned ? (unsigned long long)made > UINT_MAX : made != index) {
        refuse(made, is_unsigned);
        return;
      }
      memcpy(operands[inputs] + (done + i) * steps[inputs], &index, sizeof index);
    }
  }
}
#define BY_WIDE_LOOP(type, wide, name, inputs, is_unsigned)                                                         \
  void wide##_##name(char **, const Py_ssize_t *, const Py_ssize_t *, void *);                                      \
  void cloche_##type##_##name(char **operands, const Py_ssize_t *count, const Py_ssize_t *steps, void *Py_UNUSED(data)) { \
    by_wide_loop(wide##_##name, inputs, is_unsigned, operands, *count, steps);                                      \
  }
#define OF_BOTH(name, inputs)                          \
  BY_WIDE_LOOP(LONG, LONGLONG, name, inputs, 0)        \
  BY_WIDE_LOOP(ULONG, ULONGLONG, name, inputs, 1)
OF_BOTH(multiply, 2)
OF_BOTH(power, 2)
OF_BOTH(left_shift, 2)
OF_BOTH(lcm, 2)
OF_BOTH(gcd, 2)
OF_BOTH(square, 1)
BY_WIDE_LOOP(ULONG, ULONGLONG, negative, 1, 1)
BY_WIDE_LOOP(ULONG, ULONGLONG, invert, 1, 1)
BY_WIDE_LOOP(ULONG, ULONGLONG, add, 2, 1)
BY_WIDE_LOOP(ULONG, ULONGLONG, subtract, 2, 1)

#define OVERFLOWS_AT_add __builtin_add_overflow
#define OVERFLOWS_AT_subtract __builtin_sub_overflow
#define OVERFLOWS_AT_multiply __builtin_mul_overflow

/* `ufunc.at`: at places of the first operand that the second tells, with the third. */
#define AT(type, stored, name, operator, is_unsigned)                                                               \
  int cloche_##type##_##name##_indexed(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) { \
    const char *index_at = data[1], *value_at = data[2];                                                            \
    const Py_ssize_t place_step = steps[0], index_step = steps[1], value_step = steps[2], size = steps[3];          \
    char *const places = data[0];                                                                                   \
    for (Py_ssize_t left = dimensions[0]; left > 0; --left, index_at += index_step, value_at += value_step) {       \
      Py_ssize_t index = *(const Py_ssize_t *)index_at;                                                             \
      index += index < 0 ? size : 0;                                                                                \
      stored *const place = (stored *)(places + place_step * index);                                                \
      const stored value = *(const stored *)value_at;                                                               \
      stored made;                                                                                                  \
      if (OVERFLOWS_AT_##name(*place, value, &made))                                                        \
        return refuse_index((long long)*place operator (long long)value, is_unsigned);                              \
      *place = made;                                                                                                \
    }                                                                                                               \
    return 0;                                                                                                       \
  }
#define AT_OF_BOTH(name, operator)          \
  AT(LONG, int, name, operator, 0)          \
  AT(ULONG, unsigned, name, operator, 1)
AT_OF_BOTH(add, +)
AT_OF_BOTH(subtract, -)
AT_OF_BOTH(multiply, *)
