// Sessions, which keep what was changed, and backups, for node's sqlite.
#include <stdlib.h>
#include <string.h>

#include "host_sqlite.h"

static JSClassID session_class, backup_class;

// --- Sessions ---

struct session {
  struct part part;
  sqlite3_session *changes;
};

static void delete_session(struct part *part)
{
  struct session *session = (struct session *)part;
  sqlite3session_delete(session->changes);
  session->changes = NULL;
}

// session(database, name of the one in it, table or undefined for all) -> session
static JSValue session_new(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct database *database = open_database(ctx, argv[0]);
  if (!database) return JS_EXCEPTION;
  const char *name = JS_ToCString(ctx, argv[1]), *table = JS_IsUndefined(argv[2]) ? NULL : JS_ToCString(ctx, argv[2]);
  struct session *session = name && (table || JS_IsUndefined(argv[2])) ? calloc(1, sizeof *session) : NULL;
  JSValue object = session ? new_part(ctx, session_class, &session->part, argv[0], delete_session) : JS_HasException(ctx) ? JS_EXCEPTION : JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(object)) {
    free(session);
  } else {
    int status = sqlite3session_create(database->connection, name, &session->changes);
    if (status == SQLITE_OK) status = sqlite3session_attach(session->changes, table);
    if (status != SQLITE_OK) {
      throw_of_number(ctx, status);
      JS_FreeValue(ctx, object);
      object = JS_EXCEPTION;
    }
  }
  JS_FreeCString(ctx, name);
  JS_FreeCString(ctx, table);
  return object;
}

static struct session *session_of(JSContext *ctx, JSValueConst object)
{
  struct session *session = JS_GetOpaque2(ctx, object, session_class);
  if (!session || !open_database(ctx, session->part.owner)) return NULL;
  if (session->changes) return session;
  throw_state(ctx, "session is not open");
  return NULL;
}

// changes(session, 1 for a patchset) -> their bytes
static JSValue session_changes(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const struct session *session = session_of(ctx, argv[0]);
  if (!session) return JS_EXCEPTION;
  int size = 0;
  void *bytes = NULL;
  const int status = (JS_ToBool(ctx, argv[1]) ? sqlite3session_patchset : sqlite3session_changeset)(session->changes, &size, &bytes);
  JSValue copy = status == SQLITE_OK ? JS_NewUint8ArrayCopy(ctx, bytes ? bytes : (const uint8_t *)"", (size_t)size) : throw_of_number(ctx, status);
  sqlite3_free(bytes);
  return copy;
}

// closeSession(session)
static JSValue session_close(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct session *session = session_of(ctx, argv[0]);
  if (!session) return JS_EXCEPTION;
  release_part(&session->part);
  return JS_UNDEFINED;
}

// --- Changes of another database ---

struct application {
  JSContext *ctx;
  JSValueConst wants_table, on_conflict;
  struct call call;
};

static int wants_table(void *given, const char *table)
{
  struct application *application = given;
  JSContext *ctx = application->ctx;
  if (application->call.has_thrown) return 0;
  JSValue name = JS_NewString(ctx, table);
  JSValue answer = JS_Call(ctx, application->wants_table, JS_UNDEFINED, 1, (JSValueConst *)&name);
  JS_FreeValue(ctx, name);
  const int wanted = JS_IsException(answer) ? -1 : JS_ToBool(ctx, answer);
  JS_FreeValue(ctx, answer);
  if (wanted < 0) application->call.has_thrown = 1;
  return wanted > 0;
}

static int on_conflict(void *given, int kind, sqlite3_changeset_iter *changes)
{
  struct application *application = given;
  JSContext *ctx = application->ctx;
  if (application->call.has_thrown || JS_IsUndefined(application->on_conflict)) return SQLITE_CHANGESET_ABORT;
  JSValue number = JS_NewInt32(ctx, kind);
  JSValue answer = JS_Call(ctx, application->on_conflict, JS_UNDEFINED, 1, (JSValueConst *)&number);
  int what = -1;  // no answer of those that there are, which SQLite says
  if (JS_IsException(answer)) {
    application->call.has_thrown = 1;
    return SQLITE_CHANGESET_ABORT;
  }
  if (JS_IsNumber(answer)) JS_ToInt32(ctx, &what, answer);
  JS_FreeValue(ctx, answer);
  return what;
}

// apply(database, bytes, function of a table's name or undefined, function of a conflict's kind or undefined) -> whether nothing was given up
static JSValue apply(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct database *database = open_database(ctx, argv[0]);
  const uint8_t *bytes;
  size_t size;
  if (!database || view_bytes(ctx, argv[1], &bytes, &size) <= 0) return JS_EXCEPTION;
  // The functions may do with the array what they like.
  void *copy = sqlite3_malloc64(size + 1);
  if (!copy) return JS_ThrowOutOfMemory(ctx);
  memcpy(copy, bytes, size);
  struct application application = { ctx, argv[2], argv[3] };
  begin_call(&application.call, database);
  const int status = sqlite3changeset_apply(database->connection, (int)size, copy, JS_IsUndefined(argv[2]) ? NULL : wants_table, on_conflict, &application);
  end_call(&application.call);
  sqlite3_free(copy);
  if (application.call.has_thrown) return JS_EXCEPTION;
  return status == SQLITE_OK ? JS_TRUE : status == SQLITE_ABORT ? JS_FALSE : throw_of_number(ctx, status);
}

// --- Backups ---

struct backup {
  struct part part;
  sqlite3 *target;
  sqlite3_backup *work;
};

static void finish_backup(struct part *part)
{
  struct backup *backup = (struct backup *)part;
  sqlite3_backup_finish(backup->work);
  sqlite3_close_v2(backup->target);
  backup->work = NULL;
  backup->target = NULL;
}

// backup(database, path, name of the one in it, name of the one in the copy) -> backup
static JSValue backup_new(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const struct database *database = open_database(ctx, argv[0]);
  if (!database) return JS_EXCEPTION;
  const char *path = JS_ToCString(ctx, argv[1]), *source = JS_ToCString(ctx, argv[2]), *target = JS_ToCString(ctx, argv[3]);
  struct backup *backup = path && source && target ? calloc(1, sizeof *backup) : NULL;
  JSValue object = backup ? new_part(ctx, backup_class, &backup->part, argv[0], finish_backup) : JS_HasException(ctx) ? JS_EXCEPTION : JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(object)) {
    free(backup);
  } else {
    if (sqlite3_open_v2(path, &backup->target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL) == SQLITE_OK)
      backup->work = sqlite3_backup_init(backup->target, target, database->connection, source);
    if (!backup->work) {
      if (backup->target) throw_of_database(ctx, backup->target);
      else JS_ThrowOutOfMemory(ctx);
      JS_FreeValue(ctx, object);
      object = JS_EXCEPTION;
    }
  }
  JS_FreeCString(ctx, path);
  JS_FreeCString(ctx, source);
  JS_FreeCString(ctx, target);
  return object;
}

// backupStep(backup, most pages, below 0 for all) -> [pages, pages left, whether it waits for a lock]; the backup is over where none is left
static JSValue backup_step(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct backup *backup = JS_GetOpaque2(ctx, argv[0], backup_class);
  int pages;
  if (!backup || JS_ToInt32(ctx, &pages, argv[1])) return JS_EXCEPTION;
  if (!backup->work) return throw_state(ctx, "database is not open");
  const int status = sqlite3_backup_step(backup->work, pages), waits = status == SQLITE_BUSY || status == SQLITE_LOCKED;
  const int left = status == SQLITE_DONE ? 0 : sqlite3_backup_remaining(backup->work), all = sqlite3_backup_pagecount(backup->work);
  JSValue result = JS_EXCEPTION;
  if (status == SQLITE_OK || status == SQLITE_DONE || waits) {
    result = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, result, 0, JS_NewInt32(ctx, all));
    JS_SetPropertyUint32(ctx, result, 1, JS_NewInt32(ctx, left));
    JS_SetPropertyUint32(ctx, result, 2, JS_NewBool(ctx, waits));
  } else {
    throw_of_number(ctx, status);
  }
  if (status == SQLITE_DONE || JS_IsException(result)) release_part(&backup->part);
  return result;
}

// endBackup(backup): it is given up
static JSValue backup_end(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct backup *backup = JS_GetOpaque2(ctx, argv[0], backup_class);
  if (!backup) return JS_EXCEPTION;
  release_part(&backup->part);
  return JS_UNDEFINED;
}

static const JSClassDef session_definition = { "SqliteSession", .finalizer = free_part, .gc_mark = mark_part };
static const JSClassDef backup_definition = { "SqliteBackup", .finalizer = free_part, .gc_mark = mark_part };

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("session", 3, session_new),
  JS_CFUNC_DEF("changes", 2, session_changes),
  JS_CFUNC_DEF("closeSession", 1, session_close),
  JS_CFUNC_DEF("apply", 4, apply),
  JS_CFUNC_DEF("backup", 4, backup_new),
  JS_CFUNC_DEF("backupStep", 2, backup_step),
  JS_CFUNC_DEF("endBackup", 1, backup_end),
};

void add_sqlite_changes(JSContext *ctx, JSValueConst sqlite)
{
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClass(runtime, JS_NewClassID(runtime, &session_class), &session_definition);
  JS_NewClass(runtime, JS_NewClassID(runtime, &backup_class), &backup_definition);
  JS_SetPropertyFunctionList(ctx, sqlite, functions, sizeof functions / sizeof *functions);
}
