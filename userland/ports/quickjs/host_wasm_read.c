// Reads a module of WebAssembly: its sections, and with host_wasm_check.c the bodies of its functions. The bytes are anybody's.
#include "host_wasm_reader.h"

enum { most_types = 1000000, most_functions = 1000000, most_imports = 1000000, most_exports = 1000000, most_globals = 1000000, most_tables = 100000, most_segments = 10000000,
  most_tags = 1000000, most_parameters = 1000, most_results = 1000 };

static FunctionType *all_types[1024];

const FunctionType *function_type(const uint8_t *parameters, uint32_t parameter_count, const uint8_t *results, uint32_t result_count)
{
  uint32_t hash = 2166136261u ^ parameter_count;
  for (uint32_t i = 0; i < parameter_count; i++) hash = (hash ^ parameters[i]) * 16777619u;
  for (uint32_t i = 0; i < result_count; i++) hash = (hash ^ results[i]) * 16777619u;
  FunctionType **bucket = &all_types[hash % 1024];
  for (FunctionType *type = *bucket; type; type = type->next) {
    if (type->parameters == parameter_count && type->results == result_count && !memcmp(type->types, parameters, parameter_count) &&
        !memcmp(type->types + parameter_count, results, result_count)) return type;
  }
  FunctionType *type = calloc(1, sizeof *type + parameter_count + result_count);
  if (!type) return NULL;
  type->parameters = parameter_count;
  type->results = result_count;
  for (uint32_t i = 0; i < parameter_count; i++) type->parameter_places += places_of(type->types[i] = parameters[i]);
  for (uint32_t i = 0; i < result_count; i++) type->result_places += places_of(type->types[parameter_count + i] = results[i]);
  type->next = *bucket;
  *bucket = type;
  return type;
}

// Room for `more` entries after `count`, with nothing in it. There are never more entries than bytes that say them.
static void *more_room(Reader *reader, void *old, uint32_t count, uint32_t more, size_t each)
{
  if (reader->problem->failed) return old;
  uint8_t *grown = realloc(old, ((size_t)count + more) * each + 1);
  if (!grown) {
    fail(reader, "out of memory");
    return old;
  }
  memset(grown + count * each, 0, more * each);
  return grown;
}

static uint32_t take_count(Reader *reader, uint32_t most, const char *what)
{
  const uint32_t count = take_u32(reader);
  if (count > most) fail(reader, "%s count of %u exceeds internal limit of %u", what, count, most);
  else if (count > (size_t)(reader->end - reader->at)) fail(reader, "expected %u %s, fell off end", count, what);
  return reader->problem->failed ? 0 : count;
}

static bool is_utf8(Bytes text)
{
  for (const uint8_t *at = text.from; at < text.to;) {
    const uint8_t first = *at++;
    if (first < 0x80) continue;
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || text.to - at < more) return false;
    uint32_t point = first & (0x3f >> more);
    for (int i = 0; i < more; i++) {
      if ((*at & 0xc0) != 0x80) return false;
      point = point << 6 | (*at++ & 0x3f);
    }
    if ((more == 2 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) || (more == 3 && (point < 0x10000 || point > 0x10ffff))) return false;
  }
  return true;
}

static Bytes take_name(Reader *reader)
{
  const Bytes name = take_bytes(reader, take_u32(reader));
  if (!is_utf8(name)) fail(reader, "invalid UTF-8 string");
  return name;
}

static Limits take_limits(Reader *reader, uint32_t most, const char *what, bool may_be_shared)
{
  Limits limits = { 0 };
  const uint8_t flags = take_byte(reader);
  if (flags > (may_be_shared ? 3 : 1)) fail(reader, "invalid %s limits flags 0x%x", what, flags);
  limits.is_shared = flags & 2;
  limits.has_most = flags & 1;
  if (limits.is_shared && !limits.has_most) fail(reader, "shared memory must have a maximum defined");
  limits.least = take_u32(reader);
  if (limits.least > most) fail(reader, "initial %s size (%u) is larger than implementation limit (%u)", what, limits.least, most);
  if (!limits.has_most) return limits;
  limits.most = take_u32(reader);
  if (may_be_shared && limits.most > most) fail(reader, "maximum %s size (%u pages) is larger than implementation limit (%u pages)", what, limits.most, most);
  if (limits.most < limits.least) fail(reader, "maximum %s size (%u) is lower than the initial (%u)", what, limits.most, limits.least);
  return limits;
}

static TableType take_table(Reader *reader)
{
  TableType type = { .element = take_type(reader) };
  if (!is_reference(type.element)) fail(reader, "table type must be a reference");
  type.limits = take_limits(reader, most_elements, "table", false);
  return type;
}

static GlobalType take_global(Reader *reader)
{
  GlobalType type = { .type = take_type(reader) };
  const uint8_t mutability = take_byte(reader);
  if (mutability > 1) fail(reader, "invalid mutability bit pattern");
  type.is_mutable = mutability;
  return type;
}

static const FunctionType *take_tag(Reader *reader, const Module *module)
{
  if (take_byte(reader) != 0) fail(reader, "exception attribute must be 0");
  const uint32_t index = take_below(reader, module->type_count, "type");
  if (reader->problem->failed) return NULL;
  if (module->types[index]->results) fail(reader, "tag signature %u has non-void return", index);
  return module->types[index];
}

static void read_types(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_types, "types");
  module->types = more_room(reader, NULL, 0, count, sizeof *module->types);
  while (module->type_count < count && !reader->problem->failed) {
    uint8_t types[2][most_parameters];
    uint32_t counts[2];
    if (take_byte(reader) != 0x60) {
      reader->at--;
      fail(reader, "unknown type form: %d, expected 0x60", *reader->at);
    }
    for (int which = 0; which < 2; which++) {
      counts[which] = take_count(reader, which ? most_results : most_parameters, which ? "return" : "param");
      for (uint32_t i = 0; i < counts[which]; i++) types[which][i] = take_type(reader);
    }
    if (reader->problem->failed) return;
    const FunctionType *type = function_type(types[0], counts[0], types[1], counts[1]);
    if (!type) return fail(reader, "out of memory");
    module->types[module->type_count++] = type;
  }
}

#define ADD(list, count, value) do { \
    if (((count) & ((count) - 1)) == 0) (list) = more_room(reader, (list), (count), (count) ? (count) : 1, sizeof *(list)); \
    if (!reader->problem->failed) (list)[(count)++] = (value); \
  } while (0)

static void read_imports(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_imports, "imports");
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) {
    Import import = { .module = take_name(reader), .name = take_name(reader), .kind = take_byte(reader) };
    switch (import.kind) {
      case OF_FUNCTION: {
        const uint32_t index = take_below(reader, module->type_count, "type");
        import.index = module->function_count;
        if (!reader->problem->failed) ADD(module->functions, module->function_count, module->types[index]);
        break;
      }
      case OF_TABLE: import.index = module->table_count; ADD(module->tables, module->table_count, take_table(reader)); break;
      case OF_MEMORY: import.index = module->memory_count; ADD(module->memories, module->memory_count, take_limits(reader, most_pages, "memory", true)); break;
      case OF_GLOBAL: import.index = module->global_count; ADD(module->globals, module->global_count, take_global(reader)); break;
      case OF_TAG: import.index = module->tag_count; ADD(module->tags, module->tag_count, take_tag(reader, module)); break;
      default: reader->at--; fail(reader, "unknown import desc code 0x%02x", import.kind);
    }
    ADD(module->imports, module->import_count, import);
  }
  if (module->memory_count > 1) fail(reader, "multiple memories are not allowed");
}

// What ADD has made room for in steps.
#define AFTER(list, count, more) ((list) = more_room(reader, (list), (count), (more), sizeof *(list)))

static void make_names(Reader *reader, Module *module)
{
  free(module->is_named);
  module->is_named = more_room(reader, NULL, 0, module->function_count / 8 + 1, 1);
}

static void read_functions(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_functions, "functions");
  AFTER(module->functions, module->function_count, count);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) {
    const uint32_t index = take_below(reader, module->type_count, "type");
    if (!reader->problem->failed) module->functions[module->function_count++] = module->types[index];
  }
  make_names(reader, module);
}

static void read_tables(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_tables, "tables");
  AFTER(module->tables, module->table_count, count);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) module->tables[module->table_count++] = take_table(reader);
}

static void read_memories(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, 100000, "memory");
  AFTER(module->memories, module->memory_count, count);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) module->memories[module->memory_count++] = take_limits(reader, most_pages, "memory", true);
  if (module->memory_count > 1) fail(reader, "multiple memories are not allowed");
}

static void read_tags(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_tags, "tags");
  AFTER(module->tags, module->tag_count, count);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) module->tags[module->tag_count++] = take_tag(reader, module);
}

static void name_function(Module *module, uint32_t index) { module->is_named[index >> 3] |= (uint8_t)(1 << (index & 7)); }

// A constant expression: what it must come to, and what it may ask for. Only its bytes are kept.
static Bytes take_constant(Reader *reader, Module *module, uint8_t wanted)
{
  uint8_t stack[16];
  uint32_t height = 0;
  const uint8_t *from = reader->at;
  while (!reader->problem->failed) {
    const uint8_t operation = take_byte(reader);
    uint8_t type = UNKNOWN;
    switch (operation) {
      case 0x0b:
        if (height != 1 || stack[0] != wanted) fail(reader, "type error in constant expression");
        return (Bytes){ from, reader->at };
      case 0x41: take_leb(reader, 32, true); type = I32; break;
      case 0x42: take_leb(reader, 64, true); type = I64; break;
      case 0x43: take_bytes(reader, 4); type = F32; break;
      case 0x44: take_bytes(reader, 8); type = F64; break;
      case 0xfd:
        if (take_u32(reader) != 12) fail(reader, "opcode is not allowed in constant expressions");
        take_bytes(reader, 16);
        type = V128;
        break;
      case 0xd0:
        type = take_type(reader);
        if (!is_reference(type)) fail(reader, "ref.null of no reference");
        break;
      case 0xd2: {
        const uint32_t index = take_below(reader, module->function_count, "function");
        if (!reader->problem->failed) name_function(module, index);
        type = FUNCREF;
        break;
      }
      case 0x23: {
        const uint32_t index = take_below(reader, module->global_count, "global");
        if (reader->problem->failed) break;
        if (module->globals[index].is_mutable) fail(reader, "mutable globals cannot be used in constant expressions");
        type = module->globals[index].type;
        break;
      }
      case 0x6a: case 0x6b: case 0x6c: case 0x7c: case 0x7d: case 0x7e:
        type = operation < 0x70 ? I32 : I64;
        if (height < 2 || stack[height - 1] != type || stack[height - 2] != type) fail(reader, "type error in constant expression");
        else height -= 2;
        break;
      default: reader->at--; fail(reader, "opcode 0x%02x is not allowed in constant expressions", operation);
    }
    if (height == sizeof stack) fail(reader, "constant expression is too deep");
    else stack[height++] = type;
  }
  return (Bytes){ from, from };
}

static void read_globals(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_globals, "globals");
  AFTER(module->globals, module->global_count, count);
  module->initial = more_room(reader, NULL, 0, count, sizeof *module->initial);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) {
    const GlobalType type = take_global(reader);
    module->initial[i] = take_constant(reader, module, type.type);
    if (!reader->problem->failed) module->globals[module->global_count++] = type;
  }
}

static void read_exports(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_exports, "exports");
  module->exports = more_room(reader, NULL, 0, count, sizeof *module->exports);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) {
    Export export = { .name = take_name(reader), .kind = take_byte(reader) };
    switch (export.kind) {
      case OF_FUNCTION:
        export.index = take_below(reader, module->function_count, "function");
        if (!reader->problem->failed) name_function(module, export.index);
        break;
      case OF_TABLE: export.index = take_below(reader, module->table_count, "table"); break;
      case OF_MEMORY: export.index = take_below(reader, module->memory_count, "memory"); break;
      case OF_GLOBAL: export.index = take_below(reader, module->global_count, "global"); break;
      case OF_TAG: export.index = take_below(reader, module->tag_count, "tag"); break;
      default: fail(reader, "invalid export kind 0x%02x", export.kind);
    }
    if (!reader->problem->failed) module->exports[module->export_count++] = export;
  }
}

static int compare_names(const void *one, const void *other)
{
  const Bytes a = (*(const Export *const *)one)->name, b = (*(const Export *const *)other)->name;
  const size_t sizes[2] = { (size_t)(a.to - a.from), (size_t)(b.to - b.from) };
  if (sizes[0] != sizes[1]) return sizes[0] < sizes[1] ? -1 : 1;
  return memcmp(a.from, b.from, sizes[0]);
}

static void check_export_names(Reader *reader, Module *module)
{
  const Export **sorted = module->export_count ? malloc(module->export_count * sizeof *sorted) : NULL;
  if (!sorted) return;
  for (uint32_t i = 0; i < module->export_count; i++) sorted[i] = &module->exports[i];
  qsort(sorted, module->export_count, sizeof *sorted, compare_names);
  for (uint32_t i = 1; i < module->export_count && !reader->problem->failed; i++) {
    if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
      fail(reader, "Duplicate export name '%.*s'", (int)(sorted[i]->name.to - sorted[i]->name.from), (const char *)sorted[i]->name.from);
  }
  free(sorted);
}

static void read_element(Reader *reader, Module *module, ElementSegment *segment)
{
  const uint32_t flags = take_u32(reader);
  if (flags > 7) return fail(reader, "illegal flag value %u", flags);
  segment->mode = flags & 1 ? flags & 2 ? 2 : 1 : 0;
  segment->type = FUNCREF;
  if (segment->mode == 0) {
    segment->table = flags & 2 ? take_u32(reader) : 0;
    if (segment->table >= module->table_count) return fail(reader, "out of bounds table index %u", segment->table);
    segment->offset = take_constant(reader, module, I32);
  }
  const bool are_values = flags & 4;
  if (flags & 3) {
    if (are_values) segment->type = take_type(reader);
    else if (take_byte(reader) != 0) fail(reader, "illegal element kind, must be 0x00");
  }
  if (!is_reference(segment->type)) fail(reader, "element segment of no reference");
  if (reader->problem->failed) return;
  if (segment->mode == 0 && module->tables[segment->table].element != segment->type) return fail(reader, "Element segment of another type than table %u", segment->table);
  const uint32_t count = take_count(reader, most_elements, "segment elements");
  if (are_values) segment->values = more_room(reader, NULL, 0, count, sizeof *segment->values);
  else segment->functions = more_room(reader, NULL, 0, count, sizeof *segment->functions);
  for (; segment->count < count && !reader->problem->failed; segment->count++) {
    if (are_values) {
      segment->values[segment->count] = take_constant(reader, module, segment->type);
    } else {
      const uint32_t index = take_below(reader, module->function_count, "function");
      if (reader->problem->failed) return;
      segment->functions[segment->count] = index;
      name_function(module, index);
    }
  }
}

static void read_elements(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, most_segments, "segments");
  module->elements = more_room(reader, NULL, 0, count, sizeof *module->elements);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) read_element(reader, module, &module->elements[module->element_count++]);
}

static void read_data(Reader *reader, Module *module)
{
  const uint32_t count = take_count(reader, 100000, "data segments");
  if (module->told_data_count >= 0 && module->told_data_count != count) fail(reader, "number of data segments (%u) does not match data segment count (%u)", count, (uint32_t)module->told_data_count);
  module->data = more_room(reader, NULL, 0, count, sizeof *module->data);
  for (uint32_t i = 0; i < count && !reader->problem->failed; i++) {
    DataSegment *segment = &module->data[module->data_count++];
    const uint32_t flags = take_u32(reader);
    if (flags > 2) return fail(reader, "illegal flag value %u", flags);
    segment->mode = flags == 1;
    if (flags != 1) {
      segment->memory = flags == 2 ? take_u32(reader) : 0;
      if (segment->memory >= module->memory_count) return fail(reader, "invalid memory index %u (having %u)", segment->memory, module->memory_count);
      segment->offset = take_constant(reader, module, I32);
    }
    segment->bytes = take_bytes(reader, take_u32(reader));
  }
}

static void read_codes(Reader *reader, Module *module)
{
  const uint32_t own = module->function_count - module->imported_functions, count = take_u32(reader);
  if (count != own) return fail(reader, "function body count %u mismatch (%u expected)", count, own);
  module->codes = more_room(reader, NULL, 0, own, sizeof *module->codes);
  for (uint32_t i = 0; i < own && !reader->problem->failed; i++) module->codes[i].body = take_bytes(reader, take_u32(reader));
}

static void read_custom(Reader *reader, Module *module)
{
  CustomSection section = { .name = take_name(reader) };
  section.content = (Bytes){ reader->at, reader->end };
  reader->at = reader->end;
  ADD(module->sections, module->section_count, section);
}

static void end_imports(Reader *reader, Module *module)
{
  if (module->has_imports) return;
  module->has_imports = true;
  module->imported_functions = module->function_count;
  module->imported_tables = module->table_count;
  module->imported_memories = module->memory_count;
  module->imported_globals = module->global_count;
  module->imported_tags = module->tag_count;
  make_names(reader, module);
}

static void read_section(Reader *reader, Module *module, uint8_t id)
{
  // Of the lists that imports begin, the rest is its own.
  if (id > 2) end_imports(reader, module);
  switch (id) {
    case 0: read_custom(reader, module); break;
    case 1: read_types(reader, module); break;
    case 2: read_imports(reader, module); break;
    case 3: read_functions(reader, module); break;
    case 4: read_tables(reader, module); break;
    case 5: read_memories(reader, module); break;
    case 6: read_globals(reader, module); break;
    case 7: read_exports(reader, module); break;
    case 8:
      module->start = take_below(reader, module->function_count, "function");
      if (!reader->problem->failed && (module->functions[module->start]->parameters || module->functions[module->start]->results)) fail(reader, "invalid start function: non-zero parameter or return count");
      break;
    case 9: read_elements(reader, module); break;
    case 10: read_codes(reader, module); break;
    case 11: read_data(reader, module); break;
    case 12: module->told_data_count = take_u32(reader); break;
    case 13: read_tags(reader, module); break;
    default: break;
  }
}

static void read_sections(Reader *reader, Module *module)
{
  // In which order they come, by their numbers.
  static const uint8_t orders[14] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 11, 6 };
  uint8_t last = 0;
  bool has_code = false, has_data = false;
  while (reader->at < reader->end && !reader->problem->failed) {
    const uint8_t id = take_byte(reader);
    const uint8_t *const at = reader->at;
    const uint32_t size = take_u32(reader);
    if (size > (size_t)(reader->end - reader->at)) return fail(reader, "section (code %u) extends past end of the module (length %u, remaining bytes %u)", id, size, (unsigned)(reader->end - reader->at));
    if (id > 13) {
      reader->at = at - 1;
      return fail(reader, "unknown section code #0x%02x", id);
    }
    if (id != 0 && orders[id] <= last) return fail(reader, "unexpected section (code %u)", id);
    if (id != 0) last = orders[id];
    has_code |= id == 10;
    has_data |= id == 11;
    Reader section = { reader->base, reader->at, reader->at + size, reader->problem };
    read_section(&section, module, id);
    if (section.at != section.end) fail(&section, "section was shorter than expected size (%u bytes expected, %u decoded)", size, (unsigned)(section.at - reader->at));
    reader->at += size;
  }
  if (reader->problem->failed) return;
  end_imports(reader, module);
  if (!has_code && module->function_count != module->imported_functions) fail(reader, "function count is %u, but code section is absent", module->function_count - module->imported_functions);
  if (!has_data && module->told_data_count > 0) fail(reader, "data segments count %u mismatch (%u expected)", 0u, (unsigned)module->told_data_count);
  check_export_names(reader, module);
}

void free_module(Module *module)
{
  if (--module->references > 0) return;
  if (module->codes) {
    for (uint32_t i = 0; i < module->function_count - module->imported_functions; i++) {
      free(module->codes[i].words);
      free(module->codes[i].handlers);
    }
  }
  for (uint32_t i = 0; i < module->element_count; i++) {
    free(module->elements[i].functions);
    free(module->elements[i].values);
  }
  void *parts[] = { module->types, module->imports, module->exports, module->functions, module->tables, module->memories, module->globals, module->initial, module->tags, module->codes,
    module->elements, module->data, module->sections, module->is_named, module->bytes, module };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
}

static void check_head(Reader *reader)
{
  static const uint8_t head[8] = { 0, 'a', 's', 'm', 1, 0, 0, 0 };
  for (int part = 0; part < 2; part++) {
    const uint8_t *at = reader->at, *wanted = head + 4 * part;
    const char *what = part ? "version" : "magic word";
    if (reader->end - at < 4) return fail(reader, "expected 4 bytes, fell off end");
    if (memcmp(at, wanted, 4)) {
      return fail(reader, "expected %s %02x %02x %02x %02x, found %02x %02x %02x %02x", what, wanted[0], wanted[1], wanted[2], wanted[3], at[0], at[1], at[2], at[3]);
    }
    reader->at += 4;
  }
}

Module *read_module(const uint8_t *bytes, size_t size, Problem *problem)
{
  *problem = (Problem){ .failed = false };
  Module *module = calloc(1, sizeof *module);
  if (!module) return NULL;
  module->references = 1;
  module->start = module->told_data_count = -1;
  module->size = size;
  module->bytes = malloc(size + 1);
  if (!module->bytes) {
    free_module(module);
    return NULL;
  }
  memcpy(module->bytes, bytes, size);
  Reader reader = { module->bytes, module->bytes, module->bytes + size, problem };
  check_head(&reader);
  read_sections(&reader, module);
  for (uint32_t i = module->imported_functions; !problem->failed && i < module->function_count; i++) {
    if (!check_function(module, i, NULL, problem)) break;
  }
  if (!problem->failed) return module;
  free_module(module);
  return NULL;
}
