// The objects of WebAssembly as scripts have them, and values on their way between the two.
#include <stdio.h>

#include "host_wasm.h"

JSClassID module_class, instance_class, function_class, memory_class, table_class, global_class, tag_class, exception_class;

typedef struct { Function *function; JSValue instance; } Shown;

// By the order of kinds below.
enum { P_MODULE, P_MEMORY, P_TABLE, P_GLOBAL, P_TAG, P_EXCEPTION, P_COMPILE_ERROR, P_LINK_ERROR, P_RUNTIME_ERROR, P_COUNT };
static JSValue parts[P_COUNT];

// Which no script can detach: see edit.py.
extern JSReallocArrayBufferDataFunc *js_undetachable_buffer;

// wasmParts(prototypes of Module, Memory, Table, Global, Tag, Exception; the three kinds of error)
static JSValue set_parts(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  for (int i = 0; i < P_COUNT && i < argc; i++) parts[i] = JS_DupValue(ctx, argv[i]);
  return JS_UNDEFINED;
}

JSValue throw_wasm(JSContext *ctx, const char *kind, const char *text)
{
  JSValue message = JS_NewString(ctx, text);
  JSValue error = JS_CallConstructor(ctx, parts[kind[0] == 'C' ? P_COMPILE_ERROR : kind[0] == 'L' ? P_LINK_ERROR : P_RUNTIME_ERROR], 1, (JSValueConst *)&message);
  JS_FreeValue(ctx, message);
  return JS_IsException(error) ? error : JS_Throw(ctx, error);
}

static void *allocate(JSContext *ctx, size_t size)
{
  void *made = calloc(1, size);
  if (!made) JS_ThrowOutOfMemory(ctx);
  return made;
}

// An object around what was allocated for it, which it frees.
static JSValue object_around(JSContext *ctx, JSValueConst prototype, int part, JSClassID class, void *inside)
{
  if (!inside) return JS_EXCEPTION;
  const JSValue object = JS_NewObjectProtoClass(ctx, JS_IsUndefined(prototype) ? parts[part] : prototype, class);
  if (JS_IsException(object)) free(inside);
  else JS_SetOpaque(object, inside);
  return object;
}

static void drop_block(Block *block)
{
  if (--block->references > 0) return;
  free(block->bytes);
  free(block);
}

static void *free_buffer(JSRuntime *runtime, void *opaque, void *bytes, size_t size)
{
  if (size == 0) drop_block(opaque);
  return NULL;
}

// The engine collects by what it has allocated itself, and of a memory that is next to nothing: it is told of those from here. What only its own cycles hold
// goes then; and so it does where there is no room for another one.
static void *allocate_memory(JSContext *ctx, size_t size)
{
  enum { between = 64 << 20 };
  static uint64_t since;
  void *made = NULL;
  if ((since += size) <= between) made = calloc(1, size);
  if (made) return made;
  since = size;
  JS_RunGC(JS_GetRuntime(ctx));
  return calloc(1, size);
}

JSValue new_memory(JSContext *ctx, JSValueConst prototype, Limits limits)
{
  Memory *memory = allocate(ctx, sizeof *memory);
  const JSValue object = object_around(ctx, prototype, P_MEMORY, memory_class, memory);
  if (JS_IsException(object)) return object;
  memory->buffer = JS_UNDEFINED;
  memory->limits = limits;
  // One that is shared stays where it is.
  memory->size = (uint64_t)limits.least * page_bytes;
  memory->room = limits.is_shared ? (uint64_t)limits.most * page_bytes : memory->size;
  memory->block = memory->room <= INT32_MAX ? calloc(1, sizeof *memory->block) : NULL;
  if (memory->block) {
    memory->block->references = 1;
    memory->block->bytes = memory->data = allocate_memory(ctx, (size_t)memory->room + 1);
  }
  if (memory->data) return object;
  JS_FreeValue(ctx, object);
  return JS_ThrowRangeError(ctx, "WebAssembly.Memory(): could not allocate memory");
}

static void free_memory(JSRuntime *runtime, JSValueConst object)
{
  Memory *memory = JS_GetOpaque(object, memory_class);
  if (!memory) return;
  JS_FreeValueRT(runtime, memory->buffer);
  if (memory->block) drop_block(memory->block);
  free(memory);
}

static void mark_memory(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  Memory *memory = JS_GetOpaque(object, memory_class);
  if (memory) JS_MarkValue(runtime, memory->buffer, mark);
}

static JSValue buffer_of(JSContext *ctx, Memory *memory)
{
  if (JS_IsUndefined(memory->buffer)) {
    memory->block->references++;
    JSValue buffer = JS_NewArrayBuffer(ctx, memory->data, (size_t)memory->size, 0, free_buffer, memory->block, memory->limits.is_shared);
    if (JS_IsException(buffer)) {
      drop_block(memory->block);
      return buffer;
    }
    memory->buffer = buffer;
  }
  return JS_DupValue(ctx, memory->buffer);
}

// The bytes from the old end on are 0. False where there is no memory.
static bool make_room(Memory *memory, uint64_t size)
{
  if (size > memory->room) {
    const uint64_t most = memory->limits.has_most ? (uint64_t)memory->limits.most * page_bytes : INT32_MAX;
    uint64_t room = size + size / 8;
    if (room > most || room > INT32_MAX) room = size;
    uint8_t *more = realloc(memory->data, (size_t)room + 1);
    if (!more && room > size) more = realloc(memory->data, (size_t)(room = size) + 1);
    if (!more) return false;
    memory->block->bytes = memory->data = more;
    memory->room = room;
  }
  memset(memory->data + memory->size, 0, (size_t)(size - memory->size));
  return true;
}

// How many pages there were; -1 where it cannot be so many.
int64_t grow_memory(JSContext *ctx, Memory *memory, uint64_t pages)
{
  const uint64_t before = memory->size / page_bytes, most = memory->limits.has_most ? memory->limits.most : most_pages;
  if (pages > most || before + pages > most || (before + pages) * page_bytes > INT32_MAX) return -1;
  if (!memory->limits.is_shared) {
    const uint64_t size = (before + pages) * page_bytes;
    if (!make_room(memory, size)) {
      JS_RunGC(JS_GetRuntime(ctx));
      if (!make_room(memory, size)) return -1;
    }
    // It may lie elsewhere now, and is no longer as long as the script has seen it.
    JS_DetachArrayBuffer(ctx, memory->buffer);
  }
  JS_FreeValue(ctx, memory->buffer);
  memory->buffer = JS_UNDEFINED;
  memory->size = (before + pages) * page_bytes;
  return (int64_t)before;
}

JSValue new_table(JSContext *ctx, JSValueConst prototype, TableType type)
{
  Table *table = allocate(ctx, sizeof *table);
  const JSValue object = object_around(ctx, prototype, P_TABLE, table_class, table);
  if (JS_IsException(object)) return object;
  table->type = type;
  if (grow_table(ctx, table, type.limits.least, JS_NULL) >= 0) return object;
  JS_FreeValue(ctx, object);
  return JS_ThrowRangeError(ctx, "WebAssembly.Table(): could not allocate memory");
}

int64_t grow_table(JSContext *ctx, Table *table, uint64_t count, JSValueConst value)
{
  const uint32_t before = table->size, most = table->type.limits.has_most && table->type.limits.most < most_elements ? table->type.limits.most : most_elements;
  if (count > most || before + count > most) return -1;
  const uint32_t size = before + (uint32_t)count;
  if (size > table->room) {
    const uint32_t room = before && size < most - size / 4 ? size + size / 4 : size;
    Element *more = realloc(table->elements, room * sizeof *more);
    if (!more) return -1;
    table->elements = more;
    table->room = room;
  }
  for (uint32_t i = before; i < size; i++) table->elements[i] = (Element){ NULL, JS_NULL };
  table->size = size;
  for (uint32_t i = before; i < size && !JS_IsNull(value); i++) set_element(ctx, table, i, value);
  return before;
}

static void replace_element(JSContext *ctx, Table *table, uint32_t at, Element element)
{
  const JSValue old = table->elements[at].value;
  table->elements[at] = element;
  JS_FreeValue(ctx, old);
}

void set_function_element(JSContext *ctx, Table *table, uint32_t at, Function *function)
{
  replace_element(ctx, table, at, (Element){ function, JS_DupValue(ctx, function->instance->self) });
}

void set_element(JSContext *ctx, Table *table, uint32_t at, JSValueConst value)
{
  Function *function = table->type.element == FUNCREF ? function_of(value) : NULL;
  if (function) set_function_element(ctx, table, at, function);
  else replace_element(ctx, table, at, (Element){ NULL, JS_DupValue(ctx, value) });
}

JSValue element_of(JSContext *ctx, Table *table, uint32_t at)
{
  const Element *element = &table->elements[at];
  return element->function ? object_of_function(ctx, element->function) : JS_DupValue(ctx, element->value);
}

static void free_table(JSRuntime *runtime, JSValueConst object)
{
  Table *table = JS_GetOpaque(object, table_class);
  if (!table) return;
  for (uint32_t i = 0; i < table->size; i++) JS_FreeValueRT(runtime, table->elements[i].value);
  free(table->elements);
  free(table);
}

static void mark_table(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  Table *table = JS_GetOpaque(object, table_class);
  for (uint32_t i = 0; table && i < table->size; i++) JS_MarkValue(runtime, table->elements[i].value, mark);
}

JSValue new_global(JSContext *ctx, JSValueConst prototype, GlobalType type)
{
  Global *global = allocate(ctx, sizeof *global);
  const JSValue object = object_around(ctx, prototype, P_GLOBAL, global_class, global);
  if (JS_IsException(object)) return object;
  global->type = type;
  if (is_reference(type.type)) global->value = JS_NULL;
  return object;
}

static void free_global(JSRuntime *runtime, JSValueConst object)
{
  Global *global = JS_GetOpaque(object, global_class);
  if (global && is_reference(global->type.type)) JS_FreeValueRT(runtime, global->value);
  free(global);
}

static void mark_global(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  Global *global = JS_GetOpaque(object, global_class);
  if (global && is_reference(global->type.type)) JS_MarkValue(runtime, global->value, mark);
}

JSValue new_tag(JSContext *ctx, JSValueConst prototype, const FunctionType *type)
{
  Tag *tag = allocate(ctx, sizeof *tag);
  if (tag) tag->type = type;
  return object_around(ctx, prototype, P_TAG, tag_class, tag);
}

static void free_tag(JSRuntime *runtime, JSValueConst object) { free(JS_GetOpaque(object, tag_class)); }

JSValue new_exception(JSContext *ctx, JSValueConst prototype, JSValueConst tag, const FunctionType *type, const uint64_t *places)
{
  Exception *exception = allocate(ctx, sizeof *exception + type->parameter_places * sizeof *places);
  if (!exception) return JS_EXCEPTION;
  exception->type = type;
  exception->tag = JS_UNDEFINED;
  memcpy(exception->places, places, type->parameter_places * sizeof *places);
  const JSValue object = JS_NewObjectProtoClass(ctx, JS_IsUndefined(prototype) ? parts[P_EXCEPTION] : prototype, exception_class);
  if (JS_IsException(object)) {
    free(exception);
    return object;
  }
  exception->tag = JS_DupValue(ctx, tag);
  for (uint32_t i = 0, place = 0; i < type->parameters; place += places_of(type->types[i++])) {
    if (is_reference(type->types[i])) JS_DupValue(ctx, (JSValue)places[place]);
  }
  JS_SetOpaque(object, exception);
  return object;
}

static void free_exception(JSRuntime *runtime, JSValueConst object)
{
  Exception *exception = JS_GetOpaque(object, exception_class);
  if (!exception) return;
  JS_FreeValueRT(runtime, exception->tag);
  for (uint32_t i = 0, place = 0; i < exception->type->parameters; place += places_of(exception->type->types[i++])) {
    if (is_reference(exception->type->types[i])) JS_FreeValueRT(runtime, (JSValue)exception->places[place]);
  }
  free(exception);
}

static void mark_exception(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  Exception *exception = JS_GetOpaque(object, exception_class);
  if (!exception) return;
  JS_MarkValue(runtime, exception->tag, mark);
  for (uint32_t i = 0, place = 0; i < exception->type->parameters; place += places_of(exception->type->types[i++])) {
    if (is_reference(exception->type->types[i])) JS_MarkValue(runtime, (JSValue)exception->places[place], mark);
  }
}

static void end_module(JSRuntime *runtime, JSValueConst object)
{
  Module *module = JS_GetOpaque(object, module_class);
  if (module) free_module(module);
}

static void free_instance(JSRuntime *runtime, JSValueConst object)
{
  Instance *instance = JS_GetOpaque(object, instance_class);
  if (!instance) return;
  for (uint32_t i = 0; i < instance->own_count; i++) {
    JS_FreeValueRT(runtime, instance->own[i].host);
    JS_FreeValueRT(runtime, instance->own[i].object);
  }
  for (uint32_t i = 0; i < instance->held_count; i++) JS_FreeValueRT(runtime, instance->held[i]);
  void *pieces[] = { instance->own, instance->functions, instance->tables, instance->globals, instance->tags, instance->is_dropped_element, instance->is_dropped_data, instance->held, instance->tag_objects };
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) free(pieces[i]);
  free_module(instance->module);
  free(instance);
}

static void mark_instance(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  Instance *instance = JS_GetOpaque(object, instance_class);
  if (!instance) return;
  for (uint32_t i = 0; i < instance->own_count; i++) {
    JS_MarkValue(runtime, instance->own[i].host, mark);
    JS_MarkValue(runtime, instance->own[i].object, mark);
  }
  for (uint32_t i = 0; i < instance->held_count; i++) JS_MarkValue(runtime, instance->held[i], mark);
}

static void free_shown(JSRuntime *runtime, JSValueConst object)
{
  Shown *shown = JS_GetOpaque(object, function_class);
  if (shown) JS_FreeValueRT(runtime, shown->instance);
  free(shown);
}

static void mark_shown(JSRuntime *runtime, JSValueConst object, JS_MarkFunc *mark)
{
  Shown *shown = JS_GetOpaque(object, function_class);
  if (shown) JS_MarkValue(runtime, shown->instance, mark);
}

Function *function_of(JSValueConst value)
{
  const Shown *shown = JS_GetOpaque(value, function_class);
  return shown ? shown->function : NULL;
}

// There is one for each function, for as long as its instance is there.
JSValue object_of_function(JSContext *ctx, Function *function)
{
  if (!JS_IsUndefined(function->object)) return JS_DupValue(ctx, function->object);
  Shown *shown = allocate(ctx, sizeof *shown);
  if (!shown) return JS_EXCEPTION;
  JSValue base = JS_GetFunctionProto(function->instance->context);
  const JSValue object = JS_NewObjectProtoClass(ctx, base, function_class);
  JS_FreeValue(ctx, base);
  if (JS_IsException(object)) {
    free(shown);
    return object;
  }
  shown->function = function;
  shown->instance = JS_DupValue(ctx, function->instance->self);
  JS_SetOpaque(object, shown);
  char name[16];
  snprintf(name, sizeof name, "%u", function->index);
  JS_DefinePropertyValueStr(ctx, object, "length", JS_NewUint32(ctx, function->type->parameters), JS_PROP_CONFIGURABLE);
  JS_DefinePropertyValueStr(ctx, object, "name", JS_NewString(ctx, name), JS_PROP_CONFIGURABLE);
  function->object = JS_DupValue(ctx, object);
  return object;
}

JSValue to_script(JSContext *ctx, uint8_t type, const uint64_t *places)
{
  float single;
  double number;
  switch (type) {
    case I32: return JS_NewInt32(ctx, (int32_t)places[0]);
    case I64: return JS_NewBigInt64(ctx, (int64_t)places[0]);
    case F32: memcpy(&single, places, sizeof single); return JS_NewFloat64(ctx, (double)single);
    case F64: memcpy(&number, places, sizeof number); return JS_NewFloat64(ctx, number);
    default: return JS_DupValue(ctx, (JSValue)places[0]);
  }
}

static int no_bigint(JSContext *ctx, JSValueConst value)
{
  const char *text = JS_ToCString(ctx, value);
  if (text) JS_ThrowTypeError(ctx, "Cannot convert %s to a BigInt", text);
  JS_FreeCString(ctx, text);
  return -1;
}

// A reference is the place's own: see keep_reference.
int from_script(JSContext *ctx, uint8_t type, JSValueConst value, uint64_t *places)
{
  double number;
  float single;
  int32_t small;
  int64_t big;
  switch (type) {
    case I32:
      if (JS_ToInt32(ctx, &small, value)) return -1;
      places[0] = (uint32_t)small;
      return 0;
    case I64:
      if (JS_IsNumber(value) || JS_IsUndefined(value) || JS_IsNull(value)) return no_bigint(ctx, value);
      if (JS_ToBigInt64(ctx, &big, value)) return -1;
      places[0] = (uint64_t)big;
      return 0;
    case F32:
      if (JS_ToFloat64(ctx, &number, value)) return -1;
      single = (float)number;
      places[0] = 0;
      memcpy(places, &single, sizeof single);
      return 0;
    case F64:
      if (JS_ToFloat64(ctx, &number, value)) return -1;
      memcpy(places, &number, sizeof number);
      return 0;
    case FUNCREF:
      if (!JS_IsNull(value) && !function_of(value)) break;
      // fallthrough
    case EXTERNREF: places[0] = (uint64_t)JS_DupValue(ctx, value); return 0;
    default: break;
  }
  JS_ThrowTypeError(ctx, "type incompatibility when transforming from/to JS");
  return -1;
}

static int keep_from_script(JSContext *ctx, uint8_t type, JSValueConst value, uint64_t *places)
{
  if (from_script(ctx, type, value, places) < 0) return -1;
  if (is_reference(type)) keep_reference(ctx, (JSValue)places[0]);
  return 0;
}

static bool has_vectors(const FunctionType *type)
{
  return type->parameters != type->parameter_places || type->results != type->result_places;
}

static JSValue results_to_script(JSContext *ctx, const FunctionType *type, const uint64_t *places)
{
  const uint8_t *types = type->types + type->parameters;
  if (type->results == 0) return JS_UNDEFINED;
  if (type->results == 1) return to_script(ctx, types[0], places);
  JSValue array = JS_NewArray(ctx);
  for (uint32_t i = 0; i < type->results; i++) JS_DefinePropertyValueUint32(ctx, array, i, to_script(ctx, types[i], places + i), JS_PROP_C_W_E);
  return array;
}

static JSValue call_shown(JSContext *ctx, JSValueConst object, JSValueConst self, int argc, JSValueConst *argv, int flags)
{
  Function *function = function_of(object);
  const FunctionType *type = function->type;
  if (has_vectors(type)) return JS_ThrowTypeError(ctx, "type incompatibility when transforming from/to JS");
  uint64_t *places = free_places(ctx, type->parameters > type->results ? type->parameters : type->results);
  if (!places) return JS_EXCEPTION;
  enter_program();
  JSValue result = JS_UNDEFINED;
  for (uint32_t i = 0; i < type->parameters && !JS_IsException(result); i++) {
    if (keep_from_script(ctx, type->types[i], (int)i < argc ? argv[i] : JS_UNDEFINED, places + i) < 0) result = JS_EXCEPTION;
  }
  if (!JS_IsException(result)) result = call_function(ctx, function, places) < 0 ? JS_EXCEPTION : results_to_script(ctx, type, places);
  give_places_back(places);
  leave_program(ctx);
  return result;
}

static JSValue all_of(JSContext *ctx, JSValueConst iterable)
{
  JSValue global = JS_GetGlobalObject(ctx), class = JS_GetPropertyStr(ctx, global, "Array"), from = JS_GetPropertyStr(ctx, class, "from");
  JSValue array = JS_IsObject(iterable) ? JS_Call(ctx, from, class, 1, &iterable) : JS_ThrowTypeError(ctx, "multi-return value must be iterable");
  JS_FreeValue(ctx, from);
  JS_FreeValue(ctx, class);
  JS_FreeValue(ctx, global);
  return array;
}

static int take_results(JSContext *ctx, const FunctionType *type, JSValueConst value, uint64_t *places)
{
  const uint8_t *types = type->types + type->parameters;
  if (type->results == 0) return 0;
  if (type->results == 1) return keep_from_script(ctx, types[0], value, places);
  JSValue array = all_of(ctx, value);
  int64_t count = 0;
  int done = JS_IsException(array) || JS_GetLength(ctx, array, &count) < 0 ? -1 : 0;
  if (!done && count != type->results) {
    JS_ThrowTypeError(ctx, "multi-return length mismatch");
    done = -1;
  }
  for (uint32_t i = 0; i < type->results && !done; i++) {
    JSValue item = JS_GetPropertyUint32(ctx, array, i);
    if (JS_IsException(item) || keep_from_script(ctx, types[i], item, places + i) < 0) done = -1;
    JS_FreeValue(ctx, item);
  }
  JS_FreeValue(ctx, array);
  return done;
}

// A function of JavaScript that a program has imported.
int call_host(JSContext *ctx, Function *function, uint64_t *places)
{
  const FunctionType *type = function->type;
  JSValue few[8], *arguments = few;
  if (has_vectors(type)) {
    JS_ThrowTypeError(ctx, "type incompatibility when transforming from/to JS");
    return -1;
  }
  if (type->parameters > 8) arguments = malloc(type->parameters * sizeof *arguments);
  if (!arguments) {
    JS_ThrowOutOfMemory(ctx);
    return -1;
  }
  for (uint32_t i = 0; i < type->parameters; i++) arguments[i] = to_script(ctx, type->types[i], places + i);
  JSValue result = JS_Call(function->instance->context, function->host, JS_UNDEFINED, (int)type->parameters, (JSValueConst *)arguments);
  for (uint32_t i = 0; i < type->parameters; i++) JS_FreeValue(ctx, arguments[i]);
  if (arguments != few) free(arguments);
  if (JS_IsException(result)) return -1;
  const int done = take_results(ctx, type, result, places);
  JS_FreeValue(ctx, result);
  return done;
}

static JSValue memory_buffer(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  Memory *memory = JS_GetOpaque2(ctx, argv[0], memory_class);
  return memory ? buffer_of(ctx, memory) : JS_EXCEPTION;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("wasmParts", P_COUNT, set_parts),
  JS_CFUNC_DEF("wasmBuffer", 1, memory_buffer),
};

static const JSClassDef definitions[] = {
  { "WebAssembly.Module", end_module, NULL, NULL, NULL },
  { "WebAssembly instance", free_instance, mark_instance, NULL, NULL },
  { "WebAssembly function", free_shown, mark_shown, call_shown, NULL },
  { "WebAssembly.Memory", free_memory, mark_memory, NULL, NULL },
  { "WebAssembly.Table", free_table, mark_table, NULL, NULL },
  { "WebAssembly.Global", free_global, mark_global, NULL, NULL },
  { "WebAssembly.Tag", free_tag, NULL, NULL, NULL },
  { "WebAssembly.Exception", free_exception, mark_exception, NULL, NULL },
};

void add_wasm_functions(JSContext *ctx, JSValueConst native)
{
  JSClassID *classes[] = { &module_class, &instance_class, &function_class, &memory_class, &table_class, &global_class, &tag_class, &exception_class };
  JSRuntime *runtime = JS_GetRuntime(ctx);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) JS_NewClass(runtime, JS_NewClassID(runtime, classes[i]), &definitions[i]);
  js_undetachable_buffer = free_buffer;
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
  add_wasm_api(ctx, native);
}
