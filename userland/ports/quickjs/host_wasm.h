// WebAssembly of node's: modules are read and checked as a whole, a function is put into a code of our own when it is first called, and that is interpreted.
// Memories, tables, globals, tags, exceptions, instances and their functions are objects of the engine, which collects them as any others, in cycles too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum { I32 = 0x7f, I64 = 0x7e, F32 = 0x7d, F64 = 0x7c, V128 = 0x7b, FUNCREF = 0x70, EXTERNREF = 0x6f, UNKNOWN = 0 };
enum { OF_FUNCTION, OF_TABLE, OF_MEMORY, OF_GLOBAL, OF_TAG };
enum { page_bytes = 65536, most_pages = 65536, most_elements = 10000000 };

static inline bool is_reference(uint8_t type) { return type == FUNCREF || type == EXTERNREF; }
// Values have places of 64 bits; a vector has two.
static inline uint32_t places_of(uint8_t type) { return type == V128 ? 2 : 1; }

// There is one of each kind, so that two are the same where their addresses are.
typedef struct FunctionType {
  struct FunctionType *next;
  uint32_t parameters, results;
  uint32_t parameter_places, result_places;
  uint8_t types[];  // of the parameters, then of the results
} FunctionType;

typedef struct { uint32_t least, most; bool has_most, is_shared; } Limits;
typedef struct { uint8_t element; Limits limits; } TableType;
typedef struct { uint8_t type; bool is_mutable; } GlobalType;
typedef struct { const uint8_t *from, *to; } Bytes;
typedef struct { Bytes module, name; uint8_t kind; uint32_t index; } Import;
typedef struct { Bytes name; uint8_t kind; uint32_t index; } Export;
typedef struct { uint8_t mode; uint32_t memory; Bytes offset, bytes; } DataSegment;      // mode: 0 active, 1 passive, 2 declared
typedef struct { uint8_t mode, type; uint32_t table; Bytes offset; uint32_t count; uint32_t *functions; Bytes *values; } ElementSegment;
typedef struct { Bytes name, content; } CustomSection;

// Where an exception of a part of a function goes on.
typedef struct {
  uint32_t from, to, target;
  uint32_t level;          // how deep the block of it is
  uint32_t tag;            // one of these:
  uint16_t place;          // of the exception, and after it what it carries
} Handler;
enum { any_tag = 0xfffffffe, to_delegate = 0xffffffff };

typedef struct Code {
  Bytes body;
  uint16_t *words;         // null until it is called
  uint32_t count, frame_places, local_places;
  Handler *handlers;
  uint32_t handler_count;
} Code;

typedef struct Module {
  int references;
  uint8_t *bytes;
  size_t size;
  const FunctionType **types;
  Import *imports;
  Export *exports;
  const FunctionType **functions;  // imported ones first, as everywhere
  TableType *tables;
  Limits *memories;
  GlobalType *globals;
  Bytes *initial;                  // of the globals that are its own
  const FunctionType **tags;
  Code *codes;
  ElementSegment *elements;
  DataSegment *data;
  CustomSection *sections;
  uint8_t *is_named;               // by function: whether ref.func may ask for it
  uint32_t type_count, import_count, export_count, function_count, table_count, memory_count, global_count, tag_count, element_count, data_count, section_count;
  uint32_t imported_functions, imported_tables, imported_memories, imported_globals, imported_tags;
  int64_t start, told_data_count;
  bool has_imports;                // they are read
} Module;

// What is wrong with a module, and where.
typedef struct { char text[240]; size_t at; bool failed; } Problem;

typedef struct Function {
  struct Instance *instance;
  Code *code;                      // null: it is of JavaScript
  const FunctionType *type;
  JSValue host;                    // that function
  JSValue object;                  // as scripts see it; undefined until one does
  uint32_t index;
} Function;

typedef struct { int references; uint8_t *bytes; } Block;
typedef struct { Block *block; uint8_t *data; uint64_t size, room; Limits limits; JSValue buffer; } Memory;
// `value` is what a reference is; of a function the instance that has it.
typedef struct { Function *function; JSValue value; } Element;
typedef struct { TableType type; Element *elements; uint32_t size, room; } Table;
typedef struct { GlobalType type; union { uint64_t places[2]; JSValue value; }; } Global;
typedef struct { const FunctionType *type; } Tag;
typedef struct { JSValue tag; const FunctionType *type; uint64_t places[]; } Exception;

typedef struct Instance {
  Module *module;
  JSContext *context;
  JSValueConst self;
  bool is_pinned;
  Function *own;
  Function **functions;
  Table **tables;
  Memory *memory;
  Global **globals;
  Tag **tags;
  uint8_t *is_dropped_element, *is_dropped_data;
  JSValue *held;                   // what all of these belong to
  uint32_t held_count, own_count;
  JSValue *tag_objects;            // of those held
} Instance;

extern JSClassID module_class, instance_class, function_class, memory_class, table_class, global_class, tag_class, exception_class;

// host_wasm_read.c, host_wasm_check.c
Module *read_module(const uint8_t *bytes, size_t size, Problem *problem);
void free_module(Module *module);
const FunctionType *function_type(const uint8_t *parameters, uint32_t parameter_count, const uint8_t *results, uint32_t result_count);
// Checks a function; into code too where `code` is given. False: see the problem, or there is no memory (it has not failed then).
bool check_function(const Module *module, uint32_t index, Code *code, Problem *problem);

// host_wasm_run.c: calls with the parameters at these places, where the results are afterwards. -1: there is an exception.
int call_function(JSContext *ctx, Function *function, uint64_t *places);
uint64_t *free_places(JSContext *ctx, uint32_t count);
void give_places_back(uint64_t *places);
// Around a call and what is made of its results.
void enter_program(void);
void leave_program(JSContext *ctx);
// What a running program refers to stays until it has returned.
JSValue keep_reference(JSContext *ctx, JSValue value);
JSValue throw_trap(JSContext *ctx, const char *text);

// host_wasm_objects.c
JSValue throw_wasm(JSContext *ctx, const char *kind, const char *text);
JSValue object_of_function(JSContext *ctx, Function *function);
Function *function_of(JSValueConst value);
JSValue to_script(JSContext *ctx, uint8_t type, const uint64_t *places);
int from_script(JSContext *ctx, uint8_t type, JSValueConst value, uint64_t *places);
int call_host(JSContext *ctx, Function *function, uint64_t *places);
int64_t grow_memory(JSContext *ctx, Memory *memory, uint64_t pages);
int64_t grow_table(JSContext *ctx, Table *table, uint64_t count, JSValueConst value);
void set_element(JSContext *ctx, Table *table, uint32_t at, JSValueConst value);
void set_function_element(JSContext *ctx, Table *table, uint32_t at, Function *function);
JSValue element_of(JSContext *ctx, Table *table, uint32_t at);
JSValue new_exception(JSContext *ctx, JSValueConst prototype, JSValueConst tag, const FunctionType *type, const uint64_t *places);
JSValue new_memory(JSContext *ctx, JSValueConst prototype, Limits limits);
JSValue new_table(JSContext *ctx, JSValueConst prototype, TableType type);
JSValue new_global(JSContext *ctx, JSValueConst prototype, GlobalType type);
JSValue new_tag(JSContext *ctx, JSValueConst prototype, const FunctionType *type);

// host_wasm_api.c
void add_wasm_api(JSContext *ctx, JSValueConst native);

// host_wasm_link.c
// The object of what it exports. `where` is the function that the program has called, for what is said of errors.
JSValue link_instance(JSContext *ctx, Module *module, JSValueConst imports, const char *where);
// Values of constant expressions: false where there is an exception.
bool constant_of(JSContext *ctx, Instance *instance, Bytes expression, uint64_t *places);

// host_wasm_slow.c: what is seldom, with operands from `at` on and results there. -1: there is an exception.
int slow_operation(JSContext *ctx, Instance *instance, uint32_t operation, uint64_t *at, uint32_t first, uint32_t second);

// host_wasm_vector.c
void vector_operation(uint32_t operation, uint64_t *fp, const uint16_t *operands);
void vector_memory(uint32_t operation, uint8_t *memory, uint64_t *result, const uint64_t *vector, uint32_t lane);
// How many vectors and numbers an operation of vectors takes: see there.
const char *vector_signature(uint32_t operation);
