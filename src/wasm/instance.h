// SPDX-License-Identifier: Apache-2.0
// Instance: one guest program in memory: its linear memory, its globals, its tables.
//
// One thread at a time uses an Instance; between calls it may move to another thread. A thread that
// calls into it has guest_thread_stack_bytes of stack (GuestThreads). Instances neither copy nor
// move, and must not outlive their Engine.
//
// Interruption. Engine::interrupt makes a guest that computes call its epoch handler, on the
// guest's own thread, at the entry of a function or loop. The handler answers whether the guest
// goes on or is unwound, and may itself call into the guest (`call`, to run signal handlers); that
// inner call can be interrupted too, so the handler may be entered again within itself. Where the
// inner call ends with an uncaught exception (a C signal handler that longjmps out), answer
// EpochAction::rethrow: the exception goes on into the frames that called the interrupted function,
// which catch it, or the outer call ends with Trap::uncaught_exception. (Handlers in the
// interrupted function itself do not see it: wasmtime looks for them at calls only.) Where the
// inner call ended with another trap or an exit, answer `unwind`: the guest is not in a state to go
// on.
//
// A program that signals interrupt (Interruption::signals) calls its handler anywhere in its
// functions. From there it can be called where it exports `__cloche_signal`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wasm/guest_memory.h"
#include "wasm/linear_memory.h"
#include "wasm/linker.h"
#include "wasm/mapping_share.h"
#include "wasm/memory_budget.h"
#include "wasm/memory_map.h"
#include "wasm/module_limits.h"
#include "wasm/outcome.h"
#include "wasm/preemption.h"
#include "wasm/value.h"

struct wasmtime_store;
struct wasmtime_context;

namespace cloche::wasm {

class MemoryImage;
struct PackedImage;

// `again`: goes on, and where no check of the guest is an epoch, the handler wants to be called
// again some milliseconds later. What it wrote into memory may be lost there: the guest may have
// stood between reading a word and writing it.
enum class EpochAction : std::uint8_t { proceed, unwind, rethrow, again };

struct InstanceOptions {
  void* owner = nullptr;  // what HostCall::owner and the epoch handler get
  // What the instance takes is charged here first; null: to nobody.
  std::shared_ptr<MemoryBudget> budget;
  // Of linear memory; exceptions that the guest holds on to may take as much again.
  std::uint64_t memory_limit_bytes = std::uint64_t{4} << 30;
  std::uint64_t table_limit_elements = max_table_elements;  // of each table, of at most max_tables
  // What its memory begins with; null: the program's own data.
  std::shared_ptr<const MemoryImage> image;
  // In place of it: an image that is packed. Not for one that is to be captured.
  std::shared_ptr<const PackedImage> packed;
  // It is likely to be forked with much state: see prepare_for_capture. For one with a memory
  // image.
  bool to_be_captured = false;
  // Another instance of the same program, whose linear memory this one shares: it has no data of
  // its own, and no memory image; its globals and its stack alone. Only one of the two may run at a
  // time, and the one that goes on calls follow_memory first. Null: a memory of its own.
  const Instance* memory_of = nullptr;
};

class Instance {
 public:
  using EpochHandler = EpochAction (*)(Instance& instance, void* owner) noexcept;

  // ENOMEM when the program's first memory or its memory image is beyond the limit or the budget,
  // or the host has no address space, or no mappings for guests (mapping_share.h); ENOEXEC when its
  // start function traps, or the memory image is of another program.
  static Result<std::unique_ptr<Instance>, Error> create(std::shared_ptr<const LinkedModule> module,
                                                         const InstanceOptions& options);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // Calls an exported function with these parameters and waits for its end. Also from within a host
  // function or the epoch handler of this instance (a nested call). After trapped or exited the
  // guest is not meant to be called again.
  Outcome call(std::string_view export_name, std::span<const Value> parameters = {});
  Outcome call(std::string_view export_name, std::initializer_list<Value> parameters) {
    return call(export_name, std::span(parameters.begin(), parameters.size()));
  }

  const Module& module() const noexcept { return module_->module(); }
  const std::shared_ptr<const LinkedModule>& linked_module() const noexcept { return module_; }
  void* owner() const noexcept { return owner_; }
  void set_owner(void* owner) noexcept { owner_ = owner; }

  // Empty for a program that exports no "memory".
  GuestMemory memory() noexcept;

  // Sees what an instance that shares this one's memory has grown.
  void follow_memory() noexcept;

  // Grows memory; the new size in bytes. ENOMEM beyond the program's maximum, the limit or the
  // budget.
  Result<std::uint64_t> grow(std::uint64_t pages);

  // Holds for growth from now on; what is there stays. Any value; beyond 4 GiB it is none.
  void set_memory_limit(std::uint64_t bytes) noexcept;
  std::uint64_t memory_limit() const noexcept { return memory_limit_bytes_; }

  bool has_export(std::string_view name) const noexcept { return module().info().has_export(name); }

  // The value of an exported global of a number type; nullopt when there is none of that name.
  std::optional<Value> global(std::string_view name) const;
  // EINVAL when there is none of that name, or it is immutable or of another type.
  Result<void> set_global(std::string_view name, Value value);

  // Without a handler an epoch ends the call with Trap::interrupted. Not from within the handler.
  void set_epoch_handler(EpochHandler handler) noexcept { epoch_handler_ = handler; }

  // Lets the epoch handler run at the next check of the guest, even if no further interrupt comes.
  // For the guest's own thread: what came in while the guest was in a host function.
  void interrupt_self() noexcept;

  // How many calls are in progress (nested ones count).
  int depth() const noexcept { return depth_; }

  // For the rest of this layer: what is mapped over the memory; the error that a host function
  // answers to unwind the guest.
  MemoryMap& memory_map() noexcept { return memory_map_; }
  GuestMemory mapped_memory() const noexcept;  // without finish_mapping first
  const MemoryImage* image() const noexcept { return image_.get(); }
  // There is one, which is complete, and no other instance shares it.
  bool has_memory_of_its_own() const noexcept {
    return memory_ != nullptr && is_whole_ && !memory_->is_shared();
  }
  // Where its memory is one of an instance before it, which holds what this one begins with: what
  // is there already. Otherwise null.
  const LinearMemory::Warmth* warmth() const noexcept {
    return memory_ == nullptr ? nullptr : memory_->warmth();
  }
  void* begin_unwind() noexcept;
  // The same where it is known already why.
  void* end_here() noexcept;
  bool is_preempted() const noexcept { return preempted_ != nullptr; }
  // In its start function, when nobody has it yet.
  bool is_starting() const noexcept { return starting_; }
  // Whether the guest goes on with what its handler has thrown; the error that raises that.
  bool is_raising() const noexcept { return raising_; }
  void* raise() noexcept;

 private:
  struct State;

  Instance(std::shared_ptr<const LinkedModule> module, const InstanceOptions& options);
  Result<void, Error> instantiate(bool to_be_captured);
  Result<void> map_image(bool to_be_captured);
  const MemoryContent& content() const noexcept;
  // At its end: what its memory holds again, and rests with; null: nothing, it goes.
  const MemoryContent* put_back_memory() noexcept;
  void find_context() noexcept;
  void apply_limits() noexcept;
  Answer answer_interruption() noexcept;

  std::shared_ptr<const LinkedModule> module_;
  std::shared_ptr<const MemoryImage> image_;
  std::shared_ptr<const PackedImage> packed_;  // to begin with
  MemoryCharge engine_charge_;
  void* owner_;
  std::uint64_t memory_limit_bytes_;
  std::uint64_t table_limit_elements_;
  EpochHandler epoch_handler_ = nullptr;
  int depth_ = 0;
  bool starting_ = false;
  MemoryMap memory_map_;
  // Wasmtime's; null: there is none. Before it is made, the one to share.
  LinearMemory* memory_ = nullptr;
  bool is_whole_ = false;         // it was made without an error, with a memory of its own
  std::unique_ptr<State> state_;  // what wasmtime gave us; goes first
  const NativeCode* preempted_;   // null: epochs interrupt it
  GuestContext context_;          // of one that signals interrupt and that has handlers
  bool raising_ = false;
  std::uint64_t interruptions_seen_;
  std::optional<MappingShare::Permit> place_;
};

}  // namespace cloche::wasm
