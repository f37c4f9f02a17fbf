// Checks the body of a function of WebAssembly, and where its code is wanted makes that on the way: one pass over the bytes does both.
#include "host_wasm_check.h"

static void *grown(Checker *c, void *old, uint32_t *room, size_t each)
{
  const uint32_t wanted = *room ? *room * 2 : 32;
  void *more = realloc(old, wanted * each);
  if (!more) {
    fail(&c->reader, "out of memory");
    return old;
  }
  *room = wanted;
  return more;
}

void put(Checker *c, uint32_t word)
{
  if (!c->code || !c->live) return;
  if (c->count == c->room) c->words = grown(c, c->words, &c->room, sizeof *c->words);
  if (c->count < c->room) c->words[c->count++] = (uint16_t)word;
}

void put_32(Checker *c, uint32_t word)
{
  put(c, word & 0xffff);
  put(c, word >> 16);
}

void begin(Checker *c, uint32_t operation)
{
  c->last = c->count;
  c->last_has_result = false;
  put(c, operation);
}

// One whose first word is where its result goes: that can be changed while it is the last one.
void begin_result(Checker *c, uint32_t operation, uint32_t place)
{
  begin(c, operation);
  put(c, place);
  c->last_has_result = c->code && c->live;
}

void begin_label(Checker *c)
{
  c->last = none;
  c->last_has_result = false;
}

static uint32_t take_place(Checker *c, uint8_t type)
{
  const uint32_t place = c->next_place;
  c->next_place += places_of(type);
  if (c->next_place > c->most_places) c->most_places = c->next_place;
  if (c->most_places > most_places) fail(&c->reader, "function is too large: more than %u places for values", most_places);
  return place;
}

Entry *push_entry(Checker *c, uint8_t type, uint8_t kind)
{
  if (c->height == c->stack_room) {
    c->stack = grown(c, c->stack, &c->stack_room, sizeof *c->stack);
    if (c->height == c->stack_room) return &c->nothing;
  }
  Entry *entry = &c->stack[c->height++];
  *entry = (Entry){ .type = type, .kind = kind, .place = (uint16_t)take_place(c, type) };
  if (kind != in_place) c->moved++;
  return entry;
}

uint32_t push(Checker *c, uint8_t type) { return push_entry(c, type, in_place)->place; }

static const char *name_of(uint8_t type)
{
  switch (type) {
    case I32: return "i32";
    case I64: return "i64";
    case F32: return "f32";
    case F64: return "f64";
    case V128: return "s128";
    case FUNCREF: return "funcref";
    case EXTERNREF: return "externref";
    default: return "<bot>";
  }
}

Entry pop(Checker *c, uint8_t type)
{
  Control *control = &c->controls[c->depth - 1];
  if (c->height == control->height) {
    if (!control->unreachable) fail(&c->reader, "not enough arguments on the stack (need a value of type %s)", type ? name_of(type) : "any");
    return (Entry){ .type = type, .place = (uint16_t)c->next_place };
  }
  const Entry entry = c->stack[--c->height];
  c->next_place = entry.place;
  if (entry.kind != in_place) c->moved--;
  if (type != UNKNOWN && entry.type != UNKNOWN && entry.type != type) fail(&c->reader, "expected type %s, found a value of type %s", name_of(type), name_of(entry.type));
  return entry;
}

static void put_constant(Checker *c, uint8_t type, uint64_t value, uint32_t place)
{
  const bool is_short = type == I32 || type == F32 || value <= 0xffffffff;
  begin_result(c, is_short ? CONSTANT_32 : CONSTANT_64, place);
  put_32(c, (uint32_t)value);
  if (!is_short) put_32(c, (uint32_t)(value >> 32));
}

static void put_copy(Checker *c, uint8_t type, uint32_t to, uint32_t from)
{
  begin_result(c, type == V128 ? COPY_VECTOR : COPY, to);
  put(c, from);
}

static void put_value(Checker *c, const Entry *entry, uint32_t to)
{
  if (entry->kind == is_constant) put_constant(c, entry->type, entry->constant, to);
  else put_copy(c, entry->type, to, entry->kind == in_local ? c->local_places[entry->local] : entry->place);
}

// Where the value is, for an instruction that reads it.
uint32_t place_of(Checker *c, const Entry *entry)
{
  if (entry->kind == in_local) return c->local_places[entry->local];
  if (entry->kind == is_constant) put_constant(c, entry->type, entry->constant, entry->place);
  return entry->place;
}

// From here on each value is in its own place, as it is wherever ways meet.
void settle(Checker *c, uint32_t count)
{
  for (uint32_t i = c->height; c->moved > 0 && count > 0 && i > 0; count--) {
    Entry *entry = &c->stack[--i];
    if (entry->kind == in_place) continue;
    put_value(c, entry, entry->place);
    entry->kind = in_place;
    c->moved--;
  }
}

static bool is_reachable(const Checker *c) { return !c->controls[c->depth - 1].unreachable; }

void end_way(Checker *c)
{
  Control *control = &c->controls[c->depth - 1];
  while (c->height > control->height) pop(c, UNKNOWN);
  control->unreachable = true;
  c->live = false;
}

// Checks that these are on the stack, and leaves them there.
static void expect(Checker *c, const uint8_t *types, uint32_t count)
{
  Control *control = &c->controls[c->depth - 1];
  if (c->height - control->height >= count) {
    for (uint32_t i = 0; i < count; i++) {
      const uint8_t found = c->stack[c->height - count + i].type;
      if (found != types[i] && found != UNKNOWN) fail(&c->reader, "type error in branch: expected %s, got %s", name_of(types[i]), name_of(found));
      if (found == UNKNOWN) c->stack[c->height - count + i].type = types[i];
    }
    return;
  }
  if (!control->unreachable) return fail(&c->reader, "expected %u elements on the stack, found %u", count, c->height - control->height);
  for (uint32_t i = count; i > 0; i--) pop(c, types[i - 1]);
  for (uint32_t i = 0; i < count; i++) push(c, types[i]);
}

// The same for one of several branches, which say nothing of values that are not known.
static void look_at(Checker *c, const uint8_t *types, uint32_t count)
{
  const Control *control = &c->controls[c->depth - 1];
  const uint32_t there = c->height - control->height;
  if (there < count && !control->unreachable) return fail(&c->reader, "expected %u elements on the stack, found %u", count, there);
  for (uint32_t i = 1; i <= count && i <= there; i++) {
    const uint8_t found = c->stack[c->height - i].type, wanted = types[count - i];
    if (found != wanted && found != UNKNOWN) fail(&c->reader, "type error in branch: expected %s, got %s", name_of(wanted), name_of(found));
  }
}

static bool must_move(const Checker *c, uint32_t count, uint32_t to)
{
  for (uint32_t i = c->height - count; i < c->height; i++) {
    if (c->stack[i].kind != in_place || c->stack[i].place != to) return true;
    to += places_of(c->stack[i].type);
  }
  return false;
}

// The uppermost values go to these places, which lie below them.
static void move(Checker *c, uint32_t count, uint32_t to)
{
  if (!c->code || !c->live) return;
  for (uint32_t i = c->height - count; i < c->height; i++) {
    const Entry *entry = &c->stack[i];
    if (entry->kind != in_place || entry->place != to) put_value(c, entry, to);
    to += places_of(entry->type);
  }
}

void put_return(Checker *c)
{
  const uint32_t count = c->type->results;
  if (count == 0) return begin(c, RETURN_NONE);
  if (count == 1 && c->type->result_places == 1) {
    const Entry *entry = c->height ? &c->stack[c->height - 1] : &c->nothing;
    const uint32_t place = place_of(c, entry);
    begin(c, RETURN_ONE);
    return put(c, place);
  }
  settle(c, count);
  begin(c, RETURN_SOME);
  put(c, c->height >= count ? c->stack[c->height - count].place : 0);
  put(c, c->type->result_places);
}

static void put_target(Checker *c, Control *control)
{
  if (control->kind == a_loop) return put_32(c, control->start);
  const uint32_t at = c->count;
  put_32(c, control->waiting);
  if (c->code && c->live) control->waiting = at;
}

static uint32_t word_at(const Checker *c, uint32_t at) { return c->words[at] | (uint32_t)c->words[at + 1] << 16; }

static void set_word(Checker *c, uint32_t at, uint32_t value)
{
  if (!c->code || at + 1 >= c->count) return;
  c->words[at] = (uint16_t)value;
  c->words[at + 1] = (uint16_t)(value >> 16);
}

// All that jump to the end of it jump here.
static void land(Checker *c, Control *control)
{
  for (uint32_t at = control->waiting; at != none && c->code && !c->reader.problem->failed;) {
    const uint32_t next = word_at(c, at);
    set_word(c, at, c->count);
    at = next;
  }
  control->waiting = none;
  begin_label(c);
}

static Control *target_of(Checker *c, uint32_t depth)
{
  if (depth < c->depth) return &c->controls[c->depth - 1 - depth];
  fail(&c->reader, "invalid branch depth: %u", depth);
  return &c->controls[0];
}

static const uint8_t *label_types(const Control *control, uint32_t *count)
{
  *count = control->kind == a_loop ? control->parameters : control->results;
  return control->kind == a_loop ? control->types : control->types + control->parameters;
}

static void put_branch(Checker *c, Control *control, uint32_t count)
{
  if (control == &c->controls[0]) return put_return(c);
  move(c, count, control->base);
  begin(c, JUMP);
  put_target(c, control);
}

// A jump by a condition that was computed just before is that comparison.
static void put_conditional(Checker *c, const Entry *condition, bool if_true)
{
  const uint16_t *last = c->words + c->last;
  if (c->last != none && c->last_has_result && condition->kind == in_place && last[1] == condition->place && c->code && c->live) {
    const uint16_t operation = last[0], first = last[2], second = last[3];
    const uint32_t number = c->count - c->last == 5 ? word_at(c, c->last + 3) : 0;
    static const uint8_t opposite[10] = { 1, 0, 8, 9, 6, 7, 4, 5, 2, 3 };
    const struct { uint16_t from, to; bool has_number; } kinds[4] = {
      { 0x46, JUMP_32, false }, { WITH_32, JUMP_32_WITH, true }, { 0x51, JUMP_64, false }, { WITH_64, JUMP_64_WITH, true } };
    if (operation == 0x45) {
      c->count = c->last;
      begin(c, if_true ? JUMP_IF_ZERO : JUMP_UNLESS_ZERO);
      return put(c, first);
    }
    for (int i = 0; i < 4; i++) {
      const uint32_t which = operation - kinds[i].from;
      if (operation < kinds[i].from || which >= 10) continue;
      c->count = c->last;
      begin(c, kinds[i].to + (if_true ? which : opposite[which]));
      put(c, first);
      return kinds[i].has_number ? put_32(c, number) : put(c, second);
    }
  }
  const uint32_t place = place_of(c, condition);
  begin(c, if_true ? JUMP_UNLESS_ZERO : JUMP_IF_ZERO);
  put(c, place);
}

static void check_branch_if(Checker *c)
{
  Control *control = target_of(c, take_u32(&c->reader));
  const Entry condition = pop(c, I32);
  uint32_t count;
  const uint8_t *types = label_types(control, &count);
  expect(c, types, count);
  if (c->reader.problem->failed) return;
  if (control != &c->controls[0] && !must_move(c, count, control->base)) {
    put_conditional(c, &condition, true);
    return put_target(c, control);
  }
  // Values that a constant or a local stands for are where they are on either way.
  if (control == &c->controls[0] && c->type->result_places > 1) settle(c, count);
  put_conditional(c, &condition, false);
  const uint32_t at = c->count;
  put_32(c, 0);
  put_branch(c, control, count);
  if (c->live) set_word(c, at, c->count);
  begin_label(c);
}

static void check_branch_table(Checker *c)
{
  const Entry index = pop(c, I32);
  const uint32_t targets = take_u32(&c->reader);
  if (targets > (size_t)(c->reader.end - c->reader.at)) return fail(&c->reader, "invalid table count (> max br_table size): %u", targets);
  uint32_t arity = 0;
  const uint32_t place = place_of(c, &index);
  // One way for all needs each value to be in its place.
  settle(c, c->height);
  begin(c, JUMP_BY_TABLE);
  put(c, place);
  put_32(c, targets);
  const uint32_t table = c->count;
  for (uint32_t i = 0; i <= targets; i++) put_32(c, 0);
  for (uint32_t i = 0; i <= targets && !c->reader.problem->failed; i++) {
    const uint8_t *at = c->reader.at;
    Control *control = target_of(c, take_u32(&c->reader));
    uint32_t count;
    const uint8_t *types = label_types(control, &count);
    if (i == 0) arity = count;
    if (count != arity) {
      c->reader.at = at;
      return fail(&c->reader, "br_table: label arity inconsistent with previous %u", arity);
    }
    look_at(c, types, count);
    if (!c->code || !c->live || c->reader.problem->failed) continue;
    if (control == &c->controls[0] || must_move(c, count, control->base)) {
      set_word(c, table + 2 * i, c->count);
      put_branch(c, control, count);
    } else if (control->kind == a_loop) {
      set_word(c, table + 2 * i, control->start);
    } else {
      set_word(c, table + 2 * i, control->waiting);
      control->waiting = table + 2 * i;
    }
  }
  end_way(c);
}

Control *push_control(Checker *c, uint8_t kind, const uint8_t *types, uint32_t parameters, uint32_t results)
{
  if (c->depth == c->control_room) {
    c->controls = grown(c, c->controls, &c->control_room, sizeof *c->controls);
    if (c->depth == c->control_room) return &c->controls[0];
  }
  Control *control = &c->controls[c->depth++];
  *control = (Control){ .kind = kind, .types = types, .parameters = parameters, .results = results, .waiting = none, .otherwise = none, .was_live = c->live, .height = c->height,
    .base = (uint16_t)c->next_place };
  return control;
}

static void push_types(Checker *c, const uint8_t *types, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) push(c, types[i]);
}

static const uint8_t *take_block_type(Checker *c, uint32_t *parameters, uint32_t *results)
{
  static const uint8_t singles[] = { I32, I64, F32, F64, V128, FUNCREF, EXTERNREF };
  *parameters = *results = 0;
  const uint8_t *at = c->reader.at;
  const int64_t type = (int64_t)take_leb(&c->reader, 33, true);
  if (type == -64) return singles;
  if (type < 0) {
    for (size_t i = 0; i < sizeof singles; i++) {
      if ((type & 0x7f) != singles[i] || c->reader.at != at + 1) continue;
      *results = 1;
      return singles + i;
    }
    c->reader.at = at;
    fail(&c->reader, "invalid block type %d", (int)type);
    return singles;
  }
  if (type >= c->module->type_count) {
    c->reader.at = at;
    fail(&c->reader, "block type index %u is not a signature definition", (unsigned)type);
    return singles;
  }
  const FunctionType *found = c->module->types[type];
  *parameters = found->parameters;
  *results = found->results;
  return found->types;
}

static void begin_block(Checker *c, uint8_t kind)
{
  uint32_t parameters, results;
  const uint8_t *types = take_block_type(c, &parameters, &results);
  Entry condition = { 0 };
  if (kind == an_if) condition = pop(c, I32);
  expect(c, types, parameters);
  if (c->reader.problem->failed) return;
  // The condition's place may be the one that is settled next: it has been read by then, as nothing lies above it.
  uint32_t otherwise = none;
  if (kind == an_if) {
    if (c->moved) {
      const uint32_t place = place_of(c, &condition);
      settle(c, c->height);
      begin(c, JUMP_IF_ZERO);
      put(c, place);
    } else {
      put_conditional(c, &condition, false);
    }
    if (c->code && c->live) otherwise = c->count;
    put_32(c, none);
  } else {
    settle(c, c->height);
  }
  for (uint32_t i = parameters; i > 0; i--) pop(c, types[i - 1]);
  Control *control = push_control(c, kind, types, parameters, results);
  control->otherwise = otherwise;
  push_types(c, types, parameters);
  if (kind == a_loop) {
    begin(c, LOOP);
    begin_label(c);
    control->start = c->count - (c->code && c->live ? 1 : 0);
  }
  if (kind == a_try) control->start = c->count;
}

static void end_body(Checker *c, Control *control)
{
  expect(c, control->types + control->parameters, control->results);
  if (c->reader.problem->failed) return;
  if (c->height - control->height != control->results) return fail(&c->reader, "expected %u elements on the stack for fallthru, found %u", control->results, c->height - control->height);
  if (control != &c->controls[0]) move(c, control->results, control->base);
}

static void drop_to(Checker *c, Control *control)
{
  while (c->height > control->height) {
    if (c->stack[--c->height].kind != in_place) c->moved--;
  }
  c->next_place = control->base;
}

// The next part of an if or a try begins, after a part that ends in the same place.
static void next_part(Checker *c, Control *control)
{
  end_body(c, control);
  begin(c, JUMP);
  put_target(c, control);
  drop_to(c, control);
  control->unreachable = false;
  c->live = control->was_live;
  begin_label(c);
}

static void check_else(Checker *c)
{
  Control *control = &c->controls[c->depth - 1];
  if (control->kind != an_if) return fail(&c->reader, "else does not match an if");
  next_part(c, control);
  if (control->otherwise != none) set_word(c, control->otherwise, c->count);
  control->otherwise = none;
  control->kind = an_else;
  push_types(c, control->types, control->parameters);
}

static void check_end(Checker *c)
{
  Control *control = &c->controls[c->depth - 1];
  if (control->kind == an_if) {
    // Without another part the parameters are the results.
    if (control->parameters != control->results || memcmp(control->types, control->types + control->parameters, control->results)) return fail(&c->reader, "type error in fallthru: if without else");
  }
  end_body(c, control);
  if (c->reader.problem->failed) return;
  if (control == &c->controls[0]) {
    c->live &= is_reachable(c);
    // What jumps to the end has returned already.
    put_return(c);
    c->depth--;
    return;
  }
  if (control->kind == a_try || control->kind == a_catch || control->kind == a_catch_all) end_try(c, control);
  if (control->otherwise != none) set_word(c, control->otherwise, c->count);
  drop_to(c, control);
  c->live = control->was_live;
  const Control ended = *control;
  land(c, control);
  c->depth--;
  push_types(c, ended.types + ended.parameters, ended.results);
}

static void add_handler(Checker *c, Control *control, uint32_t tag, uint32_t level)
{
  if (!c->code || !control->was_live) return;
  if (c->handler_count == c->handler_room) c->handlers = grown(c, c->handlers, &c->handler_room, sizeof *c->handlers);
  if (c->handler_count == c->handler_room) return;
  c->handlers[c->handler_count++] = (Handler){ .from = control->start, .to = control->body_end, .target = tag == to_delegate ? level : c->count, .level = c->depth, .tag = tag, .place = control->base };
}

static void check_catch(Checker *c, bool all)
{
  Control *control = &c->controls[c->depth - 1];
  if (control->kind != a_try && control->kind != a_catch) return fail(&c->reader, "catch does not match a try");
  const uint32_t tag = all ? any_tag : take_below(&c->reader, c->module->tag_count, "tag");
  const uint8_t kind = control->kind;
  // Ways into it come from the body only.
  end_body(c, control);
  begin(c, JUMP);
  put_target(c, control);
  if (kind == a_try) control->body_end = c->count;
  drop_to(c, control);
  control->unreachable = false;
  c->live = control->was_live;
  begin_label(c);
  if (c->reader.problem->failed) return;
  add_handler(c, control, tag, 0);
  control->kind = all ? a_catch_all : a_catch;
  // The exception has a place below what it carries.
  take_place(c, EXTERNREF);
  if (!all) push_types(c, c->module->tags[tag]->types, c->module->tags[tag]->parameters);
}

void end_try(Checker *c, Control *control)
{
  if (control->kind == a_try) control->body_end = c->count;
}

static void check_delegate(Checker *c)
{
  Control *control = &c->controls[c->depth - 1];
  const uint32_t depth = take_u32(&c->reader);
  if (control->kind != a_try) return fail(&c->reader, "delegate does not match a try");
  if (depth + 1 >= c->depth) return fail(&c->reader, "invalid branch depth: %u", depth);
  end_body(c, control);
  control->body_end = c->count;
  // Of those around this one, the block that it names and what is around that.
  add_handler(c, control, to_delegate, c->depth - 1 - depth);
  if (c->reader.problem->failed) return;
  drop_to(c, control);
  c->live = control->was_live;
  const Control ended = *control;
  land(c, control);
  c->depth--;
  push_types(c, ended.types + ended.parameters, ended.results);
}

static void check_rethrow(Checker *c)
{
  Control *control = target_of(c, take_u32(&c->reader));
  if (control->kind != a_catch && control->kind != a_catch_all) return fail(&c->reader, "rethrow not targeting catch or catch-all");
  begin(c, RETHROW);
  put(c, control->base);
  end_way(c);
}

bool check_control(Checker *c, uint8_t operation)
{
  switch (operation) {
    case 0x00: begin(c, UNREACHABLE); end_way(c); return true;
    case 0x01: return true;
    case 0x02: begin_block(c, a_block); return true;
    case 0x03: begin_block(c, a_loop); return true;
    case 0x04: begin_block(c, an_if); return true;
    case 0x05: check_else(c); return true;
    case 0x06: begin_block(c, a_try); return true;
    case 0x07: check_catch(c, false); return true;
    case 0x09: check_rethrow(c); return true;
    case 0x0b: check_end(c); return true;
    case 0x0c: {
      Control *control = target_of(c, take_u32(&c->reader));
      uint32_t count;
      const uint8_t *types = label_types(control, &count);
      expect(c, types, count);
      if (!c->reader.problem->failed) put_branch(c, control, count);
      end_way(c);
      return true;
    }
    case 0x0d: check_branch_if(c); return true;
    case 0x0e: check_branch_table(c); return true;
    case 0x0f:
      expect(c, c->type->types + c->type->parameters, c->type->results);
      if (!c->reader.problem->failed) put_return(c);
      end_way(c);
      return true;
    case 0x18: check_delegate(c); return true;
    case 0x19: check_catch(c, true); return true;
    default: return false;
  }
}

void set_local(Checker *c, uint32_t index, bool keep)
{
  const uint8_t type = c->local_types[index];
  const Entry entry = pop(c, type);
  if (c->reader.problem->failed) return;
  const uint32_t to = c->local_places[index];
  // Who stands for what it has been gets that first.
  for (uint32_t i = c->height, left = c->moved; left > 0 && i > 0;) {
    Entry *other = &c->stack[--i];
    if (other->kind == in_place) continue;
    left--;
    if (other->kind != in_local || other->local != index) continue;
    put_value(c, other, other->place);
    other->kind = in_place;
    c->moved--;
  }
  if (entry.kind == in_place && c->last != none && c->last_has_result && c->words[c->last + 1] == entry.place && c->code && c->live) c->words[c->last + 1] = (uint16_t)to;
  else if (entry.kind != in_local || entry.local != index) put_value(c, &entry, to);
  // It stays the last one for nobody: its result has another name now.
  c->last_has_result = false;
  if (!keep) return;
  push_entry(c, type, in_local)->local = (uint16_t)index;
}
