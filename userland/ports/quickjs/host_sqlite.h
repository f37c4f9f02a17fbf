// What the files of node's sqlite share. SQLite does the work; what comes in is what a script gives.
#pragma once

// As the library is made (userland/libraries/sqlite).
#define SQLITE_ENABLE_PREUPDATE_HOOK
#define SQLITE_ENABLE_SESSION
#include <sqlite3.h>

#include "host.h"

// What a call asks of rows and values.
enum { BIG_INTEGERS = 1, ROWS_ARE_ARRAYS = 2, BARE_NAMES = 4, UNKNOWN_NAMES = 8 };

struct part;
struct call;
struct callback;

// A database, which a script may close and open again. It is not closed while a call is inside of it: functions of the script and
// getters of what it binds run there.
struct database {
  sqlite3 *connection;  // NULL while it is closed
  struct part *parts;
  struct callback *callbacks;
  struct call *call;  // the innermost
  int letting_go;     // SQLite frees what it has: nothing of the script is called
};

// A statement, session or backup of a database: closing that lets go of it.
struct part {
  struct database *database;  // NULL once it is let go of
  JSValue owner;              // the object of the database, which this keeps
  void (*let_go)(struct part *);
  struct part *next, **place;
};

// A call into SQLite, from which a function of the script may be called: one that has thrown ends it.
struct call {
  struct database *database;
  struct call *outer;
  int has_thrown;
};

// Functions, aggregates and window functions of a script, which SQLite frees. Those that it has not are undefined.
struct callback {
  JSContext *ctx;
  struct database *database;
  JSValue start, step, inverse, result;
  int big_integers;
  struct callback *next, **place;
};

void begin_call(struct call *call, struct database *database);
void end_call(struct call *call);

// The open database of an object; NULL with an exception.
struct database *open_database(JSContext *ctx, JSValueConst object);
// An object of the class for a part, which this takes; what it is NULL for is freed by the caller.
JSValue new_part(JSContext *ctx, JSClassID class, struct part *part, JSValueConst owner, void (*let_go)(struct part *));
void free_part(JSRuntime *runtime, JSValueConst object);
void mark_part(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark);
void release_part(struct part *part);

// Errors, as node words them: of the database's last call, of a number of SQLite's, and of what is not as it must be.
JSValue throw_of_database(JSContext *ctx, sqlite3 *connection);
JSValue throw_of_number(JSContext *ctx, int number);
JSValue throw_wrong(JSContext *ctx, const char *kind, const char *code, const char *words);
JSValue throw_state(JSContext *ctx, const char *words);

JSValue value_from_sqlite(JSContext *ctx, sqlite3_value *value, int big_integers);
// Text of SQLite's own memory, without halves of pairs; NULL with an exception.
char *text_for_sqlite(JSContext *ctx, JSValueConst value, size_t *size);
// 1 and the bytes of an ArrayBufferView; 0 where it is none, -1 with an exception.
int view_bytes(JSContext *ctx, JSValueConst value, const uint8_t **bytes, size_t *size);
// Whether a BigInt is one of 64 bits, and which; -1 with an exception.
int is_int64(JSContext *ctx, JSValueConst value, int64_t *number);

void add_sqlite_statements(JSContext *ctx, JSValueConst sqlite);
void add_sqlite_callbacks(JSContext *ctx, JSValueConst sqlite);
void add_sqlite_changes(JSContext *ctx, JSValueConst sqlite);
