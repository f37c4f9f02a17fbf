// Functions of scripts for node's sqlite: those of a row, and aggregates with their windows.
#include <stdlib.h>
#include <string.h>

#include "host_sqlite.h"

// Of the script's functions none is called where SQLite frees things, and where one has thrown.
static int may_call(const struct callback *callback)
{
  const struct database *database = callback->database;
  return database->call && !database->call->has_thrown && !database->letting_go;
}

// The exception stays with the engine: who has called SQLite hands it on.
static void fail(const struct callback *callback, sqlite3_context *context)
{
  struct call *call = callback->database->call;
  if (call) call->has_thrown = 1;
  sqlite3_result_error(context, "a function has thrown", -1);
}

// What a function has given becomes SQLite's; the value is freed.
static void give_result(const struct callback *callback, sqlite3_context *context, JSValue value)
{
  JSContext *ctx = callback->ctx;
  const uint8_t *bytes;
  size_t size;
  int is_view = 0;
  if (JS_IsException(value)) {
    fail(callback, context);
  } else if (JS_IsUndefined(value) || JS_IsNull(value)) {
    sqlite3_result_null(context);
  } else if (JS_IsNumber(value)) {
    double number;
    JS_ToFloat64(ctx, &number, value);
    sqlite3_result_double(context, number);
  } else if (JS_IsString(value)) {
    char *text = text_for_sqlite(ctx, value, &size);
    if (text) sqlite3_result_text64(context, text, size, sqlite3_free, SQLITE_UTF8);
    else fail(callback, context);
  } else if (JS_IsBigInt(value)) {
    int64_t number;
    const int fits = is_int64(ctx, value, &number);
    if (fits > 0) sqlite3_result_int64(context, number);
    else if (fits) fail(callback, context);
    else sqlite3_result_error(context, "BigInt value is too large for SQLite", -1);
  } else if ((is_view = view_bytes(ctx, value, &bytes, &size)) > 0) {
    sqlite3_result_blob64(context, bytes, size, SQLITE_TRANSIENT);
  } else if (is_view) {
    fail(callback, context);
  } else {
    sqlite3_result_error(context, JS_IsPromise(value) ? "Asynchronous user-defined functions are not supported"
                                                      : "Returned JavaScript value cannot be converted to a SQLite value", -1);
  }
  JS_FreeValue(ctx, value);
}

// Calls a function with the values, behind a first one where there is one (which is freed).
static JSValue call_function(const struct callback *callback, JSValueConst function, JSValue first, int argc, sqlite3_value **argv)
{
  JSContext *ctx = callback->ctx;
  const int ahead = !JS_IsUninitialized(first);
  int count = 0;
  JSValue *values = malloc((size_t)(argc + 1) * sizeof *values), result = JS_EXCEPTION;
  if (ahead && values) values[count++] = first;
  else if (ahead) JS_FreeValue(ctx, first);
  int read = values != NULL;
  if (!values) JS_ThrowOutOfMemory(ctx);
  for (int i = 0; i < argc && read; i++) {
    JSValue value = value_from_sqlite(ctx, argv[i], callback->big_integers);
    if (JS_IsException(value)) read = 0;
    else values[count++] = value;
  }
  if (read) result = JS_Call(ctx, function, JS_UNDEFINED, count, (JSValueConst *)values);
  while (count > 0) JS_FreeValue(ctx, values[--count]);
  free(values);
  return result;
}

static void call_row_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
  const struct callback *callback = sqlite3_user_data(context);
  if (!may_call(callback)) return sqlite3_result_error(context, "no function is called now", -1);
  give_result(callback, context, call_function(callback, callback->step, JS_UNINITIALIZED, argc, argv));
}

// --- Aggregates ---

// What an aggregate has come to. SQLite's memory for it begins as zeros.
struct sum {
  JSValue value;
  int has_begun;
};

static JSValue first_value(const struct callback *callback)
{
  if (!JS_IsFunction(callback->ctx, callback->start)) return JS_DupValue(callback->ctx, callback->start);
  return JS_Call(callback->ctx, callback->start, JS_UNDEFINED, 0, NULL);
}

static int begin_sum(const struct callback *callback, sqlite3_context *context, struct sum *sum)
{
  if (sum->has_begun) return 0;
  JSValue value = first_value(callback);
  if (JS_IsException(value)) {
    fail(callback, context);
    return -1;
  }
  *sum = (struct sum){ value, 1 };
  return 0;
}

static void move(sqlite3_context *context, int argc, sqlite3_value **argv, JSValueConst function)
{
  const struct callback *callback = sqlite3_user_data(context);
  struct sum *sum = sqlite3_aggregate_context(context, sizeof *sum);
  if (!sum) return sqlite3_result_error_nomem(context);
  if (!may_call(callback) || begin_sum(callback, context, sum)) return;
  JSValue before = sum->value;
  sum->value = JS_UNDEFINED;
  JSValue after = call_function(callback, function, before, argc, argv);
  if (JS_IsException(after)) fail(callback, context);
  else sum->value = after;
}

static void step_aggregate(sqlite3_context *context, int argc, sqlite3_value **argv)
{
  const struct callback *callback = sqlite3_user_data(context);
  move(context, argc, argv, callback->step);
}

static void step_back(sqlite3_context *context, int argc, sqlite3_value **argv)
{
  const struct callback *callback = sqlite3_user_data(context);
  move(context, argc, argv, callback->inverse);
}

static void give_sum(const struct callback *callback, sqlite3_context *context, const struct sum *sum)
{
  JSContext *ctx = callback->ctx;
  JSValue value = JS_DupValue(ctx, sum->value);
  give_result(callback, context, JS_IsUndefined(callback->result) ? value : call_function(callback, callback->result, value, 0, NULL));
}

static void value_of_window(sqlite3_context *context)
{
  const struct callback *callback = sqlite3_user_data(context);
  struct sum *sum = sqlite3_aggregate_context(context, sizeof *sum);
  if (!sum) return sqlite3_result_error_nomem(context);
  if (may_call(callback) && !begin_sum(callback, context, sum)) give_sum(callback, context, sum);
}

// Comes also where the rows were not read to their end: then it frees.
static void finish_aggregate(sqlite3_context *context)
{
  const struct callback *callback = sqlite3_user_data(context);
  const int calls = may_call(callback);
  struct sum *sum = sqlite3_aggregate_context(context, calls ? (int)sizeof *sum : 0);
  if (!sum) return;
  if (calls && !begin_sum(callback, context, sum)) give_sum(callback, context, sum);
  if (sum->has_begun) JS_FreeValue(callback->ctx, sum->value);
  *sum = (struct sum){ JS_UNDEFINED, 0 };
}

// --- Their registration ---

static void free_callback(void *given)
{
  struct callback *callback = given;
  JSRuntime *runtime = JS_GetRuntime(callback->ctx);
  *callback->place = callback->next;
  if (callback->next) callback->next->place = callback->place;
  JS_FreeValueRT(runtime, callback->start);
  JS_FreeValueRT(runtime, callback->step);
  JS_FreeValueRT(runtime, callback->inverse);
  JS_FreeValueRT(runtime, callback->result);
  free(callback);
}

static struct callback *new_callback(JSContext *ctx, struct database *database, int big_integers)
{
  struct callback *callback = malloc(sizeof *callback);
  if (!callback) {
    JS_ThrowOutOfMemory(ctx);
    return NULL;
  }
  *callback = (struct callback){ ctx, database, JS_UNDEFINED, JS_UNDEFINED, JS_UNDEFINED, JS_UNDEFINED, big_integers, database->callbacks, &database->callbacks };
  if (callback->next) callback->next->place = &callback->next;
  database->callbacks = callback;
  return callback;
}

enum { BIG_ARGUMENTS = 1, DETERMINISTIC = 2, DIRECT_ONLY = 4 };

static int flags_of(int options)
{
  return SQLITE_UTF8 | (options & DETERMINISTIC ? SQLITE_DETERMINISTIC : 0) | (options & DIRECT_ONLY ? SQLITE_DIRECTONLY : 0);
}

// A database, a name, how many values or -1, and BIG_ARGUMENTS, DETERMINISTIC, DIRECT_ONLY: what every registration has.
struct asked {
  struct database *database;
  const char *name;
  int count, options;
};

static int read_asked(JSContext *ctx, JSValueConst *argv, struct asked *asked)
{
  asked->database = open_database(ctx, argv[0]);
  if (!asked->database || JS_ToInt32(ctx, &asked->count, argv[2]) || JS_ToInt32(ctx, &asked->options, argv[3])) return -1;
  asked->name = JS_ToCString(ctx, argv[1]);
  return asked->name ? 0 : -1;
}

static JSValue registered(JSContext *ctx, const struct asked *asked, int status)
{
  JS_FreeCString(ctx, asked->name);
  return status == SQLITE_OK ? JS_UNDEFINED : status == SQLITE_MISUSE ? throw_of_number(ctx, status) : throw_of_database(ctx, asked->database->connection);
}

// function(database, name, count, options, function)
static JSValue add_function(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct asked asked;
  if (read_asked(ctx, argv, &asked)) return JS_EXCEPTION;
  struct callback *callback = new_callback(ctx, asked.database, asked.options & BIG_ARGUMENTS);
  if (!callback) {
    JS_FreeCString(ctx, asked.name);
    return JS_EXCEPTION;
  }
  callback->step = JS_DupValue(ctx, argv[4]);
  // SQLite frees it in any case.
  return registered(ctx, &asked, sqlite3_create_function_v2(asked.database->connection, asked.name, asked.count, flags_of(asked.options), callback, call_row_function,
                                                            NULL, NULL, free_callback));
}

// aggregate(database, name, count, options, start, step, inverse or undefined, result or undefined)
static JSValue add_aggregate(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct asked asked;
  if (read_asked(ctx, argv, &asked)) return JS_EXCEPTION;
  struct callback *callback = new_callback(ctx, asked.database, asked.options & BIG_ARGUMENTS);
  if (!callback) {
    JS_FreeCString(ctx, asked.name);
    return JS_EXCEPTION;
  }
  callback->start = JS_DupValue(ctx, argv[4]);
  callback->step = JS_DupValue(ctx, argv[5]);
  callback->inverse = JS_DupValue(ctx, argv[6]);
  callback->result = JS_DupValue(ctx, argv[7]);
  const int has_windows = !JS_IsUndefined(argv[6]);
  return registered(ctx, &asked, sqlite3_create_window_function(asked.database->connection, asked.name, asked.count, flags_of(asked.options), callback, step_aggregate,
                                                                finish_aggregate, has_windows ? value_of_window : NULL, has_windows ? step_back : NULL, free_callback));
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("function", 5, add_function),
  JS_CFUNC_DEF("aggregate", 8, add_aggregate),
};

void add_sqlite_callbacks(JSContext *ctx, JSValueConst sqlite)
{
  JS_SetPropertyFunctionList(ctx, sqlite, functions, sizeof functions / sizeof *functions);
}
