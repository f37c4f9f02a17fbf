// What node/webassembly.js calls: it has the classes that programs see, checks what they are given and words what is wrong with it.
#include <stdio.h>

#include "host_wasm.h"

static Module *module_of(JSContext *ctx, JSValueConst value) { return JS_GetOpaque2(ctx, value, module_class); }

static JSValue refused(JSContext *ctx, JSValueConst where, const Problem *problem)
{
  if (!problem->failed || !strcmp(problem->text, "out of memory")) return JS_ThrowOutOfMemory(ctx);
  const char *name = JS_ToCString(ctx, where);
  if (!name) return JS_EXCEPTION;
  char text[400];
  snprintf(text, sizeof text, "%s: %s @+%zu", name, problem->text, problem->at);
  JS_FreeCString(ctx, name);
  return throw_wasm(ctx, "CompileError", text);
}

// An ArrayBuffer, an offset and a length; false with an exception where there are no such bytes.
static bool take_range(JSContext *ctx, JSValueConst *argv, const uint8_t **bytes, size_t *length)
{
  size_t size = 0;
  int64_t offset, wanted;
  const uint8_t *from = JS_GetArrayBuffer(ctx, &size, argv[0]);
  if (!from && size) return false;
  if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
  if (JS_ToInt64(ctx, &offset, argv[1]) || JS_ToInt64(ctx, &wanted, argv[2])) return false;
  if (offset < 0 || wanted < 0 || (uint64_t)offset > size || (uint64_t)wanted > size - (uint64_t)offset) offset = wanted = 0;
  *bytes = from + offset;
  *length = (size_t)wanted;
  return true;
}

// wasmModule(buffer, offset, length, function that was called, prototype)
static JSValue new_module(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const uint8_t *bytes;
  size_t size;
  Problem problem;
  if (!take_range(ctx, argv, &bytes, &size)) return JS_EXCEPTION;
  Module *module = read_module(bytes, size, &problem);
  if (!module) return refused(ctx, argv[3], &problem);
  const JSValue object = JS_NewObjectProtoClass(ctx, argv[4], module_class);
  if (JS_IsException(object)) free_module(module);
  else JS_SetOpaque(object, module);
  return object;
}

// wasmValidate(buffer, offset, length)
static JSValue validate(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const uint8_t *bytes;
  size_t size;
  Problem problem;
  if (!take_range(ctx, argv, &bytes, &size)) return JS_EXCEPTION;
  Module *module = read_module(bytes, size, &problem);
  if (module) free_module(module);
  return JS_NewBool(ctx, module != NULL);
}

static JSValue text_of(JSContext *ctx, Bytes bytes) { return JS_NewStringLen(ctx, (const char *)bytes.from, (size_t)(bytes.to - bytes.from)); }

static const char *const kinds[] = { "function", "table", "memory", "global", "tag" };

// wasmImports(module), wasmExports(module)
static JSValue list(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int are_exports)
{
  const Module *module = module_of(ctx, argv[0]);
  if (!module) return JS_EXCEPTION;
  JSValue array = JS_NewArray(ctx);
  for (uint32_t i = 0; i < (are_exports ? module->export_count : module->import_count); i++) {
    JSValue entry = JS_NewObject(ctx);
    if (!are_exports) JS_DefinePropertyValueStr(ctx, entry, "module", text_of(ctx, module->imports[i].module), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, entry, "name", text_of(ctx, are_exports ? module->exports[i].name : module->imports[i].name), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, entry, "kind", JS_NewString(ctx, kinds[are_exports ? module->exports[i].kind : module->imports[i].kind]), JS_PROP_C_W_E);
    JS_DefinePropertyValueUint32(ctx, array, i, entry, JS_PROP_C_W_E);
  }
  return array;
}

// wasmSections(module, name)
static JSValue sections(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const Module *module = module_of(ctx, argv[0]);
  if (!module) return JS_EXCEPTION;
  size_t size;
  const char *name = JS_ToCStringLen(ctx, &size, argv[1]);
  if (!name) return JS_EXCEPTION;
  JSValue array = JS_NewArray(ctx);
  for (uint32_t i = 0, count = 0; i < module->section_count; i++) {
    const CustomSection *section = &module->sections[i];
    if ((size_t)(section->name.to - section->name.from) != size || memcmp(section->name.from, name, size)) continue;
    JS_DefinePropertyValueUint32(ctx, array, count++, JS_NewArrayBufferCopy(ctx, section->content.from, (size_t)(section->content.to - section->content.from)), JS_PROP_C_W_E);
  }
  JS_FreeCString(ctx, name);
  return array;
}

// wasmNeedsImports(module)
static JSValue needs_imports(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const Module *module = module_of(ctx, argv[0]);
  return module ? JS_NewBool(ctx, module->import_count > 0) : JS_EXCEPTION;
}

// wasmLink(module, imports, function that was called) -> exports
static JSValue link_module(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  Module *module = module_of(ctx, argv[0]);
  const char *where = module ? JS_ToCString(ctx, argv[2]) : NULL;
  if (!where) return JS_EXCEPTION;
  const JSValue exports = link_instance(ctx, module, argv[1], where);
  JS_FreeCString(ctx, where);
  return exports;
}

// Two numbers: the least, and the most or -1.
static int take_limits(JSContext *ctx, JSValueConst *argv, Limits *limits)
{
  int64_t least, most;
  if (JS_ToInt64(ctx, &least, argv[0]) || JS_ToInt64(ctx, &most, argv[1])) return -1;
  *limits = (Limits){ .least = (uint32_t)least, .most = (uint32_t)most, .has_most = most >= 0 };
  return 0;
}

// wasmMemory(prototype, pages, most, whether it is shared)
static JSValue make_memory(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  Limits limits;
  if (take_limits(ctx, argv + 1, &limits) < 0) return JS_EXCEPTION;
  limits.is_shared = JS_ToBool(ctx, argv[3]);
  return new_memory(ctx, argv[0], limits);
}

// wasmGrowMemory(memory, pages) -> how many there were, or -1
static JSValue grow_pages(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  Memory *memory = JS_GetOpaque2(ctx, argv[0], memory_class);
  int64_t pages;
  if (!memory || JS_ToInt64(ctx, &pages, argv[1])) return JS_EXCEPTION;
  return JS_NewInt64(ctx, grow_memory(ctx, memory, (uint64_t)pages));
}

// wasmTable(prototype, type of its elements, how many, most)
static JSValue make_table(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  TableType type;
  uint32_t element;
  if (JS_ToUint32(ctx, &element, argv[1]) || take_limits(ctx, argv + 2, &type.limits) < 0) return JS_EXCEPTION;
  type.element = (uint8_t)element;
  return new_table(ctx, argv[0], type);
}

enum { SIZE, GET, SET, GROW, IS_OF_FUNCTIONS };

// wasmTableSize(table), wasmTableGet(table, index), wasmTableSet(table, index, value), wasmTableGrow(table, count, value), wasmTableOfFunctions(table)
static JSValue use_table(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int use)
{
  Table *table = JS_GetOpaque2(ctx, argv[0], table_class);
  int64_t number = 0;
  if (!table || (argc > 1 && JS_ToInt64(ctx, &number, argv[1]))) return JS_EXCEPTION;
  switch (use) {
    case SIZE: return JS_NewUint32(ctx, table->size);
    case GET: return number < table->size ? element_of(ctx, table, (uint32_t)number) : JS_UNDEFINED;
    case SET: if (number < table->size) set_element(ctx, table, (uint32_t)number, argv[2]); return JS_UNDEFINED;
    case GROW: return JS_NewInt64(ctx, grow_table(ctx, table, (uint64_t)number, argv[2]));
    default: return JS_NewBool(ctx, table->type.element == FUNCREF);
  }
}

// wasmGlobal(prototype, type, whether it is mutable, value or undefined)
static JSValue make_global(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  uint32_t type;
  if (JS_ToUint32(ctx, &type, argv[1])) return JS_EXCEPTION;
  const JSValue object = new_global(ctx, argv[0], (GlobalType){ (uint8_t)type, JS_ToBool(ctx, argv[2]) });
  if (JS_IsException(object) || argc < 4) return object;
  Global *global = JS_GetOpaque(object, global_class);
  if (from_script(ctx, global->type.type, argv[3], global->places) == 0) return object;
  JS_FreeValue(ctx, object);
  return JS_EXCEPTION;
}

// wasmGlobalGet(global)
static JSValue get_global(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  Global *global = JS_GetOpaque2(ctx, argv[0], global_class);
  if (!global) return JS_EXCEPTION;
  if (global->type.type == V128) return JS_ThrowTypeError(ctx, "get WebAssembly.Global.value: Can't get the value of s128 WebAssembly.Global");
  return to_script(ctx, global->type.type, global->places);
}

// wasmGlobalSet(global, value) -> whether it can be set
static JSValue set_global(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  Global *global = JS_GetOpaque2(ctx, argv[0], global_class);
  uint64_t places[2];
  if (!global) return JS_EXCEPTION;
  if (!global->type.is_mutable) return JS_FALSE;
  if (from_script(ctx, global->type.type, argv[1], places) < 0) return JS_EXCEPTION;
  const JSValue old = is_reference(global->type.type) ? global->value : JS_UNDEFINED;
  global->places[0] = places[0];
  JS_FreeValue(ctx, old);
  return JS_TRUE;
}

// wasmTag(prototype, types)
static JSValue make_tag(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  uint8_t types[1000];
  int64_t count;
  if (JS_GetLength(ctx, argv[1], &count) < 0) return JS_EXCEPTION;
  if (count > (int64_t)sizeof types) return JS_ThrowTypeError(ctx, "WebAssembly.Tag(): Argument 0 contains too many parameters");
  for (uint32_t i = 0; i < count; i++) {
    JSValue type = JS_GetPropertyUint32(ctx, argv[1], i);
    uint32_t number = 0;
    if (JS_ToUint32(ctx, &number, type)) return JS_EXCEPTION;
    types[i] = (uint8_t)number;
  }
  const FunctionType *type = function_type(types, (uint32_t)count, NULL, 0);
  return type ? new_tag(ctx, argv[0], type) : JS_ThrowOutOfMemory(ctx);
}

// wasmException(prototype, tag, array of what it carries)
static JSValue make_exception(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const Tag *tag = JS_GetOpaque2(ctx, argv[1], tag_class);
  int64_t count;
  if (!tag || JS_GetLength(ctx, argv[2], &count) < 0) return JS_EXCEPTION;
  const FunctionType *type = tag->type;
  if (count != type->parameters) return JS_ThrowTypeError(ctx, "WebAssembly.Exception(): Number of exception values does not match signature length");
  uint64_t places[1000];
  uint32_t taken = 0;
  JSValue made = type->parameters == type->parameter_places ? JS_UNDEFINED : JS_ThrowTypeError(ctx, "type incompatibility when transforming from/to JS");
  for (; taken < type->parameters && !JS_IsException(made); taken++) {
    JSValue item = JS_GetPropertyUint32(ctx, argv[2], taken);
    if (JS_IsException(item) || from_script(ctx, type->types[taken], item, places + taken) < 0) made = JS_EXCEPTION;
    JS_FreeValue(ctx, item);
    if (JS_IsException(made)) break;
  }
  if (!JS_IsException(made)) made = new_exception(ctx, argv[0], argv[1], type, places);
  for (uint32_t i = 0; i < taken; i++) {
    if (is_reference(type->types[i])) JS_FreeValue(ctx, (JSValue)places[i]);
  }
  return made;
}

// wasmIsOf(exception, tag)
static JSValue is_of(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const Exception *exception = JS_GetOpaque2(ctx, argv[0], exception_class);
  return exception ? JS_NewBool(ctx, JS_VALUE_GET_PTR(exception->tag) == JS_VALUE_GET_PTR(argv[1])) : JS_EXCEPTION;
}

// wasmCarried(exception, index) -> undefined where it carries no so many
static JSValue carried(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const Exception *exception = JS_GetOpaque2(ctx, argv[0], exception_class);
  int64_t index;
  if (!exception || JS_ToInt64(ctx, &index, argv[1])) return JS_EXCEPTION;
  uint32_t place = 0;
  if (index < 0 || index >= exception->type->parameters) return JS_ThrowRangeError(ctx, "WebAssembly.Exception.getArg(): Index out of range");
  for (int64_t i = 0; i < index; i++) place += places_of(exception->type->types[i]);
  if (exception->type->types[index] == V128) return JS_ThrowTypeError(ctx, "type incompatibility when transforming from/to JS");
  return to_script(ctx, exception->type->types[index], exception->places + place);
}

// wasmIsFunction(value): whether it is one that an instance exports
static JSValue is_function(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv) { return JS_NewBool(ctx, function_of(argv[0]) != NULL); }

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("wasmModule", 5, new_module),
  JS_CFUNC_DEF("wasmValidate", 3, validate),
  JS_CFUNC_MAGIC_DEF("wasmImports", 1, list, 0),
  JS_CFUNC_MAGIC_DEF("wasmExports", 1, list, 1),
  JS_CFUNC_DEF("wasmSections", 2, sections),
  JS_CFUNC_DEF("wasmNeedsImports", 1, needs_imports),
  JS_CFUNC_DEF("wasmLink", 3, link_module),
  JS_CFUNC_DEF("wasmMemory", 4, make_memory),
  JS_CFUNC_DEF("wasmGrowMemory", 2, grow_pages),
  JS_CFUNC_DEF("wasmTable", 4, make_table),
  JS_CFUNC_MAGIC_DEF("wasmTableSize", 1, use_table, SIZE),
  JS_CFUNC_MAGIC_DEF("wasmTableGet", 2, use_table, GET),
  JS_CFUNC_MAGIC_DEF("wasmTableSet", 3, use_table, SET),
  JS_CFUNC_MAGIC_DEF("wasmTableGrow", 3, use_table, GROW),
  JS_CFUNC_MAGIC_DEF("wasmTableOfFunctions", 1, use_table, IS_OF_FUNCTIONS),
  JS_CFUNC_DEF("wasmGlobal", 3, make_global),
  JS_CFUNC_DEF("wasmGlobalGet", 1, get_global),
  JS_CFUNC_DEF("wasmGlobalSet", 2, set_global),
  JS_CFUNC_DEF("wasmTag", 2, make_tag),
  JS_CFUNC_DEF("wasmException", 3, make_exception),
  JS_CFUNC_DEF("wasmIsOf", 2, is_of),
  JS_CFUNC_DEF("wasmCarried", 2, carried),
  JS_CFUNC_DEF("wasmIsFunction", 1, is_function),
};

void add_wasm_api(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
