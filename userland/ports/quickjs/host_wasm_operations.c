// Checks what a function does between its branches: numbers, memory, tables, calls; and makes its code where it is wanted.
#include "host_wasm_check.h"

static void unary(Checker *c, uint32_t operation, uint8_t from, uint8_t to)
{
  const Entry entry = pop(c, from);
  const uint32_t operand = place_of(c, &entry), result = push(c, to);
  // Whether an integer is 0, where it says whether a comparison is so: the opposite comparison.
  if (operation == 0x45 && c->last != none && c->last_has_result && entry.kind == in_place && c->words[c->last + 1] == entry.place && c->code && c->live) {
    static const uint8_t opposite[10] = { 1, 0, 8, 9, 6, 7, 4, 5, 2, 3 };
    static const uint16_t starts[4] = { 0x46, 0x51, WITH_32, WITH_64 };
    for (int i = 0; i < 4; i++) {
      const uint32_t which = c->words[c->last] - starts[i];
      if (c->words[c->last] < starts[i] || which >= 10) continue;
      c->words[c->last] = starts[i] + opposite[which];
      c->words[c->last + 1] = (uint16_t)result;
      return;
    }
  }
  begin_result(c, operation, result);
  put(c, operand);
}

static bool takes_number(uint32_t operation, uint8_t type)
{
  if (type == I32) return (operation >= 0x46 && operation <= 0x4f) || (operation >= 0x6a && operation <= 0x6c) || (operation >= 0x71 && operation <= 0x77);
  if (type == I64) return (operation >= 0x51 && operation <= 0x5a) || (operation >= 0x7c && operation <= 0x7e) || (operation >= 0x83 && operation <= 0x89);
  return false;
}

static bool is_symmetric(uint32_t operation)
{
  switch (operation) {
    case 0x46: case 0x47: case 0x51: case 0x52: case 0x6a: case 0x6c: case 0x71: case 0x72: case 0x73: case 0x7c: case 0x7e: case 0x83: case 0x84: case 0x85: return true;
    default: return false;
  }
}

static void binary(Checker *c, uint32_t operation, uint8_t from, uint8_t to)
{
  Entry second = pop(c, from), first = pop(c, from);
  if (takes_number(operation, from)) {
    if (first.kind == is_constant && second.kind != is_constant && is_symmetric(operation)) {
      const Entry swapped = first;
      first = second;
      second = swapped;
    }
    if (second.kind == is_constant && (from == I32 || (int64_t)second.constant == (int32_t)second.constant)) {
      const uint32_t operand = place_of(c, &first);
      begin_result(c, from == I32 ? WITH_32 + operation - 0x46 : WITH_64 + operation - 0x51, push(c, to));
      put(c, operand);
      return put_32(c, (uint32_t)second.constant);
    }
  }
  const uint32_t operands[2] = { place_of(c, &first), place_of(c, &second) };
  begin_result(c, operation, push(c, to));
  put(c, operands[0]);
  put(c, operands[1]);
}

static bool check_number(Checker *c, uint32_t operation)
{
  switch (operation) {
    case 0x45: unary(c, operation, I32, I32); return true;
    case 0x46 ... 0x4f: binary(c, operation, I32, I32); return true;
    case 0x50: unary(c, operation, I64, I32); return true;
    case 0x51 ... 0x5a: binary(c, operation, I64, I32); return true;
    case 0x5b ... 0x60: binary(c, operation, F32, I32); return true;
    case 0x61 ... 0x66: binary(c, operation, F64, I32); return true;
    case 0x67 ... 0x69: case 0xc0: case 0xc1: unary(c, operation, I32, I32); return true;
    case 0x6a ... 0x78: binary(c, operation, I32, I32); return true;
    case 0x79 ... 0x7b: case 0xc2 ... 0xc4: unary(c, operation, I64, I64); return true;
    case 0x7c ... 0x8a: binary(c, operation, I64, I64); return true;
    case 0x8b ... 0x91: unary(c, operation, F32, F32); return true;
    case 0x92 ... 0x98: binary(c, operation, F32, F32); return true;
    case 0x99 ... 0x9f: unary(c, operation, F64, F64); return true;
    case 0xa0 ... 0xa6: binary(c, operation, F64, F64); return true;
    case 0xa7: unary(c, operation, I64, I32); return true;
    case 0xa8: case 0xa9: case 0xbc: case TRUNC_SAT: case TRUNC_SAT + 1: unary(c, operation, F32, I32); return true;
    case 0xaa: case 0xab: case TRUNC_SAT + 2: case TRUNC_SAT + 3: unary(c, operation, F64, I32); return true;
    case 0xac: case 0xad: unary(c, operation, I32, I64); return true;
    case 0xae: case 0xaf: case TRUNC_SAT + 4: case TRUNC_SAT + 5: unary(c, operation, F32, I64); return true;
    case 0xb0: case 0xb1: case 0xbd: case TRUNC_SAT + 6: case TRUNC_SAT + 7: unary(c, operation, F64, I64); return true;
    case 0xb2: case 0xb3: case 0xbe: unary(c, operation, I32, F32); return true;
    case 0xb4: case 0xb5: unary(c, operation, I64, F32); return true;
    case 0xb6: unary(c, operation, F64, F32); return true;
    case 0xb7: case 0xb8: unary(c, operation, I32, F64); return true;
    case 0xb9: case 0xba: case 0xbf: unary(c, operation, I64, F64); return true;
    case 0xbb: unary(c, operation, F32, F64); return true;
    default: return false;
  }
}

static void need_memory(Checker *c)
{
  if (c->module->memory_count == 0) fail(&c->reader, "memory index 0 exceeds number of declared memories (0)");
}

static uint32_t take_offset(Checker *c, uint32_t most, bool exactly)
{
  need_memory(c);
  const uint32_t alignment = take_u32(&c->reader);
  if (alignment > most || (exactly && alignment != most)) fail(&c->reader, "invalid alignment; expected maximum alignment is %u, actual alignment is %u", most, alignment);
  return take_u32(&c->reader);
}

static void check_memory_access(Checker *c, uint32_t operation)
{
  static const struct { uint8_t type, alignment; } loads[] = { { I32, 2 }, { I64, 3 }, { F32, 2 }, { F64, 3 }, { I32, 0 }, { I32, 0 }, { I32, 1 }, { I32, 1 }, { I64, 0 }, { I64, 0 }, { I64, 1 },
    { I64, 1 }, { I64, 2 }, { I64, 2 }, { I32, 2 }, { I64, 3 }, { F32, 2 }, { F64, 3 }, { I32, 0 }, { I32, 1 }, { I64, 0 }, { I64, 1 }, { I64, 2 } };
  const uint8_t type = loads[operation - 0x28].type;
  const uint32_t offset = take_offset(c, loads[operation - 0x28].alignment, false);
  if (operation >= 0x36) {
    const Entry value = pop(c, type), address = pop(c, I32);
    const uint32_t operands[2] = { place_of(c, &address), place_of(c, &value) };
    begin(c, operation);
    put(c, operands[0]);
    put(c, operands[1]);
  } else {
    const Entry address = pop(c, I32);
    const uint32_t operand = place_of(c, &address);
    begin_result(c, operation, push(c, type));
    put(c, operand);
  }
  put_32(c, offset);
}

// What takes its operands from their places and leaves its result in the first of them.
static void put_slow(Checker *c, uint32_t operation, const char *signature, uint32_t first, uint32_t second)
{
  static const struct { char letter; uint8_t type; } letters[] = { { 'i', I32 }, { 'l', I64 }, { 'f', F32 }, { 'd', F64 }, { 'v', V128 }, { 'F', FUNCREF }, { 'E', EXTERNREF } };
  uint8_t types[8], result = UNKNOWN;
  uint32_t count = 0;
  bool is_result = false;
  for (; *signature; signature++) {
    if (*signature == ':') is_result = true;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
      if (letters[i].letter != *signature) continue;
      if (is_result) result = letters[i].type;
      else types[count++] = letters[i].type;
    }
  }
  settle(c, count);
  for (uint32_t i = count; i > 0; i--) pop(c, types[i - 1]);
  begin(c, SLOW);
  put(c, operation);
  put(c, c->next_place);
  put_32(c, first);
  put_32(c, second);
  if (is_result) push(c, result);
}

static uint8_t table_type(Checker *c, uint32_t *index)
{
  *index = take_below(&c->reader, c->module->table_count, "table");
  return c->reader.problem->failed ? FUNCREF : c->module->tables[*index].element;
}

static void check_table_copy(Checker *c)
{
  uint32_t to, from;
  const uint8_t types[2] = { table_type(c, &to), table_type(c, &from) };
  if (types[0] != types[1]) fail(&c->reader, "table %u is not a super-type of %u", to, from);
  put_slow(c, 0xfc0e, "iii", to, from);
}

static void check_extended(Checker *c)
{
  const uint32_t operation = take_u32(&c->reader);
  uint32_t table, segment;
  switch (operation) {
    case 0 ... 7: check_number(c, TRUNC_SAT + operation); break;
    case 8:
    case 9:
      segment = take_u32(&c->reader);
      if (c->module->told_data_count < 0) return fail(&c->reader, "data count section required");
      if (segment >= c->module->told_data_count) return fail(&c->reader, "invalid data segment index: %u", segment);
      if (operation == 8) {
        need_memory(c);
        if (take_byte(&c->reader) != 0) fail(&c->reader, "expected memory index 0");
      }
      put_slow(c, 0xfc00 + operation, operation == 8 ? "iii" : "", segment, 0);
      break;
    case 10:
      need_memory(c);
      if (take_byte(&c->reader) != 0 || take_byte(&c->reader) != 0) fail(&c->reader, "expected memory index 0");
      put_slow(c, 0xfc0a, "iii", 0, 0);
      break;
    case 11:
      need_memory(c);
      if (take_byte(&c->reader) != 0) fail(&c->reader, "expected memory index 0");
      put_slow(c, 0xfc0b, "iii", 0, 0);
      break;
    case 12:
      segment = take_below(&c->reader, c->module->element_count, "element segment");
      if (table_type(c, &table) != (c->reader.problem->failed ? 0 : c->module->elements[segment].type)) fail(&c->reader, "table %u is not a super-type of segment %u", table, segment);
      put_slow(c, 0xfc0c, "iii", segment, table);
      break;
    case 13: put_slow(c, 0xfc0d, "", take_below(&c->reader, c->module->element_count, "element segment"), 0); break;
    case 14: check_table_copy(c); break;
    case 15: put_slow(c, 0xfc0f, table_type(c, &table) == FUNCREF ? "Fi:i" : "Ei:i", table, 0); break;
    case 16: table_type(c, &table); put_slow(c, 0xfc10, ":i", table, 0); break;
    case 17: put_slow(c, 0xfc11, table_type(c, &table) == FUNCREF ? "iFi" : "iEi", table, 0); break;
    default: fail(&c->reader, "invalid numeric opcode 0xfc%02x", operation);
  }
}

static void check_atomic(Checker *c)
{
  const uint32_t operation = take_u32(&c->reader);
  // By operation % 7 from 0x10 on: of which width it is.
  static const struct { uint8_t type, alignment; } widths[7] = { { I32, 2 }, { I64, 3 }, { I32, 0 }, { I32, 1 }, { I64, 0 }, { I64, 1 }, { I64, 2 } };
  if (operation == 3) {
    if (take_byte(&c->reader) != 0) fail(&c->reader, "zero byte expected");
    return;
  }
  if (operation <= 2) return put_slow(c, 0xfe00 + operation, operation == 0 ? "ii:i" : operation == 1 ? "iil:i" : "ill:i", take_offset(c, operation == 2 ? 3 : 2, true), 0);
  if (operation < 0x10 || operation > 0x4e) return fail(&c->reader, "invalid atomic opcode 0xfe%02x", operation);
  const uint32_t kind = (operation - 0x10) / 7;
  const bool is_long = widths[(operation - 0x10) % 7].type == I64;
  static const char *const signatures[9][2] = { { "i:i", "i:l" }, { "ii", "il" }, { "ii:i", "il:l" }, { "ii:i", "il:l" }, { "ii:i", "il:l" }, { "ii:i", "il:l" }, { "ii:i", "il:l" },
    { "ii:i", "il:l" }, { "iii:i", "ill:l" } };
  put_slow(c, 0xfe00 + operation, signatures[kind][is_long], take_offset(c, widths[(operation - 0x10) % 7].alignment, true), 0);
}

static uint8_t type_of_letter(char letter) { return letter == 'i' ? I32 : letter == 'l' ? I64 : letter == 'f' ? F32 : letter == 'd' ? F64 : V128; }

static void check_vector_memory(Checker *c, uint32_t operation)
{
  // What is loaded or stored at a time, by its power of two.
  static const uint8_t alignments[] = { 4, 3, 3, 3, 3, 3, 3, 0, 1, 2, 3, 4 };
  const bool is_lane = operation >= 84 && operation <= 91, stores = operation == 11 || operation >= 88;
  const uint32_t most = operation < 12 ? alignments[operation] : is_lane ? (operation - 84) % 4 : operation - 90;
  const uint32_t offset = take_offset(c, most, false), lane = is_lane ? take_byte(&c->reader) : 0;
  if (is_lane && lane >= 16u >> most) fail(&c->reader, "invalid lane index");
  const bool is_store = stores && operation < 92;
  const Entry vector = is_lane || is_store ? pop(c, V128) : c->nothing, address = pop(c, I32);
  const uint32_t operands[2] = { place_of(c, &address), is_lane || is_store ? place_of(c, &vector) : 0 };
  begin(c, VECTOR_MEMORY);
  put(c, operation);
  put(c, is_store ? 0 : push(c, V128));
  put(c, operands[0]);
  put(c, operands[1]);
  put(c, lane);
  put_32(c, offset);
}

static void check_vector(Checker *c)
{
  const uint32_t operation = take_u32(&c->reader);
  if (operation <= 11 || (operation >= 84 && operation <= 93)) return check_vector_memory(c, operation);
  if (operation == 12) {
    const Bytes bytes = take_bytes(&c->reader, 16);
    begin_result(c, CONSTANT_VECTOR, push(c, V128));
    for (int i = 0; i < 16 && !c->reader.problem->failed; i += 2) put(c, bytes.from[i] | bytes.from[i + 1] << 8);
    return;
  }
  const char *signature = vector_signature(operation);
  if (!signature) return fail(&c->reader, "invalid SIMD opcode 0xfd%02x", operation);
  // Its operands, what it comes to, and how many lanes there are where one is named.
  uint8_t types[3];
  uint32_t count = 0, places[3], lane = 0;
  while (signature[count] != ':') types[count] = type_of_letter(signature[count]), count++;
  const uint8_t result = type_of_letter(signature[count + 1]);
  const uint32_t lanes = signature[count + 2] ? (uint32_t)atoi(signature + count + 2) : 0;
  const Bytes shuffled = operation == 13 ? take_bytes(&c->reader, 16) : (Bytes){ 0 };
  for (int i = 0; operation == 13 && i < 16 && !c->reader.problem->failed; i++) {
    if (shuffled.from[i] >= 32) fail(&c->reader, "invalid shuffle mask");
  }
  if (lanes && operation != 13 && (lane = take_byte(&c->reader)) >= lanes) fail(&c->reader, "invalid lane index");
  for (uint32_t i = count; i > 0; i--) {
    const Entry entry = pop(c, types[i - 1]);
    places[i - 1] = place_of(c, &entry);
  }
  begin(c, VECTOR);
  put(c, operation);
  put(c, push(c, result));
  for (uint32_t i = 0; i < 3; i++) put(c, i < count ? places[i] : lane);
  for (int i = 0; operation == 13 && i < 16 && !c->reader.problem->failed; i += 2) put(c, shuffled.from[i] | shuffled.from[i + 1] << 8);
}

static void check_call(Checker *c, const FunctionType *type, uint32_t operation, uint32_t first, uint32_t table)
{
  const bool is_indirect = operation == CALL_INDIRECT || operation == TAIL_CALL_INDIRECT, is_tail = operation == TAIL_CALL || operation == TAIL_CALL_INDIRECT;
  const Entry index = is_indirect ? pop(c, I32) : c->nothing;
  const uint32_t place = is_indirect ? place_of(c, &index) : 0;
  settle(c, type->parameters);
  for (uint32_t i = type->parameters; i > 0; i--) pop(c, type->types[i - 1]);
  if (c->reader.problem->failed) return;
  if (is_tail && (type->results != c->type->results || memcmp(type->types + type->parameters, c->type->types + c->type->parameters, type->results))) return fail(&c->reader, "tail call type error");
  begin(c, operation);
  put(c, c->next_place);
  put_32(c, first);
  if (is_indirect) {
    put(c, place);
    put_32(c, table);
  }
  if (is_tail) return end_way(c);
  for (uint32_t i = 0; i < type->results; i++) push(c, type->types[type->parameters + i]);
}

static void check_calls(Checker *c, uint8_t operation)
{
  const bool is_tail = operation >= 0x12;
  if (!(operation & 1)) {
    const uint32_t index = take_below(&c->reader, c->module->function_count, "function");
    if (!c->reader.problem->failed) check_call(c, c->module->functions[index], is_tail ? TAIL_CALL : CALL, index, 0);
    return;
  }
  const uint32_t type = take_below(&c->reader, c->module->type_count, "type");
  uint32_t table;
  if (table_type(c, &table) != FUNCREF) fail(&c->reader, "call_indirect: immediate table type is no function");
  if (!c->reader.problem->failed) check_call(c, c->module->types[type], is_tail ? TAIL_CALL_INDIRECT : CALL_INDIRECT, type, table);
}

static void check_select(Checker *c, uint8_t operation)
{
  uint8_t type = UNKNOWN;
  if (operation == 0x1c) {
    if (take_u32(&c->reader) != 1) fail(&c->reader, "Invalid number of types. Select accepts exactly one type");
    type = take_type(&c->reader);
  }
  const Entry condition = pop(c, I32), second = pop(c, type), first = pop(c, type);
  if (operation == 0x1b) {
    type = first.type == UNKNOWN ? second.type : first.type;
    if (is_reference(type) || is_reference(second.type)) fail(&c->reader, "select without type is restricted to number and simd types");
    if (second.type != UNKNOWN && second.type != type) fail(&c->reader, "type error in select");
  }
  const uint32_t places[3] = { place_of(c, &condition), place_of(c, &first), place_of(c, &second) };
  begin_result(c, type == V128 ? SELECT_VECTOR : SELECT, push(c, type));
  for (int i = 0; i < 3; i++) put(c, places[i]);
}

static void check_globals(Checker *c, bool sets)
{
  const uint32_t index = take_below(&c->reader, c->module->global_count, "global");
  if (c->reader.problem->failed) return;
  const GlobalType type = c->module->globals[index];
  const uint32_t kind = type.type == V128 ? 1 : is_reference(type.type) ? 2 : 0;
  if (!sets) {
    begin_result(c, GLOBAL_GET + kind, push(c, type.type));
    return put_32(c, index);
  }
  if (!type.is_mutable) return fail(&c->reader, "immutable global #%u cannot be assigned", index);
  const Entry entry = pop(c, type.type);
  const uint32_t place = place_of(c, &entry);
  begin(c, GLOBAL_SET + kind);
  put(c, place);
  put_32(c, index);
}

static void check_throw(Checker *c)
{
  const uint32_t tag = take_below(&c->reader, c->module->tag_count, "tag");
  if (c->reader.problem->failed) return;
  const FunctionType *type = c->module->tags[tag];
  settle(c, type->parameters);
  for (uint32_t i = type->parameters; i > 0; i--) pop(c, type->types[i - 1]);
  begin(c, THROW);
  put(c, c->next_place);
  put_32(c, tag);
  end_way(c);
}

static void check_references(Checker *c, uint8_t operation)
{
  uint32_t table;
  switch (operation) {
    case 0x25: put_slow(c, 0x25, table_type(c, &table) == FUNCREF ? "i:F" : "i:E", table, 0); break;
    case 0x26: put_slow(c, 0x26, table_type(c, &table) == FUNCREF ? "iF" : "iE", table, 0); break;
    case 0xd0: {
      const uint8_t type = take_type(&c->reader);
      if (!is_reference(type)) fail(&c->reader, "ref.null of no reference");
      push_entry(c, type, is_constant)->constant = (uint64_t)JS_NULL;
      break;
    }
    case 0xd1: {
      const Entry entry = pop(c, UNKNOWN);
      if (entry.type != UNKNOWN && !is_reference(entry.type)) fail(&c->reader, "ref.is_null[0] expected reference type");
      const uint32_t place = place_of(c, &entry);
      begin_result(c, IS_NULL, push(c, I32));
      put(c, place);
      break;
    }
    default: {
      const uint32_t index = take_below(&c->reader, c->module->function_count, "function");
      if (c->reader.problem->failed) return;
      if (!(c->module->is_named[index >> 3] & 1 << (index & 7))) return fail(&c->reader, "undeclared reference to function #%u", index);
      put_slow(c, 0xd2, ":F", index, 0);
    }
  }
}

static void push_constant(Checker *c, uint8_t type, uint64_t value)
{
  if (!c->reader.problem->failed) push_entry(c, type, is_constant)->constant = value;
}

static uint64_t take_bits(Checker *c, uint32_t size)
{
  uint64_t bits = 0;
  const Bytes bytes = take_bytes(&c->reader, size);
  memcpy(&bits, bytes.from, (size_t)(bytes.to - bytes.from));
  return bits;
}

static void check_operation(Checker *c)
{
  const uint8_t operation = take_byte(&c->reader);
  if (c->reader.problem->failed || check_control(c, operation) || check_number(c, operation <= 0xc4 ? operation : 0)) return;
  switch (operation) {
    case 0x08: check_throw(c); break;
    case 0x10 ... 0x13: check_calls(c, operation); break;
    case 0x1a: pop(c, UNKNOWN); break;
    case 0x1b: case 0x1c: check_select(c, operation); break;
    case 0x20: {
      const uint32_t index = take_below(&c->reader, c->local_count, "local");
      if (!c->reader.problem->failed) push_entry(c, c->local_types[index], in_local)->local = (uint16_t)index;
      break;
    }
    case 0x21: case 0x22: {
      const uint32_t index = take_below(&c->reader, c->local_count, "local");
      if (!c->reader.problem->failed) set_local(c, index, operation == 0x22);
      break;
    }
    case 0x23: case 0x24: check_globals(c, operation == 0x24); break;
    case 0x25: case 0x26: case 0xd0: case 0xd1: case 0xd2: check_references(c, operation); break;
    case 0x28 ... 0x3e: check_memory_access(c, operation); break;
    case 0x3f: case 0x40:
      need_memory(c);
      if (take_byte(&c->reader) != 0) fail(&c->reader, "expected memory index 0");
      if (operation == 0x40) return unary(c, MEMORY_GROW, I32, I32);
      begin_result(c, MEMORY_SIZE, push(c, I32));
      break;
    case 0x41: push_constant(c, I32, (uint32_t)take_leb(&c->reader, 32, true)); break;
    case 0x42: push_constant(c, I64, take_leb(&c->reader, 64, true)); break;
    case 0x43: push_constant(c, F32, take_bits(c, 4)); break;
    case 0x44: push_constant(c, F64, take_bits(c, 8)); break;
    case 0xfc: check_extended(c); break;
    case 0xfd: check_vector(c); break;
    case 0xfe: check_atomic(c); break;
    default: c->reader.at--; fail(&c->reader, "invalid opcode 0x%x", operation);
  }
}

static void take_locals(Checker *c)
{
  enum { most_locals = 50000 };
  const uint8_t *at = c->reader.at;
  uint64_t count = c->type->parameters;
  for (int pass = 0; pass < 2 && !c->reader.problem->failed; pass++) {
    c->reader.at = at;
    uint32_t place = 0, local = 0;
    for (; pass && local < c->type->parameters; local++) {
      c->local_types[local] = c->type->types[local];
      c->local_places[local] = (uint16_t)place;
      place += places_of(c->type->types[local]);
    }
    for (uint32_t groups = take_u32(&c->reader); groups > 0 && !c->reader.problem->failed; groups--) {
      const uint32_t many = take_u32(&c->reader);
      const uint8_t type = take_type(&c->reader);
      if (!pass && (count += many) > most_locals) return fail(&c->reader, "local count too large");
      for (uint32_t i = 0; pass && i < many; i++, local++) {
        c->local_types[local] = type;
        c->local_places[local] = (uint16_t)place;
        place += places_of(type);
      }
    }
    if (pass) {
      c->next_place = c->most_places = place;
      if (place > most_places) fail(&c->reader, "local count too large");
      return;
    }
    c->local_count = (uint32_t)count;
    c->local_types = malloc(count + 1);
    c->local_places = malloc((count + 1) * sizeof *c->local_places);
    if (!c->local_types || !c->local_places) fail(&c->reader, "out of memory");
  }
}

// References begin as null.
static void put_null_locals(Checker *c)
{
  for (uint32_t i = c->type->parameters; i < c->local_count; i++) {
    if (!is_reference(c->local_types[i])) continue;
    begin(c, CONSTANT_64);
    put(c, c->local_places[i]);
    put_32(c, (uint32_t)(uint64_t)JS_NULL);
    put_32(c, (uint32_t)((uint64_t)JS_NULL >> 32));
  }
}

bool check_function(const Module *module, uint32_t index, Code *code, Problem *problem)
{
  const Bytes body = module->codes[index - module->imported_functions].body;
  Checker c = { .reader = { module->bytes, body.from, body.to, problem }, .module = module, .type = module->functions[index], .code = code, .live = true, .last = none };
  take_locals(&c);
  const uint32_t local_places = c.next_place;
  if (!problem->failed) {
    put_null_locals(&c);
    push_control(&c, a_block, c.type->types, c.type->parameters, c.type->results);
    while (c.depth > 0 && !problem->failed) {
      if (c.reader.at >= c.reader.end) fail(&c.reader, "function body must end with \"end\" opcode");
      else check_operation(&c);
    }
    if (c.reader.at != c.reader.end) fail(&c.reader, "operators remaining after end of function");
  }
  free(c.local_types);
  free(c.local_places);
  free(c.stack);
  free(c.controls);
  if (!problem->failed && code) {
    code->words = c.words;
    code->count = c.count;
    code->handlers = c.handlers;
    code->handler_count = c.handler_count;
    code->local_places = local_places;
    // Results come where the parameters were.
    code->frame_places = c.most_places > c.type->result_places ? c.most_places : c.type->result_places;
    return true;
  }
  free(c.words);
  free(c.handlers);
  if (!problem->failed) return true;
  char text[200];
  snprintf(text, sizeof text, "%s", problem->text);
  snprintf(problem->text, sizeof problem->text, "Compiling function #%u failed: %s", index, text);
  return false;
}
