// strtod for the numbers that programs mostly read: few decimal digits. Both factors are exact as doubles then, so one rounding
// gives the nearest double, as the C library's own way by 128-bit arithmetic does, which is left all other cases.

#include <stdlib.h>

static const double power_of_ten[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };

static int is_digit(char c)
{
  return c >= '0' && c <= '9';
}

double short_strtod(const char *restrict text, char **restrict end)
{
  const char *at = text;
  int negative = *at == '-';
  if (*at == '-' || *at == '+') at++;
  const char *first = at;
  unsigned long long digits = 0;
  for (; is_digit(*at); at++) digits = digits * 10 + (unsigned)(*at - '0');
  int count = at - first, decimals = 0;
  if (count > 0 && *at == '.') {
    for (at++; is_digit(*at); at++, decimals++) digits = digits * 10 + (unsigned)(*at - '0');
  }
  // 15 digits are below 2^53. An exponent, 0x, nan and inf begin with a letter, and another locale's point is none.
  if (count == 0 || count + decimals > 15 || (*at >= 'A' && *at <= 'z') || *at & 0x80) return strtod(text, end);
  if (end) *end = (char *)at;
  double value = (double)digits / power_of_ten[decimals];
  return negative ? -value : value;
}
