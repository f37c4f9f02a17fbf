// Makes an instance of a module: looks for what it imports, makes what is its own, writes its segments and calls its start function.
#include <stdio.h>

#include "host_wasm_reader.h"

typedef struct { JSContext *ctx; Instance *instance; const Module *module; JSValueConst self, imports; const char *where; uint32_t at, own, counts[5]; } Link;

__attribute__((format(printf, 2, 3))) static bool refuse(Link *link, const char *format, ...)
{
  char text[300], whole[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(whole, sizeof whole, "%s: %s", link->where, text);
  throw_wasm(link->ctx, "LinkError", whole);
  return false;
}

#define TEXT(bytes) (int)((bytes).to - (bytes).from < 80 ? (bytes).to - (bytes).from : 80), (const char *)(bytes).from

static bool refuse_import(Link *link, const Import *import, const char *text)
{
  return refuse(link, "Import #%u module=\"%.*s\" function=\"%.*s\" error: %s", link->at, TEXT(import->module), TEXT(import->name), text);
}

static void hold(Link *link, JSValue value) { link->instance->held[link->instance->held_count++] = value; }

static Function *new_function(Link *link, const FunctionType *type, uint32_t index)
{
  Function *function = &link->instance->own[link->instance->own_count++];
  *function = (Function){ .instance = link->instance, .type = type, .host = JS_UNDEFINED, .object = JS_UNDEFINED, .index = index };
  return function;
}

static bool import_function(Link *link, const Import *import, JSValueConst value)
{
  const FunctionType *type = link->module->functions[import->index];
  if (!JS_IsFunction(link->ctx, value)) return refuse_import(link, import, "function import requires a callable");
  Function *function = function_of(value);
  if (function && function->type != type) return refuse_import(link, import, "imported function does not match the expected type");
  if (!function) {
    function = new_function(link, type, import->index);
    function->host = JS_DupValue(link->ctx, value);
  } else {
    hold(link, JS_DupValue(link->ctx, value));
  }
  link->instance->functions[import->index] = function;
  return true;
}

static bool import_table(Link *link, const Import *import, JSValueConst value)
{
  const TableType type = link->module->tables[import->index];
  Table *table = JS_GetOpaque(value, table_class);
  if (!table) return refuse_import(link, import, "table import requires a WebAssembly.Table");
  if (table->size < type.limits.least) return refuse(link, "table import %u is smaller than initial %u, got %u", link->at, type.limits.least, table->size);
  if (type.limits.has_most && !table->type.limits.has_most) return refuse(link, "table import %u has no maximum length, expected %u", link->at, type.limits.most);
  if (type.limits.has_most && table->type.limits.most > type.limits.most) {
    return refuse(link, "table import %u has a larger maximum size %x than the module's declared maximum %u", link->at, table->type.limits.most, type.limits.most);
  }
  if (table->type.element != type.element) return refuse_import(link, import, "imported table does not match the expected type");
  link->instance->tables[import->index] = table;
  hold(link, JS_DupValue(link->ctx, value));
  return true;
}

static bool import_memory(Link *link, const Import *import, JSValueConst value)
{
  const Limits limits = link->module->memories[import->index];
  Memory *memory = JS_GetOpaque(value, memory_class);
  if (!memory) return refuse_import(link, import, "memory import must be a WebAssembly.Memory object");
  const uint32_t pages = (uint32_t)(memory->size / page_bytes);
  if (pages < limits.least) return refuse(link, "memory import %u is smaller than initial %u, got %u", link->at, limits.least, pages);
  if (limits.has_most && !memory->limits.has_most) return refuse(link, "memory import %u has no maximum limit, expected at most %u", link->at, limits.most);
  if (limits.has_most && memory->limits.most > limits.most) {
    return refuse(link, "memory import %u has a larger maximum size %u than the module's declared maximum %u", link->at, memory->limits.most, limits.most);
  }
  if (memory->limits.is_shared != limits.is_shared) return refuse(link, "mismatch in shared state of memory, declared = %d, imported = %d", limits.is_shared, memory->limits.is_shared);
  link->instance->memory = memory;
  hold(link, JS_DupValue(link->ctx, value));
  return true;
}

static bool is_number_for(JSValueConst value, uint8_t type)
{
  if (type == I64) return JS_IsBigInt(value);
  return JS_IsNumber(value) && (type == I32 || type == F32 || type == F64);
}

static bool import_global(Link *link, const Import *import, JSValueConst value)
{
  const GlobalType type = link->module->globals[import->index];
  Global *global = JS_GetOpaque(value, global_class);
  if (global) {
    if (global->type.is_mutable != type.is_mutable) return refuse_import(link, import, "imported global does not match the expected mutability");
    if (global->type.type != type.type) return refuse_import(link, import, "imported global does not match the expected type");
    link->instance->globals[import->index] = global;
    hold(link, JS_DupValue(link->ctx, value));
    return true;
  }
  if (type.is_mutable) return refuse_import(link, import, "imported mutable global must be a WebAssembly.Global object");
  if (type.type == V128) return refuse_import(link, import, "global import of type v128 must be a WebAssembly.Global");
  if (type.type == FUNCREF && !JS_IsNull(value) && !function_of(value)) return refuse_import(link, import, "function-typed object must be null (if nullable) or a Wasm function object");
  if (!is_reference(type.type) && !is_number_for(value, type.type)) return refuse_import(link, import, "global import must be a number, valid Wasm reference, or WebAssembly.Global object");
  const JSValue object = new_global(link->ctx, JS_UNDEFINED, type);
  if (JS_IsException(object)) return false;
  hold(link, object);
  global = link->instance->globals[import->index] = JS_GetOpaque(object, global_class);
  return from_script(link->ctx, type.type, value, global->places) == 0;
}

static bool import_tag(Link *link, const Import *import, JSValueConst value)
{
  Tag *tag = JS_GetOpaque(value, tag_class);
  if (!tag) return refuse_import(link, import, "tag import requires a WebAssembly.Tag");
  if (tag->type != link->module->tags[import->index]) return refuse_import(link, import, "imported tag does not match the expected type");
  link->instance->tags[import->index] = tag;
  link->instance->tag_objects[import->index] = JS_DupValue(link->ctx, value);
  hold(link, link->instance->tag_objects[import->index]);
  return true;
}

static bool import_value(Link *link, const Import *import, JSValueConst value)
{
  switch (import->kind) {
    case OF_FUNCTION: return import_function(link, import, value);
    case OF_TABLE: return import_table(link, import, value);
    case OF_MEMORY: return import_memory(link, import, value);
    case OF_GLOBAL: return import_global(link, import, value);
    default: return import_tag(link, import, value);
  }
}

static JSValue member(JSContext *ctx, JSValueConst object, Bytes name)
{
  const JSAtom atom = JS_NewAtomLen(ctx, (const char *)name.from, (size_t)(name.to - name.from));
  const JSValue value = JS_GetProperty(ctx, object, atom);
  JS_FreeAtom(ctx, atom);
  return value;
}

// All are read before the first is looked at, as a getter may do anything.
static bool import_all(Link *link)
{
  JSContext *ctx = link->ctx;
  JSValue values = JS_NewArray(ctx);
  bool good = !JS_IsException(values);
  for (uint32_t i = 0; good && i < link->module->import_count; i++) {
    const Import *import = &link->module->imports[i];
    JSValue from = member(ctx, link->imports, import->module);
    if (JS_IsException(from)) good = false;
    else if (!JS_IsObject(from)) {
      JS_ThrowTypeError(ctx, "%s: Import #%u module=\"%.*s\" error: module is not an object or function", link->where, i, TEXT(import->module));
      good = false;
    } else {
      const JSValue value = member(ctx, from, import->name);
      good = !JS_IsException(value) && JS_DefinePropertyValueUint32(ctx, values, i, value, JS_PROP_C_W_E) >= 0;
    }
    JS_FreeValue(ctx, from);
  }
  for (link->at = 0; good && link->at < link->module->import_count; link->at++) {
    JSValue value = JS_GetPropertyUint32(ctx, values, link->at);
    good = import_value(link, &link->module->imports[link->at], value);
    JS_FreeValue(ctx, value);
  }
  JS_FreeValue(ctx, values);
  return good;
}

// What is computed has at most so many values at a time: see take_constant.
bool constant_of(JSContext *ctx, Instance *instance, Bytes expression, uint64_t *places)
{
  uint64_t stack[16] = { 0 };
  uint32_t height = 0;
  Problem problem = { .failed = false };
  Reader reader = { expression.from, expression.from, expression.to, &problem };
  for (;;) {
    const uint8_t operation = take_byte(&reader);
    switch (operation) {
      case 0x41: stack[height++] = (uint32_t)take_leb(&reader, 32, true); break;
      case 0x42: stack[height++] = take_leb(&reader, 64, true); break;
      case 0x43: memcpy(&stack[height++], take_bytes(&reader, 4).from, 4); break;
      case 0x44: memcpy(&stack[height++], take_bytes(&reader, 8).from, 8); break;
      case 0xfd:
        take_u32(&reader);
        memcpy(places, take_bytes(&reader, 16).from, 16);
        return true;
      case 0xd0: take_byte(&reader); stack[height++] = (uint64_t)JS_NULL; break;
      case 0xd2: {
        const JSValue function = object_of_function(ctx, instance->functions[take_u32(&reader)]);
        if (JS_IsException(function)) return false;
        stack[height++] = (uint64_t)function;
        break;
      }
      case 0x23: {
        const Global *global = instance->globals[take_u32(&reader)];
        if (global->type.type == V128) {
          memcpy(places, global->places, 16);
          return true;
        }
        stack[height++] = is_reference(global->type.type) ? (uint64_t)JS_DupValue(ctx, global->value) : global->places[0];
        break;
      }
      case 0x6a: case 0x6b: case 0x6c: case 0x7c: case 0x7d: case 0x7e: {
        const uint64_t second = stack[--height], first = stack[--height];
        const uint32_t kind = operation % 0x12;
        stack[height++] = kind == 0x6a % 0x12 ? first + second : kind == 0x6b % 0x12 ? first - second : first * second;
        break;
      }
      default: places[0] = stack[0]; return true;
    }
  }
}

static bool make_own(Link *link)
{
  JSContext *ctx = link->ctx;
  Instance *instance = link->instance;
  const Module *module = link->module;
  for (uint32_t i = module->imported_functions; i < module->function_count; i++) {
    Function *function = instance->functions[i] = new_function(link, module->functions[i], i);
    function->code = &module->codes[i - module->imported_functions];
  }
  for (uint32_t i = module->imported_tables; i < module->table_count; i++) {
    const JSValue table = new_table(ctx, JS_UNDEFINED, module->tables[i]);
    if (JS_IsException(table)) return false;
    hold(link, table);
    instance->tables[i] = JS_GetOpaque(table, table_class);
  }
  if (module->memory_count > module->imported_memories) {
    const JSValue memory = new_memory(ctx, JS_UNDEFINED, module->memories[module->imported_memories]);
    if (JS_IsException(memory)) return false;
    hold(link, memory);
    instance->memory = JS_GetOpaque(memory, memory_class);
  }
  for (uint32_t i = module->imported_tags; i < module->tag_count; i++) {
    const JSValue tag = new_tag(ctx, JS_UNDEFINED, module->tags[i]);
    if (JS_IsException(tag)) return false;
    hold(link, tag);
    instance->tag_objects[i] = tag;
    instance->tags[i] = JS_GetOpaque(tag, tag_class);
  }
  for (uint32_t i = module->imported_globals; i < module->global_count; i++) {
    const JSValue global = new_global(ctx, JS_UNDEFINED, module->globals[i]);
    if (JS_IsException(global)) return false;
    hold(link, global);
    instance->globals[i] = JS_GetOpaque(global, global_class);
    if (!constant_of(ctx, instance, module->initial[i - module->imported_globals], instance->globals[i]->places)) return false;
  }
  return true;
}

static JSValue exported(Link *link, const Export *export)
{
  JSContext *ctx = link->ctx;
  Instance *instance = link->instance;
  void *wanted = export->kind == OF_TABLE ? (void *)instance->tables[export->index] : export->kind == OF_MEMORY ? (void *)instance->memory : export->kind == OF_GLOBAL ?
    (void *)instance->globals[export->index] : NULL;
  if (export->kind == OF_FUNCTION) return object_of_function(ctx, instance->functions[export->index]);
  if (export->kind == OF_TAG) return JS_DupValue(ctx, instance->tag_objects[export->index]);
  JSClassID class;
  for (uint32_t i = 0; i < instance->held_count; i++) {
    if (JS_GetAnyOpaque(instance->held[i], &class) == wanted) return JS_DupValue(ctx, instance->held[i]);
  }
  return JS_UNDEFINED;
}

static JSValue export_all(Link *link)
{
  JSContext *ctx = link->ctx;
  JSValue exports = JS_NewObjectProto(ctx, JS_NULL);
  for (uint32_t i = 0; !JS_IsException(exports) && i < link->module->export_count; i++) {
    const Export *export = &link->module->exports[i];
    const JSAtom name = JS_NewAtomLen(ctx, (const char *)export->name.from, (size_t)(export->name.to - export->name.from));
    const JSValue value = exported(link, export);
    if (JS_IsException(value) || JS_DefinePropertyValue(ctx, exports, name, value, JS_PROP_ENUMERABLE) < 0) {
      JS_FreeValue(ctx, exports);
      exports = JS_EXCEPTION;
    }
    JS_FreeAtom(ctx, name);
  }
  if (!JS_IsException(exports)) JS_PreventExtensions(ctx, exports);
  return exports;
}

static bool out_of(Link *link, const char *what)
{
  char text[200];
  snprintf(text, sizeof text, "%s: %s", link->where, what);
  throw_trap(link->ctx, text);
  return false;
}

// A segment that does not fit ends it; what the ones before it wrote stays.
static bool write_segments(Link *link)
{
  Instance *instance = link->instance;
  const Module *module = link->module;
  uint64_t offset[2];
  for (uint32_t i = 0; i < module->element_count; i++) {
    const ElementSegment *segment = &module->elements[i];
    if (segment->mode == 0) {
      if (!constant_of(link->ctx, instance, segment->offset, offset)) return false;
      if ((offset[0] & 0xffffffff) + segment->count > instance->tables[segment->table]->size) return out_of(link, "table index is out of bounds");
      uint64_t operands[3] = { offset[0] & 0xffffffff, 0, segment->count };
      if (slow_operation(link->ctx, instance, 0xfc0c, operands, i, segment->table) < 0) return false;
    }
    instance->is_dropped_element[i] = segment->mode != 1;
  }
  for (uint32_t i = 0; i < module->data_count; i++) {
    const DataSegment *segment = &module->data[i];
    if (segment->mode != 0) continue;
    const uint64_t size = (uint64_t)(segment->bytes.to - segment->bytes.from);
    if (!constant_of(link->ctx, instance, segment->offset, offset)) return false;
    offset[0] &= 0xffffffff;
    if (offset[0] + size > instance->memory->size) return out_of(link, "data segment is out of bounds");
    if (size) memcpy(instance->memory->data + offset[0], segment->bytes.from, size);
    instance->is_dropped_data[i] = 1;
  }
  return true;
}

static bool start(Link *link)
{
  if (link->module->start < 0) return true;
  uint64_t *places = free_places(link->ctx, 1);
  if (!places) return false;
  enter_program();
  const int done = call_function(link->ctx, link->instance->functions[link->module->start], places);
  give_places_back(places);
  leave_program(link->ctx);
  return done == 0;
}

static void *room_for(size_t count, size_t each, bool *good)
{
  void *room = calloc(count + 1, each);
  if (!room) *good = false;
  return room;
}

static Instance *new_instance(JSContext *ctx, Module *module)
{
  Instance *instance = calloc(1, sizeof *instance);
  if (!instance) return NULL;
  bool good = true;
  instance->module = module;
  instance->context = ctx;
  module->references++;
  instance->own = room_for(module->function_count, sizeof *instance->own, &good);
  instance->functions = room_for(module->function_count, sizeof *instance->functions, &good);
  instance->tables = room_for(module->table_count, sizeof *instance->tables, &good);
  instance->globals = room_for(module->global_count, sizeof *instance->globals, &good);
  instance->tags = room_for(module->tag_count, sizeof *instance->tags, &good);
  instance->tag_objects = room_for(module->tag_count, sizeof *instance->tag_objects, &good);
  instance->is_dropped_element = room_for(module->element_count, 1, &good);
  instance->is_dropped_data = room_for(module->data_count, 1, &good);
  instance->held = room_for(module->import_count + module->table_count + module->memory_count + module->global_count + module->tag_count, sizeof *instance->held, &good);
  if (good) return instance;
  free(instance->functions);
  instance->functions = NULL;
  return instance;
}

JSValue link_instance(JSContext *ctx, Module *module, JSValueConst imports, const char *where)
{
  JSValue object = JS_NewObjectProtoClass(ctx, JS_NULL, instance_class);
  if (JS_IsException(object)) return object;
  Link link = { .ctx = ctx, .instance = new_instance(ctx, module), .module = module, .imports = imports, .where = where };
  JS_SetOpaque(object, link.instance);
  JSValue exports = JS_EXCEPTION;
  if (!link.instance || !link.instance->functions) JS_ThrowOutOfMemory(ctx);
  else {
    link.instance->self = object;
    if (import_all(&link) && make_own(&link)) exports = export_all(&link);
    if (!JS_IsException(exports) && !(write_segments(&link) && start(&link))) {
      JS_FreeValue(ctx, exports);
      exports = JS_EXCEPTION;
    }
  }
  JS_FreeValue(ctx, object);
  return exports;
}
