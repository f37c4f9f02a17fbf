#include "../time_impl.h"
#include <errno.h>

// A zone at a moment.
struct zone {
  int is_dst;
  long offset;
};

static struct zone zone_at(long long moment)
{
  struct zone z;
  const char *name;
  __secs_to_zone(moment, 0, &z.is_dst, &z.offset, 0, &name);
  return z;
}

// The moment of a local time of which nobody said whether it is summer time. Where it exists twice, and where it does not exist, it
// is the one that GNU's library finds: that looks from the moment which would have this name in UTC.
static long long moment_of(long long local)
{
  struct zone far = zone_at(local);
  long long first = local - far.offset;
  struct zone near = zone_at(first);
  if (near.offset == far.offset) return first;
  long long second = local - near.offset;
  struct zone other = zone_at(second);
  if (other.offset == near.offset || other.is_dst > near.is_dst) return second;
  return local - other.offset;
}

static long long moment_when(long long local, int is_dst)
{
  int found;
  long offset, opposite;
  const char *name;
  __secs_to_zone(local, 1, &found, &offset, &opposite, &name);
  return local - (found == is_dst ? offset : opposite);
}

time_t mktime(struct tm *tm)
{
  struct tm result;
  long long local = __tm_to_secs(tm);
  long long moment = tm->tm_isdst < 0 ? moment_of(local) : moment_when(local, tm->tm_isdst);
  __secs_to_zone(moment, 0, &result.tm_isdst, &result.__tm_gmtoff, 0, &result.__tm_zone);
  if (__secs_to_tm(moment + result.__tm_gmtoff, &result) < 0) {
    errno = EOVERFLOW;
    return -1;
  }
  *tm = result;
  return moment;
}
