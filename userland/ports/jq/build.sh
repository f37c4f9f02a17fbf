# jq with its regular expressions. The archives have configure.ac but no configure, so what that would find is said here: the mathematical
# functions are those of configure.ac that the C library has.
onig=$EXTRA/oniguruma/src
encodings=$(sed -n '/^libonig_la_SOURCES/,/[^\\]$/p' "$EXTRA/oniguruma/src/Makefile.am" | grep -o '[a-z0-9_]*\.c' | grep -v -e regposix -e regposerr)
: > "$onig/config.h"
objects=
for file in $encodings; do
  objects="$objects ${file%.c}.o"
  printf '%s.o: %s/%s\n\t$(CC) $(ONIG) -c -o $@ $<\n' "${file%.c}" "$onig" "$file"
done > onig.mk
printf 'libonig.a: %s\n\t$(AR) rcs $@ $^\n' "$objects" >> onig.mk
make -f onig.mk libonig.a ONIG="-O2 -Wno-everything -DHAVE_CONFIG_H -DSIZEOF_INT=4 -DSIZEOF_LONG=4 -DSIZEOF_LONG_LONG=8 \
-DSIZEOF_VOIDP=4 -DSIZEOF_SIZE_T=4 -DHAVE_ALLOCA=1 -DHAVE_ALLOCA_H=1 -DHAVE_STDINT_H=1 -DHAVE_INTTYPES_H=1 -DHAVE_UNISTD_H=1 \
-DHAVE_SYS_TIME_H=1 -DHAVE_SYS_TYPES_H=1 -I$onig"

found=
for name in $(sed -n 's/^AC_CHECK_MATH_FUNC(\([a-z0-9_]*\)).*/\1/p' configure.ac); do
  if $NM --defined-only "$CLOCHE_SYSROOT/lib/libc.a" 2>/dev/null | grep -q " [TW] $name\$"; then
    found="$found -DHAVE_$(echo "$name" | tr a-z A-Z)=1"
  fi
done
case $found in *HAVE_POW=1*) ;; *) echo "the C library's functions were not found" >&2; exit 1 ;; esac

printf '#define JQ_VERSION "1.7.1"\n' > src/version.h
printf '#define JQ_CONFIG ""\n' > src/config_opts.inc
sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' src/builtin.jq > src/builtin.inc
sources=$(sed -n '/^LIBJQ_SRC/,/[^\\]$/p' Makefile.am | grep -o 'src/[A-Za-z0-9_/]*\.c')
$CC -O2 -Wno-everything -o "$OUT/usr/bin/jq" -I. -I"$onig" $sources src/lexer.c src/parser.c src/main.c libonig.a $found \
  -D_GNU_SOURCE -DIEEE_8087=1 -DHAVE_LIBONIG=1 -DUSE_DECNUM=1 -DHAVE_ALLOCA_H=1 -DHAVE_ISATTY=1 -DHAVE_STRPTIME=1 -DHAVE_STRFTIME=1 \
  -DHAVE_SETENV=1 -DHAVE_TIMEGM=1 -DHAVE_GMTIME_R=1 -DHAVE_GMTIME=1 -DHAVE_LOCALTIME_R=1 -DHAVE_LOCALTIME=1 -DHAVE_GETTIMEOFDAY=1 \
  -DHAVE_TM_TM_GMT_OFF=1 -DHAVE_SETLOCALE=1 -DHAVE_PTHREAD_KEY_CREATE=1 -DHAVE_PTHREAD_ONCE=1 -DHAVE_ATEXIT=1 -DHAVE_PTHREAD=1 \
  -DHAVE___THREAD=1 -DHAVE_STDINT_H=1
$STRIP "$OUT/usr/bin/jq"
