// What each instruction does: the cases of the loop in host_wasm_run.c.

case UNREACHABLE: TRAP("unreachable");
case COPY: U64(D) = U64(A); pc += 3; break;
case COPY_VECTOR: { const uint64_t low = fp[A], high = fp[A + 1]; fp[D] = low; fp[D + 1] = high; pc += 3; break; }
case CONSTANT_32: U64(D) = number_at(pc + 2); pc += 4; break;
case CONSTANT_64: U64(D) = number_at(pc + 2) | (uint64_t)number_at(pc + 4) << 32; pc += 6; break;
case CONSTANT_VECTOR: memcpy(fp + D, pc + 2, 16); pc += 10; break;
case JUMP: pc = words + number_at(pc + 1); break;
case JUMP_IF_ZERO: pc = U32(D) == 0 ? words + number_at(pc + 2) : pc + 4; break;
case JUMP_UNLESS_ZERO: pc = U32(D) != 0 ? words + number_at(pc + 2) : pc + 4; break;
case JUMP_BY_TABLE: {
  const uint32_t most = number_at(pc + 2), which = U32(D);
  pc = words + number_at(pc + 4 + 2 * (which < most ? which : most));
  break;
}
case LOOP:
  pc++;
  if (++turns & 0x3fff) break;
  places_free = fp + code->frame_places;
  if (kept_count >= kept_look) look_through_kept(ctx);
  if (check_time(ctx) < 0) goto thrown;
  break;

case RETURN_ONE:
  fp[0] = fp[D];
  goto returned;
case RETURN_SOME:
  memmove(fp, fp + D, A * sizeof *fp);
  goto returned;
case RETURN_NONE:
returned:
  LEAVE();
  if (frame_count == base) return 0;
  words = code->words;
  LOOK_AT_MEMORY();
  break;
case CALL: {
  called = instance->functions[number_at(pc + 2)];
  arguments = fp + D;
  next = pc + 4;
  goto call;
}
case CALL_INDIRECT: {
  const Table *const table = instance->tables[number_at(pc + 5)];
  const uint32_t index = U32(pc[4]);
  if (index >= table->size) TRAP("table index is out of bounds");
  called = table->elements[index].function;
  if (!called || called->type != instance->module->types[number_at(pc + 2)]) TRAP("null function or function signature mismatch");
  arguments = fp + D;
  next = pc + 7;
call:
  if (called->code) {
    if (frame_count == all_frames) {
      throw_overflow(ctx);
      goto thrown;
    }
    frames[frame_count++] = (Frame){ next, fp, code, instance };
    ENTER(called, arguments);
    break;
  }
  if (call_of_script(ctx, called, arguments, fp + code->frame_places) < 0) goto thrown;
  if (kept_count >= kept_look) look_through_kept(ctx);
  LOOK_AT_MEMORY();
  pc = next;
  break;
}
case TAIL_CALL:
  called = instance->functions[number_at(pc + 2)];
  goto tail_call;
case TAIL_CALL_INDIRECT: {
  const Table *const table = instance->tables[number_at(pc + 5)];
  const uint32_t index = U32(pc[4]);
  if (index >= table->size) TRAP("table index is out of bounds");
  called = table->elements[index].function;
  if (!called || called->type != instance->module->types[number_at(pc + 2)]) TRAP("null function or function signature mismatch");
tail_call:
  arguments = fp + D;
  if (!called->code) {
    if (call_of_script(ctx, called, arguments, fp + code->frame_places) < 0) goto thrown;
    memmove(fp, arguments, called->type->result_places * sizeof *fp);
    goto returned;
  }
  memmove(fp, arguments, called->type->parameter_places * sizeof *fp);
  // A chain of them is a loop.
  if ((++turns & 0x3fff) == 0 && check_time(ctx) < 0) goto thrown;
  ENTER(called, fp);
  break;
}
case SELECT: { const uint64_t chosen = U32(A) ? fp[B] : fp[pc[4]]; fp[D] = chosen; pc += 5; break; }
case SELECT_VECTOR: {
  const uint64_t *const chosen = fp + (U32(A) ? B : pc[4]);
  const uint64_t low = chosen[0], high = chosen[1];
  fp[D] = low;
  fp[D + 1] = high;
  pc += 5;
  break;
}
case GLOBAL_GET: fp[D] = instance->globals[number_at(pc + 2)]->places[0]; pc += 4; break;
case GLOBAL_GET_VECTOR: memcpy(fp + D, instance->globals[number_at(pc + 2)]->places, 16); pc += 4; break;
case GLOBAL_GET_REFERENCE: fp[D] = (uint64_t)keep_reference(ctx, JS_DupValue(ctx, instance->globals[number_at(pc + 2)]->value)); pc += 4; break;
case GLOBAL_SET: instance->globals[number_at(pc + 2)]->places[0] = fp[D]; pc += 4; break;
case GLOBAL_SET_VECTOR: memcpy(instance->globals[number_at(pc + 2)]->places, fp + D, 16); pc += 4; break;
case GLOBAL_SET_REFERENCE: {
  Global *const global = instance->globals[number_at(pc + 2)];
  const JSValue old = global->value;
  global->value = JS_DupValue(ctx, (JSValue)fp[D]);
  // It may be in a place still, and its end may run scripts.
  keep_reference(ctx, old);
  pc += 4;
  break;
}
case MEMORY_SIZE: U64(D) = memory_size / page_bytes; pc += 2; break;
case MEMORY_GROW: {
  U64(D) = (uint32_t)grow_memory(ctx, instance->memory, U32(A));
  LOOK_AT_MEMORY();
  pc += 3;
  break;
}
case IS_NULL: U64(D) = JS_IsNull((JSValue)U64(A)); pc += 3; break;
case SLOW:
  places_free = fp + code->frame_places;
  if (slow_operation(ctx, instance, pc[1], fp + pc[2], number_at(pc + 3), number_at(pc + 5)) < 0) goto thrown;
  if (kept_count >= kept_look) look_through_kept(ctx);
  pc += 7;
  break;
case THROW: {
  const uint32_t tag = number_at(pc + 2);
  JSValue exception = new_exception(ctx, JS_UNDEFINED, instance->tag_objects[tag], instance->tags[tag]->type, fp + D);
  if (!JS_IsException(exception)) JS_Throw(ctx, exception);
  goto thrown;
}
case RETHROW: JS_Throw(ctx, JS_DupValue(ctx, (JSValue)fp[D])); goto thrown;
case VECTOR:
  vector_operation(pc[1], fp, pc + 2);
  pc += pc[1] == 13 ? 14 : 6;
  break;
case VECTOR_MEMORY: {
  static const uint8_t sizes[] = { 16, 8, 8, 8, 8, 8, 8, 1, 2, 4, 8, 16 };
  const uint32_t operation = pc[1], size = operation < 12 ? sizes[operation] : operation < 92 ? 1u << (operation & 3) : operation == 92 ? 4 : 8;
  const uint64_t at = (uint64_t)U32(pc[3]) + number_at(pc + 6);
  if (at + size > memory_size) goto out_of_bounds;
  vector_memory(operation, memory + at, fp + pc[2], fp + pc[4], pc[5]);
  pc += 8;
  break;
}

LOAD(0x28, U64, uint32_t, uint64_t)
LOAD(0x29, U64, uint64_t, uint64_t)
LOAD(0x2a, U64, uint32_t, uint64_t)
LOAD(0x2b, U64, uint64_t, uint64_t)
LOAD(0x2c, U64, int8_t, uint32_t)
LOAD(0x2d, U64, uint8_t, uint64_t)
LOAD(0x2e, U64, int16_t, uint32_t)
LOAD(0x2f, U64, uint16_t, uint64_t)
LOAD(0x30, U64, int8_t, int64_t)
LOAD(0x31, U64, uint8_t, uint64_t)
LOAD(0x32, U64, int16_t, int64_t)
LOAD(0x33, U64, uint16_t, uint64_t)
LOAD(0x34, U64, int32_t, int64_t)
LOAD(0x35, U64, uint32_t, uint64_t)
STORE(0x36, U64, uint32_t)
STORE(0x37, U64, uint64_t)
STORE(0x38, U64, uint32_t)
STORE(0x39, U64, uint64_t)
STORE(0x3a, U64, uint8_t)
STORE(0x3b, U64, uint16_t)
STORE(0x3c, U64, uint8_t)
STORE(0x3d, U64, uint16_t)
STORE(0x3e, U64, uint32_t)

UNARY(0x45, U32, U32, a == 0)
COMPARE(0, U32, U64, a == b)
COMPARE(1, U32, U64, a != b)
COMPARE(2, S32, S64, a < b)
COMPARE(3, U32, U64, a < b)
COMPARE(4, S32, S64, a > b)
COMPARE(5, U32, U64, a > b)
COMPARE(6, S32, S64, a <= b)
COMPARE(7, U32, U64, a <= b)
COMPARE(8, S32, S64, a >= b)
COMPARE(9, U32, U64, a >= b)
UNARY(0x50, U32, U64, a == 0)
BINARY(0x5b, U32, R32, a == b)
BINARY(0x5c, U32, R32, a != b)
BINARY(0x5d, U32, R32, a < b)
BINARY(0x5e, U32, R32, a > b)
BINARY(0x5f, U32, R32, a <= b)
BINARY(0x60, U32, R32, a >= b)
BINARY(0x61, U32, R64, a == b)
BINARY(0x62, U32, R64, a != b)
BINARY(0x63, U32, R64, a < b)
BINARY(0x64, U32, R64, a > b)
BINARY(0x65, U32, R64, a <= b)
BINARY(0x66, U32, R64, a >= b)
UNARY(0x67, U32, U32, count_leading_32(a))
UNARY(0x68, U32, U32, count_trailing_32(a))
UNARY(0x69, U32, U32, (uint32_t)__builtin_popcount(a))
BINARY_32(0x6a, U32, a + b)
BINARY_32(0x6b, U32, a - b)
BINARY_32(0x6c, U32, a * b)
DIVIDE(0x6d, S32, false, INT32_MIN, true, "divide by zero", a / b, (int32_t)(0 - (uint32_t)a))
DIVIDE(0x6e, U32, true, 0, false, "divide by zero", a / b, 0)
DIVIDE(0x6f, S32, true, 0, true, "remainder by zero", a % b, 0)
DIVIDE(0x70, U32, true, 0, false, "remainder by zero", a % b, 0)
BINARY_32(0x71, U32, a & b)
BINARY_32(0x72, U32, a | b)
BINARY_32(0x73, U32, a ^ b)
BINARY_32(0x74, U32, a << (b & 31))
BINARY_32(0x75, S32, a >> (b & 31))
BINARY_32(0x76, U32, a >> (b & 31))
BINARY_32(0x77, U32, turn_left_32(a, b))
BINARY(0x78, U32, U32, turn_left_32(a, 0 - b))
UNARY(0x79, U64, U64, count_leading_64(a))
UNARY(0x7a, U64, U64, count_trailing_64(a))
UNARY(0x7b, U64, U64, (uint64_t)__builtin_popcountll(a))
BINARY_64(0x7c, U64, U64, a + b)
BINARY_64(0x7d, U64, U64, a - b)
BINARY_64(0x7e, U64, U64, a * b)
DIVIDE(0x7f, S64, false, INT64_MIN, true, "divide by zero", a / b, (int64_t)(0 - (uint64_t)a))
DIVIDE(0x80, U64, true, 0, false, "divide by zero", a / b, 0)
DIVIDE(0x81, S64, true, 0, true, "remainder by zero", a % b, 0)
DIVIDE(0x82, U64, true, 0, false, "remainder by zero", a % b, 0)
BINARY_64(0x83, U64, U64, a & b)
BINARY_64(0x84, U64, U64, a | b)
BINARY_64(0x85, U64, U64, a ^ b)
BINARY_64(0x86, U64, U64, a << (b & 63))
BINARY_64(0x87, S64, S64, a >> (b & 63))
BINARY_64(0x88, U64, U64, a >> (b & 63))
BINARY_64(0x89, U64, U64, turn_left_64(a, b))
BINARY(0x8a, U64, U64, turn_left_64(a, 0 - b))
UNARY(0x8b, U32, U32, a & 0x7fffffff)
UNARY(0x8c, U32, U32, a ^ 0x80000000)
UNARY(0x8d, R32, R32, __builtin_ceilf(a))
UNARY(0x8e, R32, R32, __builtin_floorf(a))
UNARY(0x8f, R32, R32, __builtin_truncf(a))
UNARY(0x90, R32, R32, __builtin_nearbyintf(a))
UNARY(0x91, R32, R32, __builtin_sqrtf(a))
BINARY(0x92, R32, R32, a + b)
BINARY(0x93, R32, R32, a - b)
BINARY(0x94, R32, R32, a * b)
BINARY(0x95, R32, R32, a / b)
BINARY(0x96, R32, R32, __builtin_wasm_min_f32(a, b))
BINARY(0x97, R32, R32, __builtin_wasm_max_f32(a, b))
BINARY(0x98, U32, U32, (a & 0x7fffffff) | (b & 0x80000000))
UNARY(0x99, U64, U64, a & 0x7fffffffffffffff)
UNARY(0x9a, U64, U64, a ^ 0x8000000000000000)
UNARY(0x9b, R64, R64, __builtin_ceil(a))
UNARY(0x9c, R64, R64, __builtin_floor(a))
UNARY(0x9d, R64, R64, __builtin_trunc(a))
UNARY(0x9e, R64, R64, __builtin_nearbyint(a))
UNARY(0x9f, R64, R64, __builtin_sqrt(a))
BINARY(0xa0, R64, R64, a + b)
BINARY(0xa1, R64, R64, a - b)
BINARY(0xa2, R64, R64, a * b)
BINARY(0xa3, R64, R64, a / b)
BINARY(0xa4, R64, R64, __builtin_wasm_min_f64(a, b))
BINARY(0xa5, R64, R64, __builtin_wasm_max_f64(a, b))
BINARY(0xa6, U64, U64, (a & 0x7fffffffffffffff) | (b & 0x8000000000000000))
UNARY(0xa7, U32, U64, (uint32_t)a)
TRUNCATE(0xa8, S32, R32, int32_t, >= -2147483648.0f, < 2147483648.0f)
TRUNCATE(0xa9, U32, R32, uint32_t, > -1.0f, < 4294967296.0f)
TRUNCATE(0xaa, S32, R64, int32_t, > -2147483649.0, < 2147483648.0)
TRUNCATE(0xab, U32, R64, uint32_t, > -1.0, < 4294967296.0)
UNARY(0xac, S64, S32, a)
UNARY(0xad, U64, U32, a)
TRUNCATE(0xae, S64, R32, int64_t, >= -9223372036854775808.0f, < 9223372036854775808.0f)
TRUNCATE(0xaf, U64, R32, uint64_t, > -1.0f, < 18446744073709551616.0f)
TRUNCATE(0xb0, S64, R64, int64_t, >= -9223372036854775808.0, < 9223372036854775808.0)
TRUNCATE(0xb1, U64, R64, uint64_t, > -1.0, < 18446744073709551616.0)
UNARY(0xb2, R32, S32, (float)a)
UNARY(0xb3, R32, U32, (float)a)
UNARY(0xb4, R32, S64, (float)a)
UNARY(0xb5, R32, U64, (float)a)
UNARY(0xb6, R32, R64, (float)a)
UNARY(0xb7, R64, S32, a)
UNARY(0xb8, R64, U32, a)
UNARY(0xb9, R64, S64, (double)a)
UNARY(0xba, R64, U64, (double)a)
UNARY(0xbb, R64, R32, a)
case 0xbc: case 0xbd: case 0xbe: case 0xbf: fp[D] = fp[A]; pc += 3; break;
UNARY(0xc0, S32, S32, (int8_t)a)
UNARY(0xc1, S32, S32, (int16_t)a)
UNARY(0xc2, S64, S64, (int8_t)a)
UNARY(0xc3, S64, S64, (int16_t)a)
UNARY(0xc4, S64, S64, (int32_t)a)
UNARY(TRUNC_SAT, S32, R32, i32_of_f32(a))
UNARY(TRUNC_SAT + 1, U32, R32, u32_of_f32(a))
UNARY(TRUNC_SAT + 2, S32, R64, i32_of_f64(a))
UNARY(TRUNC_SAT + 3, U32, R64, u32_of_f64(a))
UNARY(TRUNC_SAT + 4, S64, R32, i64_of_f32(a))
UNARY(TRUNC_SAT + 5, U64, R32, u64_of_f32(a))
UNARY(TRUNC_SAT + 6, S64, R64, i64_of_f64(a))
UNARY(TRUNC_SAT + 7, U64, R64, u64_of_f64(a))
