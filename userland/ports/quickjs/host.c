// node: QuickJS with modules resolved as Node.js does and the part of its library that /usr/lib/node holds.
// This file has what that library needs of the system and quickjs-libc has not; what it does with it is written in JavaScript.
// Under the name qjs the program is QuickJS's own.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

int qjs_main(int argc, char **argv);

static JSValue resolver = JS_UNDEFINED;
static JSValue loader = JS_UNDEFINED;

// setModuleHooks(resolve(base, name) -> path, load(path) -> source)
static JSValue set_module_hooks(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  resolver = JS_DupValue(ctx, argv[0]);
  loader = JS_DupValue(ctx, argv[1]);
  return JS_UNDEFINED;
}

static char *resolve_module(JSContext *ctx, const char *base, const char *name, void *opaque)
{
  if (!strncmp(name, "qjs:", 4) || JS_IsUndefined(resolver)) return js_strdup(ctx, name);
  JSValue args[2] = { JS_NewString(ctx, base), JS_NewString(ctx, name) };
  JSValue path = JS_Call(ctx, resolver, JS_UNDEFINED, 2, (JSValueConst *)args);
  JS_FreeValue(ctx, args[0]);
  JS_FreeValue(ctx, args[1]);
  if (JS_IsException(path)) return NULL;
  const char *text = JS_ToCString(ctx, path);
  JS_FreeValue(ctx, path);
  if (!text) return NULL;
  char *copy = js_strdup(ctx, text);
  JS_FreeCString(ctx, text);
  return copy;
}

// The first line of the source is the library's own: that of the program counts from 1.
static JSValue compile_module(JSContext *ctx, const char *source, size_t size, const char *name, int is_main)
{
  JSEvalOptions options = { JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY, name, 0 };
  JSValue function = JS_Eval2(ctx, source, size, &options);
  if (JS_IsException(function)) return function;
  js_module_set_import_meta(ctx, function, 0, is_main);
  return function;
}

static JSModuleDef *load_module(JSContext *ctx, const char *name, void *opaque, JSValueConst attributes)
{
  JSValue argument = JS_NewString(ctx, name);
  JSValue text = JS_Call(ctx, loader, JS_UNDEFINED, 1, (JSValueConst *)&argument);
  JS_FreeValue(ctx, argument);
  if (JS_IsException(text)) return NULL;
  size_t size;
  const char *source = JS_ToCStringLen(ctx, &size, text);
  JS_FreeValue(ctx, text);
  if (!source) return NULL;
  JSValue function = compile_module(ctx, source, size, name, 0);
  JS_FreeCString(ctx, source);
  if (JS_IsException(function)) return NULL;
  JSModuleDef *module = JS_VALUE_GET_PTR(function);
  JS_FreeValue(ctx, function);
  return module;
}

// evaluate(source, name[, number of its first line]) -> completion value of a script
static JSValue evaluate(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  size_t size;
  const char *source = JS_ToCStringLen(ctx, &size, argv[0]);
  const char *name = JS_ToCString(ctx, argv[1]);
  JSEvalOptions options = { JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_GLOBAL, name, 1 };
  if (argc > 2) JS_ToInt32(ctx, &options.line_num, argv[2]);
  JSValue result = JS_EXCEPTION;
  if (source && name) result = JS_Eval2(ctx, source, size, &options);
  JS_FreeCString(ctx, name);
  JS_FreeCString(ctx, source);
  return result;
}

// evaluateModule(source, name) -> promise; the source as for compile_module
static JSValue evaluate_module(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  size_t size;
  const char *source = JS_ToCStringLen(ctx, &size, argv[0]);
  const char *name = JS_ToCString(ctx, argv[1]);
  JSValue result = JS_EXCEPTION;
  if (source && name) {
    result = compile_module(ctx, source, size, name, 1);
    if (!JS_IsException(result)) result = JS_EvalFunction(ctx, result);
  }
  JS_FreeCString(ctx, name);
  JS_FreeCString(ctx, source);
  return result;
}

// promise(promise) -> [0 pending, 1 fulfilled or 2 rejected, its value]
static JSValue promise_state(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  JSPromiseStateEnum state = JS_PromiseState(ctx, argv[0]);
  JSValue pair = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, pair, 0, JS_NewInt32(ctx, state == JS_PROMISE_FULFILLED ? 1 : state == JS_PROMISE_REJECTED ? 2 : 0));
  JS_SetPropertyUint32(ctx, pair, 1, state == JS_PROMISE_PENDING ? JS_UNDEFINED : JS_PromiseResult(ctx, argv[0]));
  return pair;
}

static JSValue is_proxy(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  return JS_NewBool(ctx, JS_IsProxy(argv[0]));
}

// proxyParts(proxy) -> [its target, its handler], both null once it is revoked; undefined of anything else
static JSValue proxy_parts(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  if (!JS_IsProxy(argv[0])) return JS_UNDEFINED;
  JSValue parts[2] = { JS_GetProxyTarget(ctx, argv[0]), JS_GetProxyHandler(ctx, argv[0]) };
  JSValue pair = JS_NewArray(ctx);
  for (uint32_t i = 0; i < 2; i++) {
    if (JS_IsException(parts[i])) {
      JS_FreeValue(ctx, JS_GetException(ctx));
      parts[i] = JS_NULL;
    }
    JS_SetPropertyUint32(ctx, pair, i, parts[i]);
  }
  return pair;
}

// The frame that what runs now belongs to, which the engine keeps with each job: async_hooks has its stores there.
static JSValue async_frame(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  return JS_GetAsyncFrame(ctx);
}

static JSValue set_async_frame(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  JS_SetAsyncFrame(ctx, argv[0]);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("asyncFrame", 0, async_frame),
  JS_CFUNC_DEF("setAsyncFrame", 1, set_async_frame),
  JS_CFUNC_DEF("setModuleHooks", 2, set_module_hooks),
  JS_CFUNC_DEF("evaluate", 2, evaluate),
  JS_CFUNC_DEF("evaluateModule", 2, evaluate_module),
  JS_CFUNC_DEF("promise", 1, promise_state),
  JS_CFUNC_DEF("isProxy", 1, is_proxy),
  JS_CFUNC_DEF("proxyParts", 1, proxy_parts),
};

static void call_hook(JSContext *ctx, const char *name, int argc, JSValueConst *argv)
{
  JSValue global = JS_GetGlobalObject(ctx);
  JSValue native = JS_GetPropertyStr(ctx, global, "__native");
  JSValue hook = JS_GetPropertyStr(ctx, native, name);
  if (JS_IsFunction(ctx, hook)) {
    JSValue result = JS_Call(ctx, hook, JS_UNDEFINED, argc, argv);
    if (JS_IsException(result)) js_std_dump_error(ctx);
    JS_FreeValue(ctx, result);
  }
  JS_FreeValue(ctx, hook);
  JS_FreeValue(ctx, native);
  JS_FreeValue(ctx, global);
}

static void tell_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool is_handled, void *opaque)
{
  JSValueConst args[3] = { promise, reason, JS_NewBool(ctx, is_handled) };
  JSContext *first = JS_GetContextOpaque(ctx);  // Set in those of vm.
  call_hook(first ? first : ctx, "onreject", 3, args);
}

static int start(JSContext *ctx, int argc, char **argv)
{
  static const char path[] = "/usr/lib/node/main.js";
  JSValue global = JS_GetGlobalObject(ctx);
  JSValue native = JS_NewObject(ctx);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
  add_file_functions(ctx, native);
  add_process_functions(ctx, native);
  add_zlib_functions(ctx, native);
  add_brotli_functions(ctx, native);
  add_crypto_functions(ctx, native);
  add_socket_functions(ctx, native);
  add_datagram_functions(ctx, native);
  add_loop_functions(ctx, native);
  add_byte_functions(ctx, native);
  add_text_functions(ctx, native);
  add_sqlite_functions(ctx, native);
  add_vm_functions(ctx, native);
  add_wasm_functions(ctx, native);
  JSValue words = JS_NewArray(ctx);
  for (int i = 0; i < argc; i++) JS_SetPropertyUint32(ctx, words, i, JS_NewString(ctx, argv[i]));
  JS_SetPropertyStr(ctx, native, "argv", words);
  JS_SetPropertyStr(ctx, global, "__native", native);
  JS_FreeValue(ctx, global);
  js_init_module_std(ctx, "qjs:std");
  js_init_module_os(ctx, "qjs:os");

  size_t size;
  uint8_t *source = js_load_file(ctx, &size, path);
  if (!source) {
    fprintf(stderr, "node: cannot read %s: %s\n", path, strerror(errno));
    return 1;
  }
  JSValue function = JS_Eval(ctx, (char *)source, size, path, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
  js_free(ctx, source);
  JSValue result = JS_IsException(function) ? function : JS_EvalFunction(ctx, function);
  if (JS_IsException(result)) {
    js_std_dump_error(ctx);
    return 1;
  }
  JS_FreeValue(ctx, result);
  call_hook(ctx, "loop", 0, NULL);
  return 1;  // The loop itself ends the process.
}

int main(int argc, char **argv)
{
  const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;
  name = name ? name + 1 : argc > 0 ? argv[0] : "node";
  if (!strcmp(name, "qjs")) return qjs_main(argc, argv);
  JSRuntime *runtime = JS_NewRuntime();
  if (!runtime) {
    fputs("node: out of memory\n", stderr);
    return 2;
  }
  JS_SetMaxStackSize(runtime, 4 << 20);
  js_std_init_handlers(runtime);
  JSContext *ctx = JS_NewContext(runtime);
  if (!ctx) {
    fputs("node: out of memory\n", stderr);
    return 2;
  }
  JS_SetModuleLoaderFunc2(runtime, resolve_module, load_module, NULL, NULL);
  JS_SetHostPromiseRejectionTracker(runtime, tell_rejection, NULL);
  // The process ends here: freeing what it holds would only take time.
  exit(start(ctx, argc, argv));
}
