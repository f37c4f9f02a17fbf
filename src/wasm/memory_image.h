// SPDX-License-Identifier: Apache-2.0
// MemoryImage: an immutable snapshot of an Instance: its linear memory and its exported mutable
// globals.
//
// Boot images, snapshots and forks are all this. The first image of an instance copies its memory;
// a later one (of the same instance, or of one that an image was mapped into) copies the pages
// written since, but for what the instance has in files already (MemoryMap): that is taken as it
// is. Mapping an image into a fresh instance copies next to nothing: pages are shared by all who
// map them until they write. Where a guest of an image before has ended, a fresh instance has its
// memory, made to hold this one.
//
// What is not in it: tables, globals that are not exported, the call stack. So take it
// - between calls (depth() == 0), for a program whose only hidden mutable global is the stack
// pointer, which is then at its start; or
// - within a host call, for a program that exports "__stack_pointer" and whose copy starts at
// another entry (`clone`).
//
// Errors: ENOMEM, EMFILE and the like as the host says; ENOEXEC for an image of another program.
// Threads: an image may be used by all; the instances named in a call are used by that call alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host_files.h"
#include "base/result.h"
#include "wasm/instance.h"
#include "wasm/memory_content.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {

class MemoryImage : public std::enable_shared_from_this<MemoryImage> {
 public:
  // At most so many mappings per image: the kernel bounds the mappings of a process
  // (vm.max_map_count). What is written in smaller pieces is copied into each instance.
  static constexpr std::size_t max_segments = 32;
  static constexpr std::uint64_t min_segment_pages = 16;

  // Snapshots `instance`, which goes on as before. Between calls a part of the work is put off
  // until the instance is used again; one that was not used since its last image gives that image.
  // `unused` says in which pages nobody wants to know what there is (sorted, disjoint): they are
  // not copied, and hold anything in the image; where it throws std::bad_alloc, ENOMEM.
  using Unused = std::function<std::vector<PageRun>(Instance& instance)>;
  static Result<std::shared_ptr<const MemoryImage>> capture(Instance& instance,
                                                            const Unused& unused = {});

  // Makes a fresh instance (nothing called yet) of the same program a copy of what was captured. On
  // failure destroy it.
  Result<void> map_into(Instance& instance) const;

  // Writes the image to a file: complete or not at all. Throws HostError (disk full, no
  // permission).
  void save(const std::filesystem::path& path) const;
  // The same into a new file of the caller's, from `offset` to its end.
  Result<void> write(HostFiles& files, int fd, std::uint64_t offset) const;

  // An image that `save` wrote, mapped from the file, for this module. The file may be anything:
  // ENOENT when it is not there, or not a whole, unchanged image of this module.
  static Result<std::shared_ptr<const MemoryImage>> load(const std::filesystem::path& path,
                                                         const Module& module);

  // The pages that may be other than those of `base`, sorted; nothing where it was not made from
  // that one.
  std::optional<std::vector<PageRun>> pages_over(const MemoryImage& base) const;
  struct Layer;
  // `base` with pages over it. EINVAL for pages that no memory of this size has.
  static Result<std::shared_ptr<const MemoryImage>> over(const MemoryImage& base, Layer layer);

  // The first of those that it was made over, as far as that is there; else itself.
  std::shared_ptr<const MemoryImage> first() const noexcept;

  std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }
  // A memory that holds it already, prepared for a capture or not: of a guest that began with it,
  // or with an image that it was made over, and has ended. Null: there is none.
  std::unique_ptr<LinearMemory> take_memory(bool prepared) const noexcept;

  // Its captured instance has ended: makes the memory hold nothing but this image, which is its
  // base, and what is private. False: it must go.
  bool take_back(Instance& instance) const noexcept;

  // What making it copied.
  std::uint64_t own_bytes() const noexcept { return own_bytes_; }
  const Digest& module_digest() const noexcept { return module_digest_; }

  // [address, address + length) of linear memory is [offset, offset + length) of the file.
  // Multiples of the page size.
  struct Segment {
    std::uint64_t address;
    std::uint64_t length;
    std::uint64_t offset;
    std::shared_ptr<const MemoryFile> file;
  };
  struct Global {
    std::string name;
    Value value;
    friend bool operator==(const Global&, const Global&) = default;
  };

  struct Layer {
    std::uint64_t memory_bytes;
    // One after the other in the file, from `offset` on: the longest first, since those that are
    // large enough are mapped up to the first that is not.
    std::vector<PageRun> runs;
    std::shared_ptr<const MemoryFile> file;
    std::uint64_t offset;
    std::vector<Global> globals;
  };

  // To be mapped in this order: a later one lies over an earlier one. The first is of all memory at
  // that time; beyond it what no segment covers is zero.
  const std::vector<Segment>& segments() const noexcept { return segments_; }
  // To be copied on top. All of one file, one after the other.
  const std::vector<Segment>& patches() const noexcept { return patches_; }
  const std::vector<Global>& globals() const noexcept { return globals_; }
  // The end of memory is free heap, mostly: from `tail_start` on only the pages of `tail` are not
  // zero.
  std::uint64_t tail_start() const noexcept { return tail_start_; }
  const std::vector<PageRun>& tail() const noexcept { return tail_; }
  // As what instances begin with.
  const MemoryContent& content() const noexcept { return *content_; }

 private:
  struct Builder;
  MemoryImage() = default;
  void find_tail(std::uint64_t floor, std::vector<PageRun> data);
  // It was made over `base`.
  void follow(const MemoryImage& base) noexcept;
  void seal();  // it changes no more
  std::vector<PageRun> patched_runs() const;
  // Copies into memory at `base` what it has in `runs`; with a patch come all. False where the host
  // refuses.
  bool put_pages(std::byte* base, const std::vector<PageRun>& runs) const;
  // Makes a memory that holds `from`, and nobody uses, hold this image. False: it must go.
  bool lay_over(LinearMemory& memory, const MemoryImage& from) const;

  Digest module_digest_{};
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t own_bytes_ = 0;
  std::vector<Segment> segments_;
  std::vector<Segment> patches_;
  std::vector<Global> globals_;
  std::uint64_t tail_start_ = 0;
  std::vector<PageRun> tail_;
  // Whose guests leave memories that are nearly what this one's begin with: the image under it, and
  // the first of all those.
  std::weak_ptr<const MemoryImage> before_, first_;
  std::optional<MemoryContent> content_;
};

// Does what `capture` and `map_into` put off. Instance sees to it before anyone uses the memory.
// Before the guest runs, parts that it will write again get files of their own (MemoryMap).
enum class Before : std::uint8_t { the_guest_runs, anyone_looks };
void finish_mapping(Instance& instance, Before what) noexcept;

// Makes the fresh instance `child` a copy of `parent` (same program), which may be inside a host
// call: the fast path of `clone`. Maps the parent's base and copies the pages that the parent wrote
// since; leaves the parent as it is. On failure destroy the child.
Result<void> copy_into_clone(Instance& parent, Instance& child);

// Lets memory that `instance` grows from now on, and the free tail of its heap, lie in a shared
// file, which a later capture takes without a copy: for an instance that is likely to be forked
// with much state; best just after map_into. Costs some microseconds now, and pages cost slightly
// more at first touch. On failure destroy the instance.
Result<void> prepare_for_capture(Instance& instance);

}  // namespace cloche::wasm
