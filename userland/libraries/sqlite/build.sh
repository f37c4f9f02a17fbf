# SQLite as Debian has it, less loading of extensions: guests have no shared libraries. For node it keeps changes too (sessions).
# The amalgamation is made by tclsh and by programs of the build machine.
BUILD_CC=cc CFLAGS=-O2 ./configure --host="$HOST" --disable-tcl --disable-readline --disable-shared
# Its Makefile writes intermediate files of the same names for several targets.
make -j1 BCC="cc -O1" sqlite3.c shell.c
options="-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_MAX_MMAP_SIZE=0 -DSQLITE_HAVE_ISNAN=1
  -DHAVE_READLINE=0 -DHAVE_FDATASYNC=1 -DHAVE_USLEEP=1 -DHAVE_LOCALTIME_R=1 -DHAVE_GMTIME_R=1 -DHAVE_STRCHRNUL=1
  -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS4
  -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_GEOPOLY -DSQLITE_ENABLE_MATH_FUNCTIONS
  -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_DBPAGE_VTAB -DSQLITE_ENABLE_STMTVTAB -DSQLITE_ENABLE_BYTECODE_VTAB
  -DSQLITE_ENABLE_EXPLAIN_COMMENTS -DSQLITE_ENABLE_OFFSET_SQL_FUNC -DSQLITE_SOUNDEX -DSQLITE_SECURE_DELETE
  -DSQLITE_ENABLE_PREUPDATE_HOOK -DSQLITE_ENABLE_SESSION
  -DSQLITE_LIKE_DOESNT_MATCH_BLOBS -DSQLITE_MAX_VARIABLE_NUMBER=250000 -DSQLITE_USE_URI"
# shellcheck disable=SC2086  # options are words
$CC -O2 -Wno-everything -I. $options -c -o sqlite3.o sqlite3.c
mkdir "$OUT/include" "$OUT/lib" "$OUT/share"
$AR rcs "$OUT/lib/libsqlite3.a" sqlite3.o
cp sqlite3.h "$OUT/include/"
# Of these the shell is made.
cp shell.c "$OUT/share/"
echo $options >"$OUT/share/options"
