// Statements for node's sqlite: what is bound, and the rows that come.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_sqlite.h"

struct statement {
  struct part part;
  sqlite3_stmt *prepared;
  int64_t beginnings;  // how often it has been begun: who reads the rows of an earlier time is told
  int is_running;
};

static JSClassID statement_class;

static void let_go(struct part *part)
{
  struct statement *statement = (struct statement *)part;
  sqlite3_finalize(statement->prepared);
  statement->prepared = NULL;
}

static struct statement *statement_of(JSContext *ctx, JSValueConst object)
{
  struct statement *statement = JS_GetOpaque2(ctx, object, statement_class);
  if (!statement) return NULL;
  if (statement->prepared && !statement->is_running) return statement;
  throw_state(ctx, statement->prepared ? "statement is in use by a call that has not ended" : "statement has been finalized");
  return NULL;
}

// prepare(database, statement) -> statement
static JSValue statement_prepare(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct database *database = open_database(ctx, argv[0]);
  size_t size;
  char *sql = database ? text_for_sqlite(ctx, argv[1], &size) : NULL;
  if (!sql) return JS_EXCEPTION;
  struct statement *statement = calloc(1, sizeof *statement);
  JSValue object = statement ? new_part(ctx, statement_class, &statement->part, argv[0], let_go) : JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(object)) {
    free(statement);
  } else if (sqlite3_prepare_v2(database->connection, sql, -1, &statement->prepared, NULL) != SQLITE_OK) {
    throw_of_database(ctx, database->connection);
    JS_FreeValue(ctx, object);
    object = JS_EXCEPTION;
  }
  sqlite3_free(sql);
  return object;
}

// --- What is bound ---

static int bind_value(JSContext *ctx, sqlite3_stmt *prepared, int index, JSValueConst value)
{
  int status, is_view = 0;
  const uint8_t *bytes;
  size_t size;
  if (JS_IsNumber(value)) {
    double number;
    JS_ToFloat64(ctx, &number, value);
    status = sqlite3_bind_double(prepared, index, number);
  } else if (JS_IsString(value)) {
    char *text = text_for_sqlite(ctx, value, &size);
    if (!text) return -1;
    status = sqlite3_bind_text64(prepared, index, text, size, sqlite3_free, SQLITE_UTF8);
  } else if (JS_IsNull(value)) {
    status = sqlite3_bind_null(prepared, index);
  } else if (JS_IsBigInt(value)) {
    int64_t number;
    const int fits = is_int64(ctx, value, &number);
    if (!fits) throw_wrong(ctx, "TypeError", "ERR_INVALID_ARG_VALUE", "BigInt value is too large to bind.");
    if (fits <= 0) return -1;
    status = sqlite3_bind_int64(prepared, index, number);
  } else if ((is_view = view_bytes(ctx, value, &bytes, &size)) > 0) {
    status = sqlite3_bind_blob64(prepared, index, bytes, size, SQLITE_TRANSIENT);
  } else {
    char words[80];
    snprintf(words, sizeof words, "Provided value cannot be bound to SQLite parameter %d.", index);
    if (!is_view) throw_wrong(ctx, "TypeError", "ERR_INVALID_ARG_TYPE", words);
    return -1;
  }
  if (status == SQLITE_OK) return 0;
  throw_of_database(ctx, sqlite3_db_handle(prepared));
  return -1;
}

// The parameter that is called so without what it begins with (: $ @), or 0.
static int bare_index(sqlite3_stmt *prepared, const char *name)
{
  for (int i = 1, count = sqlite3_bind_parameter_count(prepared); i <= count; i++) {
    const char *full = sqlite3_bind_parameter_name(prepared, i);
    if (full && !strcmp(full + 1, name)) return i;
  }
  return 0;
}

// Names that are told apart by what they begin with have no bare name.
static int check_bare_names(JSContext *ctx, sqlite3_stmt *prepared)
{
  for (int i = 2, count = sqlite3_bind_parameter_count(prepared); i <= count; i++) {
    const char *full = sqlite3_bind_parameter_name(prepared, i);
    const int first = full ? bare_index(prepared, full + 1) : i;
    if (first == i) continue;
    const char *other = sqlite3_bind_parameter_name(prepared, first);
    if (!strcmp(full, other)) continue;
    char words[400];
    snprintf(words, sizeof words, "Cannot create bare named parameter '%.99s' because of conflicting names '%.99s' and '%.99s'.", full + 1, other, full);
    throw_state(ctx, words);
    return -1;
  }
  return 0;
}

static int bind_named(JSContext *ctx, sqlite3_stmt *prepared, JSValueConst values, JSAtom key, int options)
{
  const char *name = JS_AtomToCString(ctx, key);
  if (!name) return -1;
  int index = sqlite3_bind_parameter_index(prepared, name), status = -1;
  if (!index && (options & BARE_NAMES)) index = bare_index(prepared, name);
  if (index) {
    JSValue value = JS_GetProperty(ctx, values, key);
    if (!JS_IsException(value)) status = bind_value(ctx, prepared, index, value);
    JS_FreeValue(ctx, value);
  } else if (options & UNKNOWN_NAMES) {
    status = 0;
  } else {
    char words[200];
    snprintf(words, sizeof words, "Unknown named parameter '%.150s'", name);
    throw_state(ctx, words);
  }
  JS_FreeCString(ctx, name);
  return status;
}

static int bind_all_named(JSContext *ctx, sqlite3_stmt *prepared, JSValueConst values, int options)
{
  if ((options & BARE_NAMES) && check_bare_names(ctx, prepared)) return -1;
  JSPropertyEnum *keys;
  uint32_t count;
  if (JS_GetOwnPropertyNames(ctx, &keys, &count, values, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY)) return -1;
  int status = 0;
  for (uint32_t i = 0; i < count && !status; i++) status = bind_named(ctx, prepared, values, keys[i].atom, options);
  JS_FreePropertyEnum(ctx, keys, count);
  return status;
}

// An object first has the named values; the others go to what has no name, in order.
static int bind_values(JSContext *ctx, sqlite3_stmt *prepared, JSValueConst list, int options)
{
  int64_t count;
  if (JS_GetLength(ctx, list, &count)) return -1;
  int index = 1;
  for (uint32_t i = 0; i < count; i++) {
    JSValue value = JS_GetPropertyUint32(ctx, list, i);
    const uint8_t *bytes;
    size_t size;
    const int is_view = i == 0 && JS_IsObject(value) ? view_bytes(ctx, value, &bytes, &size) : 1;
    int status = is_view < 0 ? -1 : 0;
    if (!is_view) {
      status = bind_all_named(ctx, prepared, value, options);
    } else if (!status) {
      while (sqlite3_bind_parameter_name(prepared, index)) index++;
      status = bind_value(ctx, prepared, index++, value);
    }
    JS_FreeValue(ctx, value);
    if (status) return -1;
  }
  return 0;
}

// Begins anew: nothing runs any more, and the values are bound.
static int begin(JSContext *ctx, struct statement *statement, JSValueConst values, int options)
{
  struct database *database = statement->part.database;
  struct call call;
  statement->beginnings++;
  database->letting_go++;
  sqlite3_reset(statement->prepared);
  sqlite3_clear_bindings(statement->prepared);
  database->letting_go--;
  begin_call(&call, database);
  statement->is_running = 1;
  const int status = bind_values(ctx, statement->prepared, values, options);
  statement->is_running = 0;
  end_call(&call);
  return status;
}

static void reset(struct statement *statement)
{
  struct database *database = statement->part.database;
  database->letting_go++;
  sqlite3_reset(statement->prepared);
  database->letting_go--;
}

// SQLITE_ROW, SQLITE_DONE, or -1 with an exception.
static int step(JSContext *ctx, struct statement *statement)
{
  struct database *database = statement->part.database;
  struct call call;
  begin_call(&call, database);
  statement->is_running = 1;
  const int status = sqlite3_step(statement->prepared);
  statement->is_running = 0;
  end_call(&call);
  if (status != SQLITE_ROW && status != SQLITE_DONE && !call.has_thrown) throw_of_database(ctx, database->connection);
  return call.has_thrown || (status != SQLITE_ROW && status != SQLITE_DONE) ? -1 : status;
}

// --- Rows ---

// The names of the columns as long as the same rows are read.
struct row_names {
  JSAtom *atoms;
  int count;
};

static void free_names(JSContext *ctx, struct row_names *names)
{
  for (int i = 0; i < names->count; i++) JS_FreeAtom(ctx, names->atoms[i]);
  free(names->atoms);
  *names = (struct row_names){ NULL, 0 };
}

static int read_names(JSContext *ctx, sqlite3_stmt *prepared, struct row_names *names)
{
  const int count = sqlite3_column_count(prepared);
  names->atoms = malloc((size_t)count * sizeof *names->atoms + 1);
  for (; names->atoms && names->count < count; names->count++) {
    const char *name = sqlite3_column_name(prepared, names->count);
    const JSAtom atom = name ? JS_NewAtom(ctx, name) : JS_ATOM_NULL;
    if (atom == JS_ATOM_NULL) break;
    names->atoms[names->count] = atom;
  }
  if (names->atoms && names->count == count) return 0;
  free_names(ctx, names);
  if (!JS_HasException(ctx)) JS_ThrowOutOfMemory(ctx);
  return -1;
}

static JSValue read_row(JSContext *ctx, sqlite3_stmt *prepared, struct row_names *names, int options)
{
  const int is_array = options & ROWS_ARE_ARRAYS;
  if (!is_array && !names->atoms && read_names(ctx, prepared, names)) return JS_EXCEPTION;
  JSValue row = is_array ? JS_NewArray(ctx) : JS_NewObjectProto(ctx, JS_NULL);
  for (int i = 0, count = sqlite3_column_count(prepared); i < count && !JS_IsException(row); i++) {
    JSValue value = value_from_sqlite(ctx, sqlite3_column_value(prepared, i), options & BIG_INTEGERS);
    if (JS_IsException(value) || (is_array ? JS_DefinePropertyValueUint32(ctx, row, (uint32_t)i, value, JS_PROP_C_W_E)
                                           : JS_DefinePropertyValue(ctx, row, names->atoms[i], value, JS_PROP_C_W_E)) < 0) {
      JS_FreeValue(ctx, row);
      row = JS_EXCEPTION;
    }
  }
  return row;
}

static JSValue integer(JSContext *ctx, int64_t number, int options) { return options & BIG_INTEGERS ? JS_NewBigInt64(ctx, number) : JS_NewInt64(ctx, number); }

// run(statement, values, options) -> what it has changed
static JSValue statement_run(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct statement *statement = statement_of(ctx, argv[0]);
  int options;
  if (!statement || JS_ToInt32(ctx, &options, argv[2]) || begin(ctx, statement, argv[1], options)) return JS_EXCEPTION;
  sqlite3 *connection = statement->part.database->connection;
  const int status = step(ctx, statement);
  reset(statement);
  if (status < 0) return JS_EXCEPTION;
  JSValue result = JS_NewObject(ctx);
  JS_SetPropertyStr(ctx, result, "lastInsertRowid", integer(ctx, sqlite3_last_insert_rowid(connection), options));
  JS_SetPropertyStr(ctx, result, "changes", integer(ctx, sqlite3_changes64(connection), options));
  return result;
}

// get(statement, values, options) -> the first row, or undefined
static JSValue statement_get(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct statement *statement = statement_of(ctx, argv[0]);
  int options;
  if (!statement || JS_ToInt32(ctx, &options, argv[2]) || begin(ctx, statement, argv[1], options)) return JS_EXCEPTION;
  const int status = step(ctx, statement);
  struct row_names names = { NULL, 0 };
  JSValue row = status < 0 ? JS_EXCEPTION : status == SQLITE_ROW ? read_row(ctx, statement->prepared, &names, options) : JS_UNDEFINED;
  free_names(ctx, &names);
  reset(statement);
  return row;
}

// all(statement, values, options) -> [row ...]
static JSValue statement_all(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct statement *statement = statement_of(ctx, argv[0]);
  int options, status;
  if (!statement || JS_ToInt32(ctx, &options, argv[2]) || begin(ctx, statement, argv[1], options)) return JS_EXCEPTION;
  JSValue rows = JS_NewArray(ctx);
  struct row_names names = { NULL, 0 };
  for (uint32_t i = 0; (status = step(ctx, statement)) == SQLITE_ROW; i++) {
    JSValue row = read_row(ctx, statement->prepared, &names, options);
    if (JS_IsException(row) || JS_DefinePropertyValueUint32(ctx, rows, i, row, JS_PROP_C_W_E) < 0) {
      status = -1;
      break;
    }
  }
  free_names(ctx, &names);
  reset(statement);
  if (status == SQLITE_DONE) return rows;
  JS_FreeValue(ctx, rows);
  return JS_EXCEPTION;
}

// begin(statement, values, options) -> the number of this beginning
static JSValue statement_begin(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct statement *statement = statement_of(ctx, argv[0]);
  int options;
  if (!statement || JS_ToInt32(ctx, &options, argv[2]) || begin(ctx, statement, argv[1], options)) return JS_EXCEPTION;
  return JS_NewInt64(ctx, statement->beginnings);
}

// next(statement, number of its beginning, options) -> the next row, or undefined
static JSValue statement_next(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct statement *statement = statement_of(ctx, argv[0]);
  int64_t beginning;
  int options;
  if (!statement || JS_ToInt64(ctx, &beginning, argv[1]) || JS_ToInt32(ctx, &options, argv[2])) return JS_EXCEPTION;
  if (beginning != statement->beginnings) return throw_state(ctx, "iterator was invalidated");
  const int status = step(ctx, statement);
  struct row_names names = { NULL, 0 };
  JSValue row = status < 0 ? JS_EXCEPTION : status == SQLITE_ROW ? read_row(ctx, statement->prepared, &names, options) : JS_UNDEFINED;
  free_names(ctx, &names);
  if (status != SQLITE_ROW) reset(statement);
  return row;
}

// leave(statement, number of its beginning): no further row is wanted
static JSValue statement_leave(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct statement *statement = statement_of(ctx, argv[0]);
  int64_t beginning;
  if (!statement || JS_ToInt64(ctx, &beginning, argv[1])) return JS_EXCEPTION;
  if (beginning == statement->beginnings) reset(statement);
  return JS_UNDEFINED;
}

static JSValue text_or_null(JSContext *ctx, const char *text) { return text ? JS_NewString(ctx, text) : JS_NULL; }

// columns(statement) -> [{ column, database, name, table, type } ...]
static JSValue statement_columns(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const struct statement *statement = statement_of(ctx, argv[0]);
  if (!statement) return JS_EXCEPTION;
  static const struct { const char *name; const char *(*of)(sqlite3_stmt *, int); } parts[] = {
    { "column", sqlite3_column_origin_name }, { "database", sqlite3_column_database_name }, { "name", sqlite3_column_name },
    { "table", sqlite3_column_table_name }, { "type", sqlite3_column_decltype },
  };
  JSValue list = JS_NewArray(ctx);
  for (int i = 0, count = sqlite3_column_count(statement->prepared); i < count; i++) {
    JSValue column = JS_NewObjectProto(ctx, JS_NULL);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
      JS_SetPropertyStr(ctx, column, parts[p].name, text_or_null(ctx, parts[p].of(statement->prepared, i)));
    JS_SetPropertyUint32(ctx, list, (uint32_t)i, column);
  }
  return list;
}

// sql(statement, 1 for the values in the place of parameters)
static JSValue statement_sql(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const struct statement *statement = statement_of(ctx, argv[0]);
  if (!statement) return JS_EXCEPTION;
  if (!JS_ToBool(ctx, argv[1])) return JS_NewString(ctx, sqlite3_sql(statement->prepared));
  char *text = sqlite3_expanded_sql(statement->prepared);
  if (!text) return throw_wrong(ctx, "Error", "ERR_SQLITE_ERROR", "Expanded SQL text would exceed configured limits");
  JSValue expanded = JS_NewString(ctx, text);
  sqlite3_free(text);
  return expanded;
}

static const JSClassDef definition = { "SqliteStatement", .finalizer = free_part, .gc_mark = mark_part };

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("prepare", 2, statement_prepare),
  JS_CFUNC_DEF("run", 3, statement_run),
  JS_CFUNC_DEF("get", 3, statement_get),
  JS_CFUNC_DEF("all", 3, statement_all),
  JS_CFUNC_DEF("begin", 3, statement_begin),
  JS_CFUNC_DEF("next", 3, statement_next),
  JS_CFUNC_DEF("leave", 2, statement_leave),
  JS_CFUNC_DEF("columns", 1, statement_columns),
  JS_CFUNC_DEF("sql", 2, statement_sql),
};

void add_sqlite_statements(JSContext *ctx, JSValueConst sqlite)
{
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClass(runtime, JS_NewClassID(runtime, &statement_class), &definition);
  JS_SetPropertyFunctionList(ctx, sqlite, functions, sizeof functions / sizeof *functions);
}
