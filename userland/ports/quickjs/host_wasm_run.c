// Runs the code of functions of WebAssembly. One loop runs all calls between them: only what a function of JavaScript calls begins another one.
#include <math.h>

#include "host_wasm_code.h"
#include "host_wasm.h"

typedef struct { const uint16_t *pc; uint64_t *fp; const Code *code; Instance *instance; } Frame;

enum { all_places = 1 << 19, all_frames = 1 << 16 };

// Places of all calls that are going on, and who called.
static uint64_t *places, *places_end, *places_free;
static Frame *frames;
static uint32_t frame_count;
static int depth;
enum { no_level = 0xffffffff };

// References that are in places belong to these until the outermost call returns, or until so many are there that it is worth looking which are still in places.
static JSValue *kept;
static uint32_t kept_count, kept_room, kept_look = 4096;
static Instance **pinned;
static uint32_t pinned_count, pinned_room;

// The last trap: no program catches it.
static JSValue last_trap = JS_UNDEFINED;

JSValue throw_trap(JSContext *ctx, const char *text)
{
  throw_wasm(ctx, "RuntimeError", text);
  JSValue error = JS_GetException(ctx);
  JS_FreeValue(ctx, last_trap);
  last_trap = JS_DupValue(ctx, error);
  return JS_Throw(ctx, error);
}

static int throw_overflow(JSContext *ctx)
{
  JS_ThrowRangeError(ctx, "Maximum call stack size exceeded");
  return -1;
}

static bool is_same(JSValueConst one, JSValueConst other) { return (uint64_t)one == (uint64_t)other; }

static int compare_values(const void *one, const void *other)
{
  const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return a < b ? -1 : a > b;
}

// Gives up what no place holds any more. What only looks like one of them stays too.
static void look_through_kept(JSContext *ctx)
{
  const size_t count = (size_t)(places_free - places);
  uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
  uint32_t stay = 0;
  if (!sorted) return;
  memcpy(sorted, places, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_values);
  qsort(kept, kept_count, sizeof *kept, compare_values);
  JSValue *freed = malloc((kept_count + 1) * sizeof *freed);
  uint32_t freed_count = 0;
  for (uint32_t i = 0; freed && i < kept_count; i++) {
    const bool again = stay > 0 && is_same(kept[stay - 1], kept[i]);
    const uint64_t value = (uint64_t)kept[i];
    if (again || !bsearch(&value, sorted, count, sizeof value, compare_values)) freed[freed_count++] = kept[i];
    else kept[stay++] = kept[i];
  }
  if (freed) kept_count = stay;
  free(sorted);
  kept_look = kept_count < 2048 ? 4096 : 2 * kept_count;
  // This may run finalizers of scripts' objects, which must find everything in order.
  for (uint32_t i = 0; i < freed_count; i++) JS_FreeValue(ctx, freed[i]);
  free(freed);
}

// Takes the value over; what it answers is for a place.
JSValue keep_reference(JSContext *ctx, JSValue value)
{
  if (!JS_VALUE_HAS_REF_COUNT(value)) return value;
  if (kept_count == kept_room) {
    const uint32_t room = kept_room ? 2 * kept_room : 256;
    JSValue *more = realloc(kept, room * sizeof *more);
    if (!more) return value;  // It is lost rather than freed too early.
    kept = more;
    kept_room = room;
  }
  kept[kept_count++] = value;
  return value;
}

static bool pin(Instance *instance)
{
  if (instance->is_pinned) return true;
  if (pinned_count == pinned_room) {
    const uint32_t room = pinned_room ? 2 * pinned_room : 16;
    Instance **more = realloc(pinned, room * sizeof *more);
    if (!more) return false;
    pinned = more;
    pinned_room = room;
  }
  JS_DupValue(instance->context, instance->self);
  instance->is_pinned = true;
  pinned[pinned_count++] = instance;
  return true;
}

static void let_go(JSContext *ctx)
{
  while (kept_count > 0) JS_FreeValue(ctx, kept[--kept_count]);
  while (pinned_count > 0) {
    Instance *instance = pinned[--pinned_count];
    instance->is_pinned = false;
    JS_FreeValue(ctx, (JSValue)instance->self);
  }
  kept_look = 4096;
}

// Places for the parameters and results of a call.
uint64_t *free_places(JSContext *ctx, uint32_t count)
{
  if (!places) {
    places = malloc(all_places * sizeof *places);
    frames = malloc(all_frames * sizeof *frames);
    if (!places || !frames) {
      free(places);
      free(frames);
      places = NULL;
      JS_ThrowOutOfMemory(ctx);
      return NULL;
    }
    places_free = places;
    places_end = places + all_places;
  }
  if (count > (size_t)(places_end - places_free)) {
    throw_overflow(ctx);
    return NULL;
  }
  uint64_t *from = places_free;
  places_free += count;
  return from;
}

void give_places_back(uint64_t *from) { places_free = from; }

static const uint16_t *code_of(JSContext *ctx, const Function *function)
{
  Code *code = function->code;
  if (code->words) return code->words;
  Problem problem = { .failed = false };
  if (check_function(function->instance->module, function->index, code, &problem) && code->words) return code->words;
  JS_ThrowOutOfMemory(ctx);
  return NULL;
}

static uint32_t number_at(const uint16_t *pc)
{
  uint32_t number;
  memcpy(&number, pc, sizeof number);
  return number;
}

// Whether a handler takes it: then what it carries is in its places.
static bool takes(JSContext *ctx, const Instance *instance, const Handler *handler, JSValueConst thrown, uint64_t *fp)
{
  const Exception *exception = JS_GetOpaque(thrown, exception_class);
  if (handler->tag != any_tag && (!exception || !is_same(exception->tag, instance->tag_objects[handler->tag]))) return false;
  fp[handler->place] = (uint64_t)keep_reference(ctx, JS_DupValue(ctx, thrown));
  if (handler->tag == any_tag) return true;
  memcpy(fp + handler->place + 1, exception->places, exception->type->parameter_places * sizeof *fp);
  for (uint32_t i = 0, place = 0; i < exception->type->parameters; place += places_of(exception->type->types[i++])) {
    if (is_reference(exception->type->types[i])) keep_reference(ctx, JS_DupValue(ctx, (JSValue)exception->places[place]));
  }
  return true;
}

// Where the function goes on with it; null: not in this one.
// `behind` is behind the first word of the instruction, or behind a call.
static const uint16_t *find_handler(JSContext *ctx, const Instance *instance, const Code *code, const uint16_t *behind, JSValueConst thrown, uint64_t *fp)
{
  const uint32_t at = (uint32_t)(behind - code->words);
  uint32_t level = no_level;
  for (uint32_t i = 0; i < code->handler_count; i++) {
    const Handler *handler = &code->handlers[i];
    if (at <= handler->from || at > handler->to || handler->level > level) continue;
    if (handler->tag == to_delegate) level = handler->target;
    else if (takes(ctx, instance, handler, thrown, fp)) return code->words + handler->target;
  }
  return NULL;
}

static int call_of_script(JSContext *ctx, Function *function, uint64_t *at, uint64_t *end)
{
  const FunctionType *type = function->type;
  const uint32_t wanted = type->parameter_places > type->result_places ? type->parameter_places : type->result_places;
  if (wanted > (size_t)(places_end - at)) return throw_overflow(ctx);
  // What it calls begins behind the frame of its caller.
  places_free = at + wanted > end ? at + wanted : end;
  return call_host(ctx, function, at);
}

static int check_time(JSContext *ctx)
{
  if (!time_is_over()) return 0;
  JS_ThrowInternalError(ctx, "interrupted");
  JSValue error = JS_GetException(ctx);
  JS_SetUncatchableError(ctx, error);
  JS_Throw(ctx, error);
  return -1;
}

#include "host_wasm_numbers.h"

// A place is read as what the instruction says that it is.
#define PLACE(type, place) (*(type __attribute__((may_alias)) *)(fp + (place)))
#define U32(place) PLACE(uint32_t, place)
#define S32(place) PLACE(int32_t, place)
#define U64(place) (fp[place])
#define S64(place) PLACE(int64_t, place)
#define R32(place) PLACE(float, place)
#define R64(place) PLACE(double, place)
#define D (pc[1])
#define A (pc[2])
#define B (pc[3])

#define TRAP(text) do { throw_trap(ctx, text); goto thrown; } while (0)
#define UNARY(operation, to, from, expression) case operation: { const __typeof__(from(0)) a = from(A); to(D) = (expression); pc += 3; break; }
#define BINARY(operation, to, from, expression) case operation: { const __typeof__(from(0)) a = from(A), b = from(B); to(D) = (expression); pc += 4; break; }
// With a number in place of the second operand as well.
#define BINARY_32(operation, from, expression) BINARY(operation, U32, from, expression) \
  case WITH_32 + operation - 0x46: { const __typeof__(from(0)) a = from(A), b = (__typeof__(from(0)))number_at(pc + 3); U32(D) = (uint32_t)(expression); pc += 5; break; }
#define BINARY_64(operation, to, from, expression) BINARY(operation, to, from, expression) \
  case WITH_64 + operation - 0x51: { const __typeof__(from(0)) a = from(A), b = (__typeof__(from(0)))(int64_t)(int32_t)number_at(pc + 3); to(D) = (expression); pc += 5; break; }
#define COMPARE(which, one, two, expression) BINARY_32(0x46 + which, one, expression) BINARY_64(0x51 + which, U32, two, expression) \
  case JUMP_32 + which: { const __typeof__(one(0)) a = one(pc[1]), b = one(pc[2]); pc = (expression) ? words + number_at(pc + 3) : pc + 5; break; } \
  case JUMP_32_WITH + which: { const __typeof__(one(0)) a = one(pc[1]), b = (__typeof__(one(0)))number_at(pc + 2); pc = (expression) ? words + number_at(pc + 4) : pc + 6; break; } \
  case JUMP_64 + which: { const __typeof__(two(0)) a = two(pc[1]), b = two(pc[2]); pc = (expression) ? words + number_at(pc + 3) : pc + 5; break; } \
  case JUMP_64_WITH + which: { const __typeof__(two(0)) a = two(pc[1]), b = (__typeof__(two(0)))(int64_t)(int32_t)number_at(pc + 2); pc = (expression) ? words + number_at(pc + 4) : pc + 6; break; }
#define LOAD(operation, to, type, wide) case operation: { \
    const uint64_t at = (uint64_t)U32(A) + number_at(pc + 3); \
    type loaded; \
    if (at + sizeof loaded > memory_size) goto out_of_bounds; \
    memcpy(&loaded, memory + at, sizeof loaded); \
    to(D) = (wide)loaded; \
    pc += 5; \
    break; \
  }
#define STORE(operation, from, type) case operation: { \
    const uint64_t at = (uint64_t)U32(D) + number_at(pc + 3); \
    const type stored = (type)from(A); \
    if (at + sizeof stored > memory_size) goto out_of_bounds; \
    memcpy(memory + at, &stored, sizeof stored); \
    pc += 5; \
    break; \
  }
#define DIVIDE(operation, from, minus_one, least, is_signed, text, expression, overflow) case operation: { \
    const __typeof__(from(0)) a = from(A), b = from(B); \
    if (b == 0) TRAP(text); \
    if (is_signed && b == (__typeof__(from(0)))-1) { \
      if (!minus_one && a == least) TRAP("divide result unrepresentable"); \
      from(D) = overflow; \
    } else { \
      from(D) = expression; \
    } \
    pc += 4; \
    break; \
  }
#define TRUNCATE(operation, to, from, type, above, below) case operation: { \
    const __typeof__(from(0)) a = from(A); \
    if (!(a above && a below)) TRAP("float unrepresentable in integer range"); \
    to(D) = (type)a; \
    pc += 3; \
    break; \
  }
#define LOOK_AT_MEMORY() (memory = instance->memory ? instance->memory->data : NULL, memory_size = instance->memory ? instance->memory->size : 0)
#define ENTER(function, at) do { \
    Function *const entered = (function); \
    code = entered->code; \
    if (entered->instance != instance) { \
      instance = entered->instance; \
      if (!pin(instance)) { JS_ThrowOutOfMemory(ctx); goto thrown_in_caller; } \
    } \
    words = pc = code->words ? code->words : code_of(ctx, entered); \
    if (!pc) goto thrown_in_caller; \
    fp = (at); \
    if (code->frame_places + 8 > (size_t)(places_end - fp)) { throw_overflow(ctx); goto thrown_in_caller; } \
    for (uint32_t place = entered->type->parameter_places; place < code->local_places; place++) fp[place] = 0; \
    LOOK_AT_MEMORY(); \
  } while (0)
#define LEAVE() do { \
    const Frame *const caller = &frames[--frame_count]; \
    pc = caller->pc; \
    fp = caller->fp; \
    code = caller->code; \
    instance = caller->instance; \
  } while (0)

// Runs the function whose parameters are at `fp`, until it has returned to `base` frames. -1: with an exception.
static int run(JSContext *ctx, Function *begun, uint64_t *fp, const uint32_t base)
{
  Instance *instance = NULL;
  Function *called;
  uint64_t *arguments;
  const Code *code = NULL;
  const uint16_t *pc = NULL, *words = NULL, *next, *behind;
  uint8_t *memory;
  uint64_t memory_size;
  uint32_t turns = 0;
  if (frame_count == all_frames) return throw_overflow(ctx);
  frames[frame_count++] = (Frame){ .fp = fp };
  ENTER(begun, fp);
  for (;;) {
    switch (*pc) {
#include "host_wasm_cases.h"
      default: __builtin_unreachable();
    }
    continue;
  out_of_bounds:
    throw_trap(ctx, "memory access out of bounds");
  thrown:
    behind = pc + 1;
    goto find;
  thrown_in_caller:
    LEAVE();
    behind = pc;
  find:;
    JSValue thrown = JS_GetException(ctx);
    const bool is_final = JS_IsUncatchableError(thrown) || (is_same(thrown, last_trap) && JS_IsObject(thrown));
    while (frame_count != base) {
      const uint16_t *handler = is_final ? NULL : find_handler(ctx, instance, code, behind, thrown, fp);
      if (handler) {
        pc = handler;
        break;
      }
      LEAVE();
      behind = pc;
    }
    if (frame_count == base) {
      JS_Throw(ctx, thrown);
      return -1;
    }
    JS_FreeValue(ctx, thrown);
    words = code->words;
    LOOK_AT_MEMORY();
  }
}

void enter_program(void) { depth++; }

void leave_program(JSContext *ctx)
{
  if (--depth > 0) return;
  let_go(ctx);
}

int call_function(JSContext *ctx, Function *function, uint64_t *at)
{
  const FunctionType *type = function->type;
  const uint32_t wanted = type->parameter_places > type->result_places ? type->parameter_places : type->result_places;
  uint64_t *const before = places_free;
  if (wanted > (size_t)(places_end - at)) return throw_overflow(ctx);
  const int result = function->code ? run(ctx, function, at, frame_count) : call_of_script(ctx, function, at, places_free);
  places_free = before;
  return result;
}
