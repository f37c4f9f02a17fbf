// What host_wasm_check.c (blocks and branches) and host_wasm_operations.c (the rest) share.
#pragma once

#include "host_wasm_code.h"
#include "host_wasm_reader.h"

enum { none = 0xffffffff, most_places = 60000 };
enum { in_place, in_local, is_constant };
enum { a_block, a_loop, an_if, an_else, a_try, a_catch, a_catch_all };

// A value on the stack: in its place there, or still where it came from.
typedef struct { uint8_t type, kind; uint16_t place, local; uint64_t constant; } Entry;

typedef struct {
  uint8_t kind;
  bool unreachable, was_live;
  const uint8_t *types;    // its parameters, then its results
  uint32_t parameters, results;
  uint32_t height;         // of the stack below it
  uint16_t base;           // the place of its first parameter and result
  uint32_t waiting;        // the last of the jumps to its end, each of which holds the one before it
  uint32_t otherwise;      // where an if jumps to where it is not
  uint32_t start, body_end;
} Control;

typedef struct {
  Reader reader;
  const Module *module;
  const FunctionType *type;
  Code *code;              // null: it is only checked
  bool live;               // whether what comes can be reached
  uint8_t *local_types;
  uint16_t *local_places;
  uint32_t local_count;
  Entry *stack, nothing;
  uint32_t height, stack_room, moved;  // moved: how many are not in their place
  Control *controls;
  uint32_t depth, control_room;
  uint16_t *words;
  uint32_t count, room;
  uint32_t last;           // where the last instruction begins; none where a way comes in after it
  bool last_has_result;
  uint32_t next_place, most_places;
  Handler *handlers;
  uint32_t handler_count, handler_room;
} Checker;

void put(Checker *c, uint32_t word);
void put_32(Checker *c, uint32_t word);
void begin(Checker *c, uint32_t operation);
void begin_result(Checker *c, uint32_t operation, uint32_t place);
void begin_label(Checker *c);
Entry *push_entry(Checker *c, uint8_t type, uint8_t kind);
uint32_t push(Checker *c, uint8_t type);
Entry pop(Checker *c, uint8_t type);
uint32_t place_of(Checker *c, const Entry *entry);
void settle(Checker *c, uint32_t count);
void end_way(Checker *c);
void put_return(Checker *c);
Control *push_control(Checker *c, uint8_t kind, const uint8_t *types, uint32_t parameters, uint32_t results);
void end_try(Checker *c, Control *control);
bool check_control(Checker *c, uint8_t operation);
void set_local(Checker *c, uint32_t index, bool keep);
