// Databases for node's sqlite: opened and closed, what belongs to them, and values and errors on their way between SQLite and scripts.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_sqlite.h"

static JSClassID database_class;

JSValue throw_wrong(JSContext *ctx, const char *kind, const char *code, const char *words)
{
  if (!strcmp(kind, "RangeError")) JS_ThrowRangeError(ctx, "%s", words);
  else if (!strcmp(kind, "TypeError")) JS_ThrowTypeError(ctx, "%s", words);
  else JS_ThrowPlainError(ctx, "%s", words);
  JSValue error = JS_GetException(ctx);
  if (JS_IsObject(error)) JS_DefinePropertyValueStr(ctx, error, "code", JS_NewString(ctx, code), JS_PROP_C_W_E);
  return JS_Throw(ctx, error);
}

JSValue throw_state(JSContext *ctx, const char *words) { return throw_wrong(ctx, "Error", "ERR_INVALID_STATE", words); }

static JSValue throw_numbered(JSContext *ctx, const char *words, int number, const char *kind)
{
  throw_wrong(ctx, "Error", "ERR_SQLITE_ERROR", words);
  JSValue error = JS_GetException(ctx);
  if (JS_IsObject(error)) {
    JS_DefinePropertyValueStr(ctx, error, "errcode", JS_NewInt32(ctx, number), JS_PROP_C_W_E);
    if (kind) JS_DefinePropertyValueStr(ctx, error, "errstr", JS_NewString(ctx, kind), JS_PROP_C_W_E);
  }
  return JS_Throw(ctx, error);
}

JSValue throw_of_database(JSContext *ctx, sqlite3 *connection)
{
  const int number = sqlite3_extended_errcode(connection);
  return throw_numbered(ctx, sqlite3_errmsg(connection), number, sqlite3_errstr(number));
}

JSValue throw_of_number(JSContext *ctx, int number) { return throw_numbered(ctx, sqlite3_errstr(number), number, NULL); }

void begin_call(struct call *call, struct database *database)
{
  *call = (struct call){ database, database->call, 0 };
  database->call = call;
}

void end_call(struct call *call) { call->database->call = call->outer; }

// --- Parts ---

void release_part(struct part *part)
{
  struct database *database = part->database;
  if (!database) return;
  *part->place = part->next;
  if (part->next) part->next->place = part->place;
  part->database = NULL;
  database->letting_go++;
  part->let_go(part);
  database->letting_go--;
}

JSValue new_part(JSContext *ctx, JSClassID class, struct part *part, JSValueConst owner, void (*let_go)(struct part *))
{
  JSValue object = JS_NewObjectClass(ctx, (int)class);
  if (JS_IsException(object)) return object;
  struct database *database = JS_GetOpaque(owner, database_class);
  *part = (struct part){ database, JS_DupValue(ctx, owner), let_go, database->parts, &database->parts };
  if (part->next) part->next->place = &part->next;
  database->parts = part;
  JS_SetOpaque(object, part);
  return object;
}

void free_part(JSRuntime *runtime, JSValueConst object)
{
  JSClassID class;
  struct part *part = JS_GetAnyOpaque(object, &class);
  if (!part) return;
  release_part(part);
  JS_FreeValueRT(runtime, part->owner);
  free(part);
}

void mark_part(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  JSClassID class;
  const struct part *part = JS_GetAnyOpaque(object, &class);
  if (part) JS_MarkValue(runtime, part->owner, mark);
}

// --- Values ---

JSValue value_from_sqlite(JSContext *ctx, sqlite3_value *value, int big_integers)
{
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: {
      const int64_t number = sqlite3_value_int64(value);
      if (big_integers) return JS_NewBigInt64(ctx, number);
      if (number >= -9007199254740991 && number <= 9007199254740991) return JS_NewInt64(ctx, number);
      char words[96];
      snprintf(words, sizeof words, "Value is too large to be represented as a JavaScript number: %lld", (long long)number);
      return throw_wrong(ctx, "RangeError", "ERR_OUT_OF_RANGE", words);
    }
    case SQLITE_FLOAT: return JS_NewFloat64(ctx, sqlite3_value_double(value));
    case SQLITE_TEXT: {
      const uint8_t *text = sqlite3_value_text(value);
      return text ? text_of_bytes(ctx, text, (size_t)sqlite3_value_bytes(value)) : JS_ThrowOutOfMemory(ctx);
    }
    case SQLITE_BLOB: {
      const uint8_t *bytes = sqlite3_value_blob(value);
      return JS_NewUint8ArrayCopy(ctx, bytes ? bytes : (const uint8_t *)"", (size_t)sqlite3_value_bytes(value));
    }
    default: return JS_NULL;
  }
}

char *text_for_sqlite(JSContext *ctx, JSValueConst value, size_t *size)
{
  const char *text = JS_ToCStringLen(ctx, size, value);
  if (!text) return NULL;
  char *copy = sqlite3_malloc64(*size + 1);
  if (copy) {
    memcpy(copy, text, *size + 1);
    // Half of a pair is three bytes, as is the character that says that something was there.
    for (char *at = copy, *end = copy + *size; (at = memchr(at, '\xed', (size_t)(end - at))); at += 3)
      if ((uint8_t)at[1] >= 0xa0) memcpy(at, "\xef\xbf\xbd", 3);
  } else {
    JS_ThrowOutOfMemory(ctx);
  }
  JS_FreeCString(ctx, text);
  return copy;
}

static int is_data_view(JSContext *ctx, JSValueConst value)
{
  JSAtom name = JS_GetClassName(JS_GetRuntime(ctx), JS_GetClassID(value));
  const char *text = JS_AtomToCString(ctx, name);
  const int is = text && !strcmp(text, "DataView");
  JS_FreeCString(ctx, text);
  JS_FreeAtom(ctx, name);
  return is;
}

static int size_property(JSContext *ctx, JSValueConst object, const char *name, size_t *size)
{
  JSValue value = JS_GetPropertyStr(ctx, object, name);
  int64_t number = 0;
  const int status = JS_ToInt64(ctx, &number, value);
  JS_FreeValue(ctx, value);
  *size = number > 0 ? (size_t)number : 0;
  return status;
}

int view_bytes(JSContext *ctx, JSValueConst value, const uint8_t **bytes, size_t *size)
{
  size_t offset = 0, whole = 0;
  JSValue buffer;
  if (JS_GetTypedArrayType(value) >= 0) {
    buffer = JS_GetTypedArrayBuffer(ctx, value, &offset, size, NULL);
  } else if (JS_IsObject(value) && is_data_view(ctx, value)) {
    if (size_property(ctx, value, "byteOffset", &offset) || size_property(ctx, value, "byteLength", size)) return -1;
    buffer = JS_GetPropertyStr(ctx, value, "buffer");
  } else {
    return 0;
  }
  if (JS_IsException(buffer)) return -1;
  const uint8_t *all = JS_GetArrayBuffer(ctx, &whole, buffer);
  JS_FreeValue(ctx, buffer);  // the view keeps it
  if (!all && JS_HasException(ctx)) return -1;
  if (offset > whole || *size > whole - offset) {
    JS_ThrowRangeError(ctx, "the range is outside of the buffer");
    return -1;
  }
  *bytes = all ? all + offset : (const uint8_t *)"";
  return 1;
}

int is_int64(JSContext *ctx, JSValueConst value, int64_t *number)
{
  if (JS_ToBigInt64(ctx, number, value)) return -1;
  JSValue again = JS_NewBigInt64(ctx, *number);
  const int same = JS_IsStrictEqual(ctx, again, value);
  JS_FreeValue(ctx, again);
  return same;
}

// --- Databases ---

// Closes it, and what is its. With statements left it would live on without a name; there are none.
static void close_connection(struct database *database)
{
  database->letting_go++;
  while (database->parts) release_part(database->parts);
  sqlite3_close_v2(database->connection);
  database->connection = NULL;
  database->letting_go--;
}

static void free_database(JSRuntime *runtime, JSValueConst object)
{
  struct database *database = JS_GetOpaque(object, database_class);
  if (!database) return;
  close_connection(database);
  free(database);
}

static void mark_database(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  const struct database *database = JS_GetOpaque(object, database_class);
  if (!database) return;
  for (const struct callback *one = database->callbacks; one; one = one->next) {
    JS_MarkValue(runtime, one->start, mark);
    JS_MarkValue(runtime, one->step, mark);
    JS_MarkValue(runtime, one->inverse, mark);
    JS_MarkValue(runtime, one->result, mark);
  }
}

static const JSClassDef database_definition = { "SqliteDatabase", .finalizer = free_database, .gc_mark = mark_database };

struct database *open_database(JSContext *ctx, JSValueConst object)
{
  struct database *database = JS_GetOpaque2(ctx, object, database_class);
  if (!database || database->connection) return database;
  throw_state(ctx, "database is not open");
  return NULL;
}

// database() -> one that is closed
static JSValue database_new(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct database *database = calloc(1, sizeof *database);
  JSValue object = database ? JS_NewObjectClass(ctx, (int)database_class) : JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(object)) free(database);
  else JS_SetOpaque(object, database);
  return object;
}

// A script that has no time left is not held up by SQLite.
static int is_late(void *unused) { return time_is_over(); }

// open(database, path, 1 to read only | 2 for foreign keys | 4 for texts in double quotes, milliseconds to wait for locks)
static JSValue database_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct database *database = JS_GetOpaque2(ctx, argv[0], database_class);
  int options, wait_ms;
  if (!database || JS_ToInt32(ctx, &options, argv[2]) || JS_ToInt32(ctx, &wait_ms, argv[3])) return JS_EXCEPTION;
  if (database->connection) return throw_state(ctx, "database is already open");
  const char *path = JS_ToCString(ctx, argv[1]);
  if (!path) return JS_EXCEPTION;
  sqlite3 *connection = NULL;
  const int how = options & 1 ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int status = sqlite3_open_v2(path, &connection, how | SQLITE_OPEN_URI, NULL);
  JS_FreeCString(ctx, path);
  if (status != SQLITE_OK) {
    JSValue thrown = connection ? throw_of_database(ctx, connection) : JS_ThrowOutOfMemory(ctx);
    sqlite3_close_v2(connection);
    return thrown;
  }
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_FKEY, (options & 2) != 0, NULL);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, (options & 4) != 0, NULL);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, (options & 4) != 0, NULL);
  sqlite3_busy_timeout(connection, wait_ms);
  sqlite3_progress_handler(connection, 10000, is_late, NULL);
  database->connection = connection;
  return JS_UNDEFINED;
}

static JSValue database_close(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct database *database = open_database(ctx, argv[0]);
  if (!database) return JS_EXCEPTION;
  if (database->call) return throw_state(ctx, "database is in use by a call that has not ended");
  close_connection(database);
  return JS_UNDEFINED;
}

static JSValue database_is_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const struct database *database = JS_GetOpaque2(ctx, argv[0], database_class);
  return database ? JS_NewBool(ctx, database->connection != NULL) : JS_EXCEPTION;
}

static JSValue database_is_in_transaction(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const struct database *database = open_database(ctx, argv[0]);
  return database ? JS_NewBool(ctx, !sqlite3_get_autocommit(database->connection)) : JS_EXCEPTION;
}

// exec(database, statements)
static JSValue database_exec(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct database *database = open_database(ctx, argv[0]);
  size_t size;
  char *sql = database ? text_for_sqlite(ctx, argv[1], &size) : NULL;
  if (!sql) return JS_EXCEPTION;
  struct call call;
  begin_call(&call, database);
  const int status = sqlite3_exec(database->connection, sql, NULL, NULL, NULL);
  end_call(&call);
  sqlite3_free(sql);
  if (call.has_thrown) return JS_EXCEPTION;
  return status == SQLITE_OK ? JS_UNDEFINED : throw_of_database(ctx, database->connection);
}

// location(database, name of one in it) -> path, or null
static JSValue database_location(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const struct database *database = open_database(ctx, argv[0]);
  const char *name = database ? JS_ToCString(ctx, argv[1]) : NULL;
  if (!name) return JS_EXCEPTION;
  const char *path = sqlite3_db_filename(database->connection, name);
  JS_FreeCString(ctx, name);
  return path && *path ? JS_NewString(ctx, path) : JS_NULL;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("database", 0, database_new),
  JS_CFUNC_DEF("open", 4, database_open),
  JS_CFUNC_DEF("close", 1, database_close),
  JS_CFUNC_DEF("isOpen", 1, database_is_open),
  JS_CFUNC_DEF("isInTransaction", 1, database_is_in_transaction),
  JS_CFUNC_DEF("exec", 2, database_exec),
  JS_CFUNC_DEF("location", 2, database_location),
};

void add_sqlite_functions(JSContext *ctx, JSValueConst native)
{
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClass(runtime, JS_NewClassID(runtime, &database_class), &database_definition);
  JSValue sqlite = JS_NewObject(ctx);
  JS_SetPropertyFunctionList(ctx, sqlite, functions, sizeof functions / sizeof *functions);
  add_sqlite_statements(ctx, sqlite);
  add_sqlite_callbacks(ctx, sqlite);
  add_sqlite_changes(ctx, sqlite);
  JS_SetPropertyStr(ctx, native, "sqlite", sqlite);
}
