// Contexts for node's vm: a realm of the engine whose global object reads and writes another object first, as Node.js has it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"

// What a realm's global object is made of: the object that programs made a context of, and the globals that every realm has.
typedef struct {
  JSValue outside;
  JSValue inner;
} Global;

static JSClassID global_class, realm_class, script_class;

static Global *global_of(JSValueConst value)
{
  return JS_GetOpaque(value, global_class);
}

static int global_get_own(JSContext *ctx, JSPropertyDescriptor *desc, JSValueConst self, JSAtom name)
{
  const Global *global = global_of(self);
  const int found = JS_GetOwnProperty(ctx, desc, global->outside, name);
  return found ? found : JS_GetOwnProperty(ctx, desc, global->inner, name);
}

static int global_has(JSContext *ctx, JSValueConst self, JSAtom name)
{
  const Global *global = global_of(self);
  const int found = JS_HasProperty(ctx, global->outside, name);
  return found ? found : JS_HasProperty(ctx, global->inner, name);
}

static JSValue global_get(JSContext *ctx, JSValueConst self, JSAtom name, JSValueConst receiver)
{
  const Global *global = global_of(self);
  const int found = JS_HasProperty(ctx, global->outside, name);
  if (found < 0) return JS_EXCEPTION;
  return JS_GetProperty(ctx, found ? global->outside : global->inner, name);
}

static int global_set(JSContext *ctx, JSValueConst self, JSAtom name, JSValueConst value, JSValueConst receiver, int flags)
{
  const Global *global = global_of(self);
  // What the realm has and may not change (undefined, NaN) is not hidden by another.
  JSPropertyDescriptor desc;
  const int found = JS_GetOwnProperty(ctx, &desc, global->inner, name);
  if (found < 0) return -1;
  const int fixed = found && !(desc.flags & (JS_PROP_GETSET | JS_PROP_WRITABLE));
  if (found) {
    JS_FreeValue(ctx, desc.value);
    JS_FreeValue(ctx, desc.getter);
    JS_FreeValue(ctx, desc.setter);
  }
  return JS_SetPropertyFlags(ctx, fixed ? global->inner : global->outside, name, JS_DupValue(ctx, value), flags);
}

static int global_define(JSContext *ctx, JSValueConst self, JSAtom name, JSValueConst value, JSValueConst getter, JSValueConst setter, int flags)
{
  return JS_DefineProperty(ctx, global_of(self)->outside, name, value, getter, setter, flags);
}

static int global_delete(JSContext *ctx, JSValueConst self, JSAtom name)
{
  const Global *global = global_of(self);
  const int gone = JS_DeleteProperty(ctx, global->outside, name, 0);
  return gone > 0 ? JS_DeleteProperty(ctx, global->inner, name, 0) : gone;
}

static int add_names(JSContext *ctx, JSPropertyEnum **table, uint32_t *count, JSValueConst of, JSValueConst seen)
{
  JSPropertyEnum *names;
  uint32_t size;
  if (JS_GetOwnPropertyNames(ctx, &names, &size, of, JS_GPN_STRING_MASK | JS_GPN_SYMBOL_MASK)) return -1;
  JSPropertyEnum *grown = js_realloc(ctx, *table, (*count + size + 1) * sizeof **table);
  if (!grown) {
    JS_FreePropertyEnum(ctx, names, size);
    return -1;
  }
  *table = grown;
  for (uint32_t i = 0; i < size; i++) {
    const int known = JS_IsUndefined(seen) ? 0 : JS_GetOwnProperty(ctx, NULL, seen, names[i].atom);
    if (known == 0) {
      grown[*count] = names[i];
      grown[(*count)++].atom = JS_DupAtom(ctx, names[i].atom);
    }
  }
  JS_FreePropertyEnum(ctx, names, size);
  return 0;
}

static int global_names(JSContext *ctx, JSPropertyEnum **table, uint32_t *count, JSValueConst self)
{
  const Global *global = global_of(self);
  *table = NULL;
  *count = 0;
  if (add_names(ctx, table, count, global->outside, JS_UNDEFINED) == 0 && add_names(ctx, table, count, global->inner, global->outside) == 0) return 0;
  JS_FreePropertyEnum(ctx, *table, *count);
  return -1;
}

static void free_global(JSRuntime *runtime, JSValueConst value)
{
  Global *global = global_of(value);
  if (!global) return;
  JS_FreeValueRT(runtime, global->outside);
  JS_FreeValueRT(runtime, global->inner);
  free(global);
}

static void mark_global(JSRuntime *runtime, JSValueConst value, JS_MarkFunc *mark)
{
  const Global *global = global_of(value);
  if (!global) return;
  JS_MarkValue(runtime, global->outside, mark);
  JS_MarkValue(runtime, global->inner, mark);
}

static void free_realm(JSRuntime *runtime, JSValueConst value)
{
  JSContext *realm = JS_GetOpaque(value, realm_class);
  if (realm) JS_FreeContext(realm);
}

static void mark_realm(JSRuntime *runtime, JSValueConst value, JS_MarkFunc *mark)
{
  JSContext *realm = JS_GetOpaque(value, realm_class);
  if (realm) JS_MarkRealm(runtime, realm, mark);
}

// A compiled script of the first realm. It is no value that programs may see.
static void free_script(JSRuntime *runtime, JSValueConst value)
{
  JSValue *code = JS_GetOpaque(value, script_class);
  if (!code) return;
  JS_FreeValueRT(runtime, *code);
  free(code);
}

static void mark_script(JSRuntime *runtime, JSValueConst value, JS_MarkFunc *mark)
{
  const JSValue *code = JS_GetOpaque(value, script_class);
  if (code) JS_MarkValue(runtime, *code, mark);
}

static JSClassExoticMethods global_methods = {
  .get_own_property = global_get_own, .get_own_property_names = global_names, .delete_property = global_delete,
  .define_own_property = global_define, .has_property = global_has, .get_property = global_get, .set_property = global_set,
};
static const JSClassDef global_definition = { "Object", .finalizer = free_global, .gc_mark = mark_global, .exotic = &global_methods };
static const JSClassDef realm_definition = { "Realm", .finalizer = free_realm, .gc_mark = mark_realm };
static const JSClassDef script_definition = { "CompiledScript", .finalizer = free_script, .gc_mark = mark_script };

// The realm's global object becomes one that is laid over `outside`.
static int lay_over(JSContext *realm, JSValueConst outside)
{
  Global *global = malloc(sizeof *global);
  if (!global) return -1;
  JSValue object = JS_NewObjectClass(realm, (int)global_class);
  if (JS_IsException(object)) {
    free(global);
    return -1;
  }
  global->outside = JS_DupValue(realm, outside);
  global->inner = JS_ExchangeGlobalObject(realm, object);
  JS_SetOpaque(object, global);
  return JS_DefinePropertyValueStr(realm, global->inner, "globalThis", JS_DupValue(realm, object), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) < 0 ? -1 : 0;
}

// newRealm(prepare(its own global object), the object that it is laid over, or undefined) -> realm
static JSValue new_realm(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  JSContext *realm = JS_NewContext(JS_GetRuntime(ctx));
  if (!realm) return JS_ThrowOutOfMemory(ctx);
  // What it imports are modules of the first one.
  JS_SetContextOpaque(realm, ctx);
  JSValue handle = JS_NewObjectClass(ctx, (int)realm_class);
  if (JS_IsException(handle)) {
    JS_FreeContext(realm);
    return handle;
  }
  JS_SetOpaque(handle, realm);
  JSValue global = JS_GetGlobalObject(realm);
  JSValue done = JS_Call(ctx, argv[0], JS_UNDEFINED, 1, (JSValueConst *)&global);
  JS_FreeValue(ctx, global);
  if (JS_IsException(done) || (JS_IsObject(argv[1]) && lay_over(realm, argv[1]))) {
    JS_FreeValue(ctx, handle);
    return JS_EXCEPTION;
  }
  JS_FreeValue(ctx, done);
  return handle;
}

static JSContext *realm_of(JSContext *ctx, JSValueConst handle)
{
  return JS_IsUndefined(handle) ? ctx : JS_GetOpaque2(ctx, handle, realm_class);
}

// realmGlobal(realm)
static JSValue realm_global(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  JSContext *realm = realm_of(ctx, argv[0]);
  return realm ? JS_GetGlobalObject(realm) : JS_EXCEPTION;
}

// compileScript(source, name, number of its first line) -> script
static JSValue compile_script(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  JSEvalOptions options = { JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY, NULL, 1 };
  size_t size;
  if (JS_ToInt32(ctx, &options.line_num, argv[2])) return JS_EXCEPTION;
  const char *source = JS_ToCStringLen(ctx, &size, argv[0]), *name = JS_ToCString(ctx, argv[1]);
  options.filename = name;
  JSValue code = source && name ? JS_Eval2(ctx, source, size, &options) : JS_EXCEPTION;
  JS_FreeCString(ctx, name);
  JS_FreeCString(ctx, source);
  if (JS_IsException(code)) return code;
  JSValue *kept = malloc(sizeof *kept), script = kept ? JS_NewObjectClass(ctx, (int)script_class) : JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(script)) {
    free(kept);
    JS_FreeValue(ctx, code);
    return script;
  }
  *kept = code;
  JS_SetOpaque(script, kept);
  return script;
}

// The time by which what runs must have ended; 0 where it need not. The engine asks while it computes.
static int64_t deadline_ns;
static int is_over;

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int is_late(JSRuntime *runtime, void *opaque)
{
  if (deadline_ns && now_ns() >= deadline_ns) is_over = 1;
  return is_over;
}

int time_is_over(void) { return deadline_ns && is_late(NULL, NULL); }

// A script belongs to the realm that it was compiled in: another one gets a copy.
static JSValue script_for(JSContext *ctx, JSContext *realm, JSValueConst code)
{
  if (realm == ctx) return JS_DupValue(ctx, code);
  size_t size;
  uint8_t *bytes = JS_WriteObject(ctx, &size, code, JS_WRITE_OBJ_BYTECODE);
  if (!bytes) return JS_EXCEPTION;
  JSValue copy = JS_ReadObject(realm, bytes, size, JS_READ_OBJ_BYTECODE);
  js_free(ctx, bytes);
  return copy;
}

// runScript(script, realm or undefined, milliseconds that it may take or 0) -> its completion value, or null where its time was over
static JSValue run_script(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const JSValue *code = JS_GetOpaque2(ctx, argv[0], script_class);
  JSContext *realm = realm_of(ctx, argv[1]);
  int64_t may_take_ms;
  if (!code || !realm || JS_ToInt64(ctx, &may_take_ms, argv[2])) return JS_EXCEPTION;
  JSValue function = script_for(ctx, realm, *code);
  if (JS_IsException(function)) return function;
  const int64_t outer_ns = deadline_ns, own_ns = may_take_ms > 0 ? now_ns() + may_take_ms * 1000000 : 0;
  if (own_ns && (!outer_ns || own_ns < outer_ns)) {
    deadline_ns = own_ns;
    JS_SetInterruptHandler(JS_GetRuntime(ctx), is_late, NULL);
  }
  JSValue result = JS_EvalFunction(realm, function);
  // Whose time is over catches nothing; who set the time is told.
  const int late = is_over && deadline_ns == own_ns;
  deadline_ns = outer_ns;
  if (!outer_ns) JS_SetInterruptHandler(JS_GetRuntime(ctx), NULL, NULL);
  if (!late) return result;
  is_over = 0;
  JS_FreeValue(ctx, result);
  JS_FreeValue(ctx, JS_GetException(ctx));
  JSValue error = JS_NewError(ctx);
  char text[80];
  snprintf(text, sizeof text, "Script execution timed out after %lldms", (long long)may_take_ms);
  JS_DefinePropertyValueStr(ctx, error, "message", JS_NewString(ctx, text), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  JS_DefinePropertyValueStr(ctx, error, "code", JS_NewString(ctx, "ERR_SCRIPT_EXECUTION_TIMEOUT"), JS_PROP_C_W_E);
  return JS_Throw(ctx, error);
}

// className(value): what the engine made an object as, which no program can change and is the same in every realm
static JSValue class_name(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  if (!JS_IsObject(argv[0])) return JS_UNDEFINED;
  JSAtom name = JS_GetClassName(JS_GetRuntime(ctx), JS_GetClassID(argv[0]));
  JSValue text = JS_AtomToString(ctx, name);
  JS_FreeAtom(ctx, name);
  return text;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("newRealm", 2, new_realm),
  JS_CFUNC_DEF("realmGlobal", 1, realm_global),
  JS_CFUNC_DEF("compileScript", 3, compile_script),
  JS_CFUNC_DEF("runScript", 3, run_script),
  JS_CFUNC_DEF("className", 1, class_name),
};

void add_vm_functions(JSContext *ctx, JSValueConst native)
{
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClass(runtime, JS_NewClassID(runtime, &global_class), &global_definition);
  JS_NewClass(runtime, JS_NewClassID(runtime, &realm_class), &realm_definition);
  JS_NewClass(runtime, JS_NewClassID(runtime, &script_class), &script_definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
