// What programs of WebAssembly seldom do: tables, pieces of memory at once, and atomic access, which with one thread is plain access to addresses of the right kind.
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "host_wasm.h"

static int trap(JSContext *ctx, const char *text)
{
  throw_trap(ctx, text);
  return -1;
}

static int table_is_short(JSContext *ctx) { return trap(ctx, "table index is out of bounds"); }
static int memory_is_short(JSContext *ctx) { return trap(ctx, "memory access out of bounds"); }
static uint32_t number(const uint64_t *place) { return (uint32_t)*place; }

static int table_init(JSContext *ctx, Instance *instance, const uint64_t *at, uint32_t segment, uint32_t index)
{
  const ElementSegment *from = &instance->module->elements[segment];
  Table *table = instance->tables[index];
  const uint64_t to = number(at), first = number(at + 1), count = number(at + 2);
  const uint32_t there = instance->is_dropped_element[segment] ? 0 : from->count;
  if (to + count > table->size) return table_is_short(ctx);
  if (first + count > there) return trap(ctx, "element segment out of bounds");
  for (uint64_t i = 0; i < count; i++) {
    if (from->functions) {
      set_function_element(ctx, table, (uint32_t)(to + i), instance->functions[from->functions[first + i]]);
      continue;
    }
    uint64_t place[2];
    if (!constant_of(ctx, instance, from->values[first + i], place)) return -1;
    set_element(ctx, table, (uint32_t)(to + i), (JSValue)place[0]);
    JS_FreeValue(ctx, (JSValue)place[0]);
  }
  return 0;
}

static int table_copy(JSContext *ctx, Table *to, Table *from, const uint64_t *at)
{
  const uint64_t first = number(at), second = number(at + 1), count = number(at + 2);
  if (first + count > to->size || second + count > from->size) return table_is_short(ctx);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t one = first <= second ? i : count - 1 - i;
    const Element element = from->elements[second + one];
    if (element.function) set_function_element(ctx, to, (uint32_t)(first + one), element.function);
    else set_element(ctx, to, (uint32_t)(first + one), element.value);
  }
  return 0;
}

static int table_operation(JSContext *ctx, Instance *instance, uint32_t operation, uint64_t *at, uint32_t first, uint32_t second)
{
  Table *table = instance->tables[operation == 0xfc0c ? second : first];
  switch (operation) {
    case 0x25: {
      if (number(at) >= table->size) return table_is_short(ctx);
      const JSValue value = element_of(ctx, table, number(at));
      if (JS_IsException(value)) return -1;
      at[0] = (uint64_t)keep_reference(ctx, value);
      return 0;
    }
    case 0x26:
      if (number(at) >= table->size) return table_is_short(ctx);
      set_element(ctx, table, number(at), (JSValue)at[1]);
      return 0;
    case 0xfc0c: return table_init(ctx, instance, at, first, second);
    case 0xfc0e: return table_copy(ctx, table, instance->tables[second], at);
    case 0xfc0f: at[0] = (uint32_t)grow_table(ctx, table, number(at + 1), (JSValue)at[0]); return 0;
    case 0xfc10: at[0] = table->size; return 0;
    default:
      if ((uint64_t)number(at) + number(at + 2) > table->size) return table_is_short(ctx);
      for (uint32_t i = 0; i < number(at + 2); i++) set_element(ctx, table, number(at) + i, (JSValue)at[1]);
      return 0;
  }
}

static int memory_operation(JSContext *ctx, Instance *instance, uint32_t operation, const uint64_t *at, uint32_t segment)
{
  Memory *memory = instance->memory;
  const uint64_t to = number(at), from = number(at + 1), count = number(at + 2);
  if (to + count > memory->size) return memory_is_short(ctx);
  if (operation == 0xfc0b) {
    if (count) memset(memory->data + to, (int)(from & 0xff), count);
    return 0;
  }
  if (operation == 0xfc0a) {
    if (from + count > memory->size) return memory_is_short(ctx);
    if (count) memmove(memory->data + to, memory->data + from, count);
    return 0;
  }
  const Bytes bytes = instance->module->data[segment].bytes;
  if (from + count > (instance->is_dropped_data[segment] ? 0 : (uint64_t)(bytes.to - bytes.from))) return memory_is_short(ctx);
  if (count) memcpy(memory->data + to, bytes.from + from, count);
  return 0;
}

// There is nobody who could wake it: it waits for as long as it may.
static int wait_for_nobody(JSContext *ctx, Memory *memory, uint64_t *at, uint64_t address, uint32_t size)
{
  uint64_t there = 0, expected = at[1];
  if (size == 4) expected = (uint32_t)expected;
  if (!memory->limits.is_shared) return trap(ctx, "Atomics.wait cannot be called in this context");
  memcpy(&there, memory->data + address, size);
  if (there != expected) {
    at[0] = 1;
    return 0;
  }
  const int64_t timeout_ns = (int64_t)at[2];
  struct timespec wait = { timeout_ns < 0 ? INT32_MAX : timeout_ns / 1000000000, timeout_ns < 0 ? 0 : timeout_ns % 1000000000 };
  while (nanosleep(&wait, &wait) < 0 && errno == EINTR) {}
  at[0] = 2;
  return 0;
}

static uint64_t changed(uint32_t kind, uint64_t there, uint64_t operand, uint64_t replacement)
{
  switch (kind) {
    case 2: return there + operand;
    case 3: return there - operand;
    case 4: return there & operand;
    case 5: return there | operand;
    case 6: return there ^ operand;
    case 7: return operand;
    default: return there == operand ? replacement : there;
  }
}

static int atomic_operation(JSContext *ctx, Memory *memory, uint32_t operation, uint64_t *at, uint32_t offset)
{
  static const uint8_t sizes[7] = { 4, 8, 1, 2, 1, 2, 4 };
  const uint32_t size = operation == 2 ? 8 : operation < 2 ? 4 : sizes[(operation - 0x10) % 7];
  const uint64_t address = (uint64_t)number(at) + offset;
  if (address % size) return trap(ctx, "operation does not support unaligned accesses");
  if (address + size > memory->size) return memory_is_short(ctx);
  if (operation == 0) {
    at[0] = 0;
    return 0;
  }
  if (operation <= 2) return wait_for_nobody(ctx, memory, at, address, size);
  const uint32_t kind = (operation - 0x10) / 7;
  const uint64_t mask = size == 8 ? ~UINT64_C(0) : (UINT64_C(1) << 8 * size) - 1;
  uint64_t there = 0;
  if (kind != 1) memcpy(&there, memory->data + address, size);
  // What is compared is the whole number, as it is given.
  const uint64_t operand = operation < 0x48 ? at[1] & mask : (operation - 0x10) % 7 == 1 || (operation - 0x10) % 7 > 3 ? at[1] : (uint32_t)at[1];
  const uint64_t after = kind == 1 ? operand : kind == 0 ? there : changed(kind, there, operand, kind == 8 ? at[2] & mask : 0);
  if (kind != 0) memcpy(memory->data + address, &after, size);
  if (kind != 1) at[0] = there;
  return 0;
}

int slow_operation(JSContext *ctx, Instance *instance, uint32_t operation, uint64_t *at, uint32_t first, uint32_t second)
{
  if (operation >= 0xfe00) return atomic_operation(ctx, instance->memory, operation - 0xfe00, at, first);
  switch (operation) {
    case 0xd2: {
      const JSValue function = object_of_function(ctx, instance->functions[first]);
      if (JS_IsException(function)) return -1;
      at[0] = (uint64_t)keep_reference(ctx, function);
      return 0;
    }
    case 0xfc08: case 0xfc0a: case 0xfc0b: return memory_operation(ctx, instance, operation, at, first);
    case 0xfc09: instance->is_dropped_data[first] = 1; return 0;
    case 0xfc0d: instance->is_dropped_element[first] = 1; return 0;
    default: return table_operation(ctx, instance, operation, at, first, second);
  }
}
