// SPDX-License-Identifier: Apache-2.0
#include "wasm/linker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "wasm/instance.h"
#include "wasm/native.h"
#include "wasm/preemption.h"

namespace cloche::wasm {
namespace {

// An import of a system-call interface that nobody defined.
struct MissingFunction {
  bool has_result;
  std::int32_t answer;  // "not implemented", as the interface says it
};

constexpr std::int32_t wasi_nosys = 52;
constexpr std::int32_t linux_nosys = -38;

bool is_interface(std::string_view module) noexcept {
  return module == "wasi_snapshot_preview1" || module == "wasi_unstable" || module == "linux";
}

wasm_trap_t* call_host(void* callback, wasmtime_caller_t* caller, wasmtime_val_raw_t* slots,
                       std::size_t) noexcept {
  auto& instance =
      *static_cast<Instance*>(wasmtime_context_get_data(wasmtime_caller_context(caller)));
  if (instance.is_starting()) [[unlikely]]
    return static_cast<wasm_trap_t*>(instance.begin_unwind());
  HostSection section(instance.is_preempted());
  if (instance.is_raising()) [[unlikely]] {
    section.leave_raising();
    return static_cast<wasm_trap_t*>(instance.raise());
  }
  HostCall call(instance, instance.owner(), slots);
  reinterpret_cast<HostCallback>(callback)(call);
  if (call.unwinding()) return static_cast<wasm_trap_t*>(instance.begin_unwind());
  switch (section.leave()) {
    case Answer::end: return static_cast<wasm_trap_t*>(instance.end_here());
    case Answer::raise: section.leave_raising(); return static_cast<wasm_trap_t*>(instance.raise());
    default: return nullptr;
  }
}

wasm_trap_t* call_missing(void* data, wasmtime_caller_t*, wasmtime_val_raw_t* slots,
                          std::size_t count) noexcept {
  const auto& missing = *static_cast<const MissingFunction*>(data);
  if (count == 0 || !missing.has_result) return nullptr;
  slots[0] = {};
  slots[0].i32 = missing.answer;
  return nullptr;
}

void delete_missing(void* data) { delete static_cast<MissingFunction*>(data); }

wasm_valtype_vec_t make_types(const std::vector<ValueType>& types) {
  static constexpr std::array<wasm_valkind_t, 4> kinds{WASM_I32, WASM_I64, WASM_F32, WASM_F64};
  wasm_valtype_vec_t result;
  wasm_valtype_vec_new_uninitialized(&result, types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    result.data[i] = wasm_valtype_new(kinds[static_cast<std::size_t>(types[i])]);
  }
  return result;
}

Native<wasm_functype_t> make_type(const HostFunction& function) {
  wasm_valtype_vec_t parameters = make_types(function.parameters);
  wasm_valtype_vec_t results = make_types(function.results);
  return Native<wasm_functype_t>(wasm_functype_new(&parameters, &results));
}

class ImportTypes {
 public:
  explicit ImportTypes(const Module& module) { wasmtime_module_imports(module.native(), &types_); }
  ~ImportTypes() { wasm_importtype_vec_delete(&types_); }
  ImportTypes(const ImportTypes&) = delete;
  ImportTypes& operator=(const ImportTypes&) = delete;
  std::span<wasm_importtype_t* const> all() const { return {types_.data, types_.size}; }

 private:
  wasm_importtype_vec_t types_{};
};

Error unlinkable(const std::string& sentence) {
  return {ErrorKind::sandbox, Errno::noexec, sentence};
}

}  // namespace

LinkedModule::LinkedModule(Engine& engine, std::shared_ptr<const Module> module,
                           wasmtime_instance_pre* native) noexcept
    : engine_(engine), module_(std::move(module)), native_(native) {}

LinkedModule::~LinkedModule() { wasmtime_instance_pre_delete(native_); }

struct Linker::Natives {
  wasmtime_linker* epochs;
  // The same for programs that signals interrupt, from the first one on.
  wasmtime_linker* signals = nullptr;
  std::vector<HostFunction> functions{};

  explicit Natives(wasmtime_linker* first) noexcept : epochs(first) {}
  ~Natives() {
    if (signals != nullptr) wasmtime_linker_delete(signals);
    wasmtime_linker_delete(epochs);
  }
  Natives(const Natives&) = delete;
  Natives& operator=(const Natives&) = delete;
};

Linker::Linker(Engine& engine)
    : engine_(engine), natives_(std::make_unique<Natives>(wasmtime_linker_new(engine.native()))) {}

Linker::~Linker() = default;

void Linker::define(const HostFunction& function) {
  const MutexLock lock(mutex_);
  CLOCHE_CHECK(!frozen_);
  CLOCHE_CHECK(function.results.size() <= 1);
  CLOCHE_CHECK(defined_.emplace(function.module, function.name).second);
  define_in(natives_->epochs, function);
  natives_->functions.push_back(function);
}

void Linker::define_in(wasmtime_linker* linker, const HostFunction& function) const {
  const auto type = make_type(function);
  wasmtime_error_t* error = wasmtime_linker_define_func_unchecked(
      linker, function.module.data(), function.module.size(), function.name.data(),
      function.name.size(), type.get(), call_host, reinterpret_cast<void*>(function.callback),
      nullptr);
  CLOCHE_CHECK(error == nullptr);
}

// Adds to `linker` what `module` imports and nobody defined, as far as there can be a stand-in.
Result<void, Error> Linker::define_missing(wasmtime_linker* linker, const Module& module) const {
  const ImportTypes imports(module);
  std::set<std::pair<std::string, std::string>> done;
  for (const wasm_importtype_t* import : imports.all()) {
    const std::string from(view_of(wasm_importtype_module(import)));
    const std::string name(view_of(wasm_importtype_name(import)));
    if (defined_.contains(std::pair(from, name))) continue;
    const auto* type = wasm_externtype_as_functype_const(wasm_importtype_type(import));
    if (type == nullptr || !is_interface(from))
      return unlinkable(fmt::format("imports {}.{}, which is not there", from, name));
    if (!done.emplace(from, name).second) continue;
    const auto* results = wasm_functype_results(type);
    const bool has_result = results->size == 1 && wasm_valtype_kind(results->data[0]) == WASM_I32;
    if (results->size > 0 && !has_result) {
      return unlinkable(
          fmt::format("imports {}.{} with results that it does not have", from, name));
    }
    auto* missing = new MissingFunction{has_result, from == "linux" ? linux_nosys : wasi_nosys};
    const Native<wasmtime_error_t> error(wasmtime_linker_define_func_unchecked(
        linker, from.data(), from.size(), name.data(), name.size(), type, call_missing, missing,
        delete_missing));
    if (error) return unlinkable(message_of(error.get()));
  }
  return {};
}

wasmtime_linker* Linker::native_for(Interruption interruption) {
  Natives& natives = *natives_;
  if (interruption == Interruption::epochs) return natives.epochs;
  if (natives.signals == nullptr) {
    natives.signals = wasmtime_linker_new(engine_.native(interruption));
    for (const HostFunction& function : natives.functions) define_in(natives.signals, function);
  }
  return natives.signals;
}

Result<wasmtime_instance_pre*, Error> Linker::resolve(const Module& module) {
  const bool complete =
      std::ranges::all_of(module.info().imports, [this](const ModuleImport& item) {
        return defined_.contains(std::pair(item.module, item.name));
      });
  wasmtime_linker* const linker = native_for(module.interruption());
  std::unique_ptr<wasmtime_linker_t, decltype(&wasmtime_linker_delete)> own(
      complete ? nullptr : wasmtime_linker_clone(linker), wasmtime_linker_delete);
  if (own) CLOCHE_TRY(define_missing(own.get(), module));
  wasmtime_instance_pre_t* pre = nullptr;
  const Native<wasmtime_error_t> error(
      wasmtime_linker_instantiate_pre(own ? own.get() : linker, module.native(), &pre));
  if (error) return unlinkable(message_of(error.get()));
  return pre;
}

Result<std::shared_ptr<const LinkedModule>, Error> Linker::link(
    std::shared_ptr<const Module> module) {
  const MutexLock lock(mutex_);
  frozen_ = true;
  if (const auto it = linked_.find(module.get()); it != linked_.end()) {
    if (auto known = it->second.lock()) return known;
  }
  std::erase_if(linked_, [](const auto& entry) { return entry.second.expired(); });

  CLOCHE_ASSIGN(wasmtime_instance_pre * pre, resolve(*module));
  const Module* key = module.get();
  auto linked = std::make_shared<const LinkedModule>(engine_, std::move(module), pre);
  linked_[key] = linked;
  return linked;
}

}  // namespace cloche::wasm
