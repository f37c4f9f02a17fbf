// SPDX-License-Identifier: Apache-2.0
// MemoryContent: what the linear memories of many instances begin with, the initial data of a
// program or a memory image, and the memories of instances that have ended which hold it again.
//
// Half of what a short life costs is page tables: mappings made and taken down, a fault for each
// page that is touched. A memory that is kept has its mappings and its pages. When its instance
// ends, each page that it may have written gets the content's bytes over it (a copy costs less than
// a fault) or, where lives seldom write it, is given back, so that the content shows again.
//
// That this is exact is a wall between sandboxes: a memory is kept only where the host tells which
// pages are private to it, and where nothing was mapped over it in its life.
//
// Thread-safe. Outlives the instances that begin with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "wasm/linear_memory.h"

namespace cloche::wasm {

class MemoryContent {
 public:
  // Puts the content into `bytes()` of zeros, accessible, at `base`; false where the host refuses.
  using Put = std::function<bool(std::byte* base)>;

  // Copies into `runs` of a memory at `base` what the content has there.
  using PutPages = std::function<bool(std::byte* base, const std::vector<PageRun>& runs)>;

  // `patches`: pages of it that `put` copies, so that they are private from the start. Where there
  // is `put_pages` the memory of the first guest is kept already: another content may want it.
  MemoryContent(std::uint64_t bytes, Put put, std::vector<PageRun> patches = {},
                PutPages put_pages = {});
  ~MemoryContent();
  MemoryContent(const MemoryContent&) = delete;
  MemoryContent& operator=(const MemoryContent&) = delete;

  std::uint64_t bytes() const noexcept { return bytes_; }
  // All of it, to be read; nothing where the host refuses. Mapped at the first call.
  std::span<const std::byte> view() const EXCLUDES(mutex_);

  // A memory that holds it; null where none is kept. One that is prepared for a capture only where
  // that is asked for, and then preferred.
  std::unique_ptr<LinearMemory> take(bool prepared) const noexcept;
  // The same for a guest that does not begin with it.
  std::unique_ptr<LinearMemory> lend(bool prepared) const noexcept;
  // Makes `memory`, which nobody uses any more, hold the content again; then it may rest and be
  // kept. `map` is what lies under it. False: it must go.
  bool put_back(LinearMemory& memory, const MemoryMap& map) const noexcept;
  // Gives all that rest back to the host, of any content: where it refuses something else.
  static void give_back_all() noexcept;
  // Takes what rests. Where enough is kept the one that has waited longest goes, of any content.
  void keep(std::unique_ptr<LinearMemory> memory) const noexcept;

 private:
  // How it is copied: from its view, or by `put_pages_` where there is none.
  PutPages way_to_put() const;
  bool put_back_private(std::byte* base, std::uint64_t end, const LinearMemory::Warmth* before,
                        LinearMemory::Warmth& now, const PutPages& put) const;
  bool put_back_growth(std::byte* base, const MemoryMap& map, std::uint64_t size,
                       std::uint64_t& held_bytes, const PutPages& put) const;

  const std::uint64_t bytes_;
  const Put put_;
  const std::vector<PageRun> patches_;
  const PutPages put_pages_;
  mutable Mutex mutex_;  // held while the view is made
  mutable std::atomic<const std::byte*> view_{nullptr};
  mutable std::atomic<std::uint32_t> lives_{0};
  mutable std::atomic<bool> has_kept_{false};
};

}  // namespace cloche::wasm
