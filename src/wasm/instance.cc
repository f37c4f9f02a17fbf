// SPDX-License-Identifier: Apache-2.0
#include "wasm/instance.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "base/check.h"
#include "wasm/guest_stack.h"
#include "wasm/linear_memory.h"
#include "wasm/memory_image.h"
#include "wasm/native.h"
#include "wasm/packed_memory.h"
#include "wasm/page_size.h"

namespace cloche::wasm {
namespace {

constexpr std::size_t max_arguments = 12;

// Both are one Rust error behind another C name, and only the second can leave an epoch callback. A
// test holds this to be true.
wasmtime_error_t* as_error(wasm_trap_t* trap) noexcept {
  return reinterpret_cast<wasmtime_error_t*>(trap);
}

Trap trap_of(const wasm_trap_t* trap) noexcept {
  wasmtime_trap_code_t code = 0;
  if (!wasmtime_trap_code(trap, &code)) return Trap::other;
  switch (code) {
    case WASMTIME_TRAP_CODE_STACK_OVERFLOW: return Trap::stack_overflow;
    case WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS:
    case WASMTIME_TRAP_CODE_HEAP_MISALIGNED: return Trap::memory;
    case WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS:
    case WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL:
    case WASMTIME_TRAP_CODE_BAD_SIGNATURE:
    case WASMTIME_TRAP_CODE_NULL_REFERENCE: return Trap::bad_indirect_call;
    case WASMTIME_TRAP_CODE_INTEGER_OVERFLOW: return Trap::integer_overflow;
    case WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO: return Trap::division_by_zero;
    case WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER: return Trap::bad_conversion;
    case WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED: return Trap::unreachable;
    case WASMTIME_TRAP_CODE_INTERRUPT: return Trap::interrupted;
    case WASMTIME_TRAP_CODE_ALLOCATION_TOO_LARGE: return Trap::out_of_memory;
    case WASMTIME_TRAP_CODE_UNCAUGHT_EXCEPTION: return Trap::uncaught_exception;
    default: return Trap::other;
  }
}

wasmtime_val_t to_native(Value value) noexcept {
  wasmtime_val_t result{};
  switch (value.type) {
    case ValueType::i32: result.kind = WASMTIME_I32; break;
    case ValueType::i64: result.kind = WASMTIME_I64; break;
    case ValueType::f32: result.kind = WASMTIME_F32; break;
    case ValueType::f64: result.kind = WASMTIME_F64; break;
  }
  result.of.i64 = static_cast<std::int64_t>(value.bits);
  return result;
}

std::optional<Value> from_native(const wasmtime_val_t& value) noexcept {
  switch (value.kind) {
    case WASMTIME_I32: return Value::i32(value.of.i32);
    case WASMTIME_I64: return Value::i64(static_cast<std::uint64_t>(value.of.i64));
    case WASMTIME_F32: return Value::f32(value.of.f32);
    case WASMTIME_F64: return Value::f64(value.of.f64);
    default: return std::nullopt;
  }
}

Outcome not_callable(std::string message) {
  Outcome outcome;
  outcome.ending = Ending::not_callable;
  outcome.message = std::move(message);
  return outcome;
}

Outcome out_of_memory() {
  Outcome outcome;
  outcome.ending = Ending::trapped;
  outcome.trap = Trap::out_of_memory;
  outcome.message = "the host refused memory";
  return outcome;
}

}  // namespace

struct Instance::State {
  wasmtime_store_t* store = nullptr;
  wasmtime_context_t* context = nullptr;
  wasmtime_instance_t instance{};
  wasmtime_memory_t memory{};
  std::byte* memory_base = nullptr;  // nullptr: no memory
  bool unwinding = false;
  bool epoch_unhandled = false;
  wasmtime_exnref_t thrown{};  // of the last nested call that ended with one

  ~State() {
    drop_thrown();
    if (store != nullptr) wasmtime_store_delete(store);
  }

  void drop_thrown() noexcept {
    if (wasmtime_exnref_is_null(&thrown)) return;
    wasmtime_exnref_unroot(&thrown);
    wasmtime_exnref_set_null(&thrown);
  }

  wasmtime_error_t* unwind() noexcept {
    unwinding = true;
    return wasmtime_error_new("unwind");
  }

  static wasmtime_error_t* on_epoch(const wasmtime_context_t*, void* data, std::uint64_t* delta,
                                    wasmtime_update_deadline_kind_t* kind) noexcept;
  Outcome end_of_call(bool nested, wasmtime_error_t* error, wasm_trap_t* trap);
};

wasmtime_error_t* Instance::State::on_epoch(const wasmtime_context_t*, void* data,
                                            std::uint64_t* delta,
                                            wasmtime_update_deadline_kind_t* kind) noexcept {
  auto& instance = *static_cast<Instance*>(data);
  State& state = *instance.state_;
  *delta = 1;
  *kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
  // wasmtime takes the new deadline, and this callback again, when it returns; a call from within
  // needs both now.
  wasmtime_context_set_epoch_deadline(state.context, 1);
  wasmtime_store_epoch_deadline_callback(state.store, on_epoch, data, nullptr);
  if (instance.epoch_handler_ == nullptr) {
    state.epoch_unhandled = true;
    return wasmtime_error_new("interrupted");
  }
  const EpochAction action = instance.epoch_handler_(instance, instance.owner_);
  if (action == EpochAction::rethrow && !wasmtime_exnref_is_null(&state.thrown)) {
    wasm_trap_t* trap = wasmtime_context_set_exception(state.context, &state.thrown);
    state.drop_thrown();
    return as_error(trap);
  }
  state.drop_thrown();
  const bool goes_on = action == EpochAction::proceed || action == EpochAction::again;
  return goes_on ? nullptr : state.unwind();
}

Answer Instance::answer_interruption() noexcept {
  if (epoch_handler_ == nullptr) {
    state_->epoch_unhandled = true;
    return Answer::end;
  }
  if (context_.is_known() && is_answering_signal()) context_.forget_exit(*preempted_);
  const EpochAction action = epoch_handler_(*this, owner_);
  if (action == EpochAction::rethrow && !wasmtime_exnref_is_null(&state_->thrown)) {
    raising_ = true;
    return Answer::raise;
  }
  state_->drop_thrown();
  switch (action) {
    case EpochAction::proceed: return Answer::go_on;
    case EpochAction::again: return Answer::ask_again;
    default: break;
  }
  state_->unwinding = true;
  return Answer::end;
}

void* Instance::raise() noexcept {
  raising_ = false;
  wasm_trap_t* const trap = wasmtime_context_set_exception(state_->context, &state_->thrown);
  state_->drop_thrown();
  return trap;
}

Outcome Instance::State::end_of_call(bool nested, wasmtime_error_t* raw_error,
                                     wasm_trap_t* raw_trap) {
  const Native<wasmtime_error_t> error(raw_error);
  const Native<wasm_trap_t> trap(raw_trap);
  Outcome outcome;
  wasmtime_exnref_t exception;
  if (wasmtime_context_take_exception(context, &exception)) {
    drop_thrown();
    if (nested) {
      thrown = exception;
    } else {
      wasmtime_exnref_unroot(&exception);
    }
    outcome.ending = Ending::trapped;
    outcome.trap = Trap::uncaught_exception;
    outcome.message = to_string(outcome.trap);
  } else if (unwinding) {
    outcome.ending = Ending::exited;
  } else if (epoch_unhandled) {
    outcome.ending = Ending::trapped;
    outcome.trap = Trap::interrupted;
    outcome.message = to_string(outcome.trap);
  } else {
    outcome.ending = Ending::trapped;
    outcome.trap = trap ? trap_of(trap.get()) : Trap::other;
    outcome.message = trap ? message_of(trap.get()) : message_of(error.get());
    // Exceptions that the guest holds on to; wasmtime has no code for it.
    if (outcome.message.find("GC heap out of memory") != std::string::npos) {
      outcome.trap = Trap::out_of_memory;
    }
  }
  unwinding = false;
  epoch_unhandled = false;
  return outcome;
}

Instance::Instance(std::shared_ptr<const LinkedModule> module, const InstanceOptions& options)
    : module_(std::move(module)),
      image_(options.packed ? options.packed->first : options.image),
      packed_(options.packed),
      engine_charge_(options.budget),
      owner_(options.owner),
      memory_limit_bytes_(options.memory_limit_bytes),
      table_limit_elements_(options.table_limit_elements),
      memory_(options.memory_of == nullptr ? nullptr : options.memory_of->memory_),
      state_(std::make_unique<State>()),
      preempted_(module_->module().preempted()),
      interruptions_seen_(Preemption::count()) {
  wasmtime_exnref_set_null(&state_->thrown);
  state_->store =
      wasmtime_store_new(module_->engine().native(module_->module().interruption()), this, nullptr);
  state_->context = wasmtime_store_context(state_->store);
  apply_limits();
  wasmtime_context_set_epoch_deadline(state_->context, 1);
  wasmtime_store_epoch_deadline_callback(state_->store, State::on_epoch, this, nullptr);
}

Instance::~Instance() {
  CLOCHE_CHECK(depth_ == 0);
  if (const MemoryContent* home = put_back_memory()) memory_->set_home(home);
}

const MemoryContent& Instance::content() const noexcept {
  return image_ ? image_->content() : module().content();
}

const MemoryContent* Instance::put_back_memory() noexcept {
  MemoryMap& map = memory_map_;
  if (!has_memory_of_its_own() || map.base_unknown) return nullptr;
  const MemoryContent* home = &content();
  if (map.base != image_) {
    // It was captured. Where nobody else has that image, nobody begins with it.
    const std::shared_ptr<const MemoryImage> base = map.base;
    if (!base || base.use_count() == 2 || !base->take_back(*this)) return nullptr;
    home = &base->content();
  }
  const bool is_known = map.is_ready() && !map.pieced && !map.lost;
  return is_known && home->put_back(*memory_, map) ? home : nullptr;
}

Result<std::unique_ptr<Instance>, Error> Instance::create(
    std::shared_ptr<const LinkedModule> module, const InstanceOptions& options) {
  std::optional<MappingShare::Permit> place =
      MappingShare::of_this_process().acquire(options.budget ? options.budget->owner() : nullptr);
  if (!place) {
    return Error(ErrorKind::sandbox, Errno::nomem,
                 "guests have all mappings of memory that they may have of this process: end some, "
                 "or raise vm.max_map_count");
  }
  std::unique_ptr<Instance> instance(new Instance(std::move(module), options));
  instance->place_.emplace(*std::move(place));
  CLOCHE_TRY(instance->instantiate(options.to_be_captured));
  if (const Result<void> mapped = instance->map_image(options.to_be_captured); !mapped)
    return Error(ErrorKind::sandbox, mapped.error(), "its image cannot be mapped");
  instance->is_whole_ = options.memory_of == nullptr;
  return instance;
}

Result<void> Instance::map_image(bool to_be_captured) {
  if (!image_) return {};
  CLOCHE_TRY(image_->map_into(*this));
  if (const auto packed = std::move(packed_)) CLOCHE_TRY(map_packed(packed, *this));
  return to_be_captured ? prepare_for_capture(*this) : Result<void>();
}

Result<void, Error> Instance::instantiate(bool to_be_captured) {
  const std::uint64_t first_bytes = module().info().memory_min_pages * wasm_page_bytes;
  const auto failed = [](Errno code, const std::string& sentence) {
    return Error(ErrorKind::sandbox, code, sentence);
  };
  if (first_bytes > memory_limit_bytes_) {
    return failed(Errno::nomem, fmt::format("needs {} bytes of memory, the limit is {}",
                                            first_bytes, memory_limit_bytes_));
  }
  if (!engine_charge_.add(module().info().engine_bytes))
    return failed(Errno::nomem, "its tables and functions need more memory than there is");
  LinearMemory* const shared = std::exchange(memory_, nullptr);
  const MemoryScope scope(engine_charge_.budget(),
                          {.bytes = first_bytes,
                           .initial = &module().initial_memory(),
                           .warm = shared || first_bytes == 0 ? nullptr
                                   : image_                   ? image_->take_memory(to_be_captured)
                                                              : content().take(false),
                           .shared = shared});
  // A start function is guest code: it wants the stack of one.
  ++depth_;
  starting_ = true;
  wasm_trap_t* trap = nullptr;
  wasmtime_error_t* error = wasmtime_instance_pre_instantiate(module_->native(), state_->context,
                                                              &state_->instance, &trap);
  starting_ = false;
  --depth_;
  memory_ = scope.linear();
  if (error != nullptr || trap != nullptr) {
    const bool called = state_->unwinding;  // the host
    const bool start_ended = trap != nullptr || called || state_->epoch_unhandled;
    std::string why = state_->end_of_call(false, error, trap).message;
    if (called) why = "its start function calls the system";
    return failed(start_ended ? Errno::noexec : Errno::nomem, why);
  }
  find_context();
  wasmtime_extern_t item;
  static constexpr std::string_view name = "memory";
  if (!wasmtime_instance_export_get(state_->context, &state_->instance, name.data(), name.size(),
                                    &item)) {
    return {};
  }
  if (item.kind == WASMTIME_EXTERN_MEMORY) {
    state_->memory = item.of.memory;
    state_->memory_base =
        reinterpret_cast<std::byte*>(wasmtime_memory_data(state_->context, &state_->memory));
  }
  wasmtime_extern_delete(&item);
  return {};
}

// Where it can be called while a signal has stopped it.
void Instance::find_context() noexcept {
  static constexpr std::string_view handlers = "__cloche_signal";
  wasmtime_extern_t item;
  if (preempted_ == nullptr ||
      !wasmtime_instance_export_get(state_->context, &state_->instance, handlers.data(),
                                    handlers.size(), &item))
    return;
  if (item.kind == WASMTIME_EXTERN_FUNC) context_ = GuestContext(state_->context, item.of.func);
  wasmtime_extern_delete(&item);
}

void Instance::apply_limits() noexcept {
  static constexpr std::int64_t instances = 1;
  const auto bytes = std::min(memory_limit_bytes_, address_space_bytes);
  wasmtime_store_limiter(state_->store, static_cast<std::int64_t>(bytes),
                         static_cast<std::int64_t>(table_limit_elements_), instances, max_tables,
                         -1);
}

void Instance::set_memory_limit(std::uint64_t bytes) noexcept {
  memory_limit_bytes_ = bytes;
  apply_limits();
}

Outcome Instance::call(std::string_view export_name, std::span<const Value> parameters) {
  const ModuleExport* found = module().info().find_export(export_name);
  if (found == nullptr || !found->is_callable) {
    return not_callable(fmt::format("the program has no function {}", export_name));
  }
  if (found->parameters.size() != parameters.size() || parameters.size() > max_arguments ||
      found->results.size() > max_arguments) {
    return not_callable(fmt::format("the program's {} takes other parameters", export_name));
  }
  std::array<wasmtime_val_t, max_arguments> arguments{};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].type != found->parameters[i]) {
      return not_callable(fmt::format("the program's {} takes other parameters", export_name));
    }
    arguments[i] = to_native(parameters[i]);
  }
  // Frames of a guest that a signal has stopped must not be walked.
  CLOCHE_CHECK(!is_answering_signal() || context_.is_known());
  if (depth_ == 0) CLOCHE_CHECK(stack_left_bytes() > max_guest_stack_bytes);
  if (!memory_map_.is_ready()) finish_mapping(*this, Before::the_guest_runs);
  if (memory_map_.lost) return out_of_memory();

  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(state_->context, &state_->instance, export_name.data(),
                                    export_name.size(), &item)) {
    return not_callable(fmt::format("the program has no function {}", export_name));
  }
  CLOCHE_CHECK(item.kind == WASMTIME_EXTERN_FUNC);
  std::array<wasmtime_val_t, max_arguments> results{};
  wasm_trap_t* trap = nullptr;
  const MemoryScope scope(engine_charge_.budget());
  ++depth_;
  wasmtime_error_t* error = nullptr;
  const auto call_native = [&] {
    error = wasmtime_func_call(state_->context, &item.of.func, arguments.data(), parameters.size(),
                               results.data(), found->results.size(), &trap);
  };
  Answer begun = Answer::go_on;
  if (preempted_ == nullptr) {
    call_native();
  } else {
    PreemptedCall preempted(
        *preempted_, context_, interruptions_seen_, owner_,
        [](void* self) noexcept { return static_cast<Instance*>(self)->answer_interruption(); },
        this);
    begun = preempted.begin();
    if (begun == Answer::go_on) call_native();
  }
  --depth_;
  wasmtime_extern_delete(&item);
  if (begun == Answer::raise) trap = static_cast<wasm_trap_t*>(raise());
  if (begun != Answer::go_on) return state_->end_of_call(depth_ > 0, nullptr, trap);
  if (error != nullptr || trap != nullptr) return state_->end_of_call(depth_ > 0, error, trap);
  Outcome outcome;
  if (!found->results.empty()) outcome.result = from_native(results[0]).value_or(Value{});
  return outcome;
}

GuestMemory Instance::memory() noexcept {
  if (!memory_map_.is_ready()) [[unlikely]]
    finish_mapping(*this, Before::anyone_looks);
  if (memory_map_.lost) [[unlikely]]
    return {};
  return mapped_memory();
}

GuestMemory Instance::mapped_memory() const noexcept {
  if (state_->memory_base == nullptr) return {};
  return {state_->memory_base, wasmtime_memory_data_size(state_->context, &state_->memory)};
}

GuestMemory HostCall::memory() const noexcept { return instance_.memory(); }

void Instance::follow_memory() noexcept {
  // Growing by nothing reads the size anew.
  if (memory_ != nullptr && mapped_memory().size() < memory_->size()) {
    std::uint64_t before = 0;
    const Native<wasmtime_error_t> error(
        wasmtime_memory_grow(state_->context, &state_->memory, 0, &before));
  }
}

Result<std::uint64_t> Instance::grow(std::uint64_t pages) {
  if (memory().base() == nullptr) return Errno::nomem;
  std::uint64_t before = 0;
  const Native<wasmtime_error_t> error(
      wasmtime_memory_grow(state_->context, &state_->memory, pages, &before));
  if (error) return Errno::nomem;
  return (before + pages) * wasm_page_bytes;
}

std::optional<Value> Instance::global(std::string_view name) const {
  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(state_->context, &state_->instance, name.data(), name.size(),
                                    &item)) {
    return std::nullopt;
  }
  std::optional<Value> result;
  if (item.kind == WASMTIME_EXTERN_GLOBAL) {
    wasmtime_val_t value;
    wasmtime_global_get(state_->context, &item.of.global, &value);
    result = from_native(value);
    wasmtime_val_unroot(&value);
  }
  wasmtime_extern_delete(&item);
  return result;
}

Result<void> Instance::set_global(std::string_view name, Value value) {
  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(state_->context, &state_->instance, name.data(), name.size(),
                                    &item)) {
    return Errno::inval;
  }
  bool good = false;
  if (item.kind == WASMTIME_EXTERN_GLOBAL) {
    const wasmtime_val_t native = to_native(value);
    good =
        !Native<wasmtime_error_t>(wasmtime_global_set(state_->context, &item.of.global, &native));
  }
  wasmtime_extern_delete(&item);
  return good ? Result<void>() : Errno::inval;
}

void Instance::interrupt_self() noexcept {
  wasmtime_context_set_epoch_deadline(state_->context, 0);
  if (preempted_ != nullptr) PreemptedCall::ask_self();
}

void* Instance::begin_unwind() noexcept {
  state_->unwinding = true;
  return end_here();
}

void* Instance::end_here() noexcept {
  static constexpr std::string_view message = "unwind";
  return wasmtime_trap_new(message.data(), message.size());
}

}  // namespace cloche::wasm
