// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/program.h"

#include "base/check.h"

namespace cloche::kernel {

Result<std::shared_ptr<const Program>> ProgramStore::link(
    std::shared_ptr<const wasm::Module> module, Startup startup) {
  auto program = std::make_shared<Program>();
  program->startup = std::move(startup);
  auto linked = linker_.link(std::move(module));
  if (!linked) return linked.error().code();
  program->module = *std::move(linked);
  return std::shared_ptr<const Program>(std::move(program));
}

ProgramTag ProgramStore::add(std::filesystem::path wasm_file, Startup startup,
                             wasm::Interruption interruption, ProgramOrigin origin) {
  const MutexLock lock(mutex_);
  entries_.push_back({std::move(wasm_file), std::move(startup), nullptr, interruption, origin});
  return entries_.size();
}

ProgramTag ProgramStore::add(std::string name, std::weak_ptr<const std::string> wasm) {
  const MutexLock lock(mutex_);
  entries_.push_back({.source = Held{std::move(name), std::move(wasm)},
                      .startup = {},
                      .program = nullptr,
                      .origin = ProgramOrigin::user});
  return entries_.size();
}

ProgramTag ProgramStore::add(Program program) {
  const MutexLock lock(mutex_);
  entries_.push_back({{}, {}, std::make_shared<const Program>(std::move(program)), {}, {}});
  return entries_.size();
}

std::size_t ProgramStore::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

void ProgramStore::replace(ProgramTag tag, Program program) {
  const MutexLock lock(mutex_);
  CLOCHE_CHECK(tag >= 1 && tag <= entries_.size());
  entries_[tag - 1].program = std::make_shared<const Program>(std::move(program));
}

ProgramStore::Known ProgramStore::known(ProgramTag tag) const {
  const MutexLock lock(mutex_);
  if (tag == 0 || tag > entries_.size()) return {};
  return {entries_[tag - 1].program, entries_[tag - 1].origin};
}

Result<std::shared_ptr<const Program>> ProgramStore::load(ProgramTag tag,
                                                          const std::function<bool()>& give_up) {
  Source source;
  Startup startup;
  wasm::Interruption interruption{};
  {
    const MutexLock lock(mutex_);
    if (tag == 0 || tag > entries_.size()) return Errno::noexec;
    if (entries_[tag - 1].program) return entries_[tag - 1].program;
    source = entries_[tag - 1].source;
    startup = entries_[tag - 1].startup;
    interruption = entries_[tag - 1].interruption;
  }
  // Loaded without the lock: a compile takes long. The module store joins concurrent ones.
  const auto module = load_module(source, interruption, give_up);
  if (!module) return module.error().code() == Errno::intr ? Errno::intr : Errno::noexec;
  CLOCHE_ASSIGN(std::shared_ptr<const Program> program, link(*module, std::move(startup)));
  const MutexLock lock(mutex_);
  Entry& entry = entries_[tag - 1];
  if (!entry.program) entry.program = std::move(program);
  return entry.program;
}

wasm::ModuleStore::Loaded ProgramStore::load_module(const Source& source,
                                                    wasm::Interruption interruption,
                                                    const std::function<bool()>& give_up) {
  if (const auto* const file = std::get_if<std::filesystem::path>(&source))
    return modules_.load(*file, interruption, give_up);
  const Held& held = std::get<Held>(source);
  const std::shared_ptr<const std::string> wasm = held.wasm.lock();
  if (!wasm) return Error(Errno::noent, held.name);
  return modules_.load(std::as_bytes(std::span(*wasm)), wasm, held.name, interruption, give_up);
}

Result<std::shared_ptr<const Program>> ProgramStore::load_bytes(std::span<const std::byte> bytes,
                                                                const wasm::CompileFor& whom) {
  const auto module = modules_.load(bytes, "program", whom);
  if (!module) return module.error().code();
  if (!(*module)->info().has_export("_start")) return Errno::noexec;
  return link(*module, {});
}

}  // namespace cloche::kernel
