// SPDX-License-Identifier: Apache-2.0
#include "wasm/initial_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wasm/page_size.h"
#include "wasm/private_pages.h"
#include "wasm/wasm_reader.h"

namespace cloche::wasm {
namespace {

// Less than this is copied: as fast, and no descriptor.
constexpr std::uint64_t least_mapped_bytes = 16 << 10;
// Data whose pieces lie further apart than this, more than twofold, stays in its segments.
constexpr std::uint64_t most_gap_bytes = 1 << 20;

enum class DataKind : std::uint32_t { active = 0, passive = 1, active_in_memory = 2 };
constexpr std::uint8_t op_i32_const = 0x41;
constexpr std::uint8_t op_end = 0x0b;

struct Segment {
  bool active;
  std::uint64_t address;
  std::span<const std::byte> bytes;
  std::span<const std::byte> whole;
};

std::optional<Segment> read_segment(WasmReader& reader) {
  const std::span<const std::byte> from = reader.rest();
  const auto kind = reader.number();
  if (!kind || *kind > static_cast<std::uint32_t>(DataKind::active_in_memory)) return std::nullopt;
  Segment segment{};
  segment.active = *kind != static_cast<std::uint32_t>(DataKind::passive);
  if (*kind == static_cast<std::uint32_t>(DataKind::active_in_memory)) {
    const auto memory = reader.number();
    if (!memory || *memory != 0) return std::nullopt;
  }
  if (segment.active) {
    if (reader.byte() != op_i32_const) return std::nullopt;
    const auto address = reader.signed_number();
    if (!address || reader.byte() != op_end) return std::nullopt;
    segment.address = *address;
  }
  const auto size = reader.number();
  if (!size) return std::nullopt;
  const auto bytes = reader.take(*size);
  if (!bytes) return std::nullopt;
  segment.bytes = *bytes;
  segment.whole = from.first(from.size() - reader.rest().size());
  return segment;
}

std::optional<std::vector<Segment>> read_segments(std::span<const std::byte> section) {
  WasmReader reader(section);
  const auto count = reader.number();
  if (!count) return std::nullopt;
  std::vector<Segment> segments;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto segment = read_segment(reader);
    if (!segment) return std::nullopt;
    segments.push_back(*segment);
  }
  if (!reader.at_end()) return std::nullopt;
  return segments;
}

std::uint64_t memory_bytes(std::span<const std::byte> section) {
  WasmReader reader(section);
  const auto count = reader.number();
  const auto flags = reader.byte();
  const auto pages = reader.number();
  // Shared, 64-bit or with pages of another size: no instance here has such a memory.
  if (count != 1U || !flags || *flags > 1 || !pages) return 0;
  return *pages * wasm_page_bytes;
}

// The data as one piece; false when it cannot be.
bool join(const std::vector<Segment>& segments, std::uint64_t memory, SplitProgram& split) {
  const std::uint64_t page = host_page_bytes();
  std::uint64_t first = memory, end = 0, total = 0;
  for (const Segment& segment : segments) {
    if (!segment.active) continue;
    const std::uint64_t segment_end = segment.address + segment.bytes.size();
    if (segment_end > memory) return false;
    if (segment.bytes.empty()) continue;
    first = std::min(first, segment.address);
    end = std::max(end, segment_end);
    total += segment.bytes.size();
  }
  if (end == 0) return false;
  split.start = first / page * page;
  const std::uint64_t length = (end - split.start + page - 1) / page * page;
  if (length > 2 * total + most_gap_bytes) return false;
  split.data.resize(static_cast<std::size_t>(length));
  for (const Segment& segment : segments) {
    if (!segment.active || segment.bytes.empty()) continue;
    std::memcpy(split.data.data() + (segment.address - split.start), segment.bytes.data(),
                segment.bytes.size());
  }
  return true;
}

void put_number(std::vector<std::byte>& to, std::size_t value) {
  while (value >= 0x80) {
    to.push_back(static_cast<std::byte>((value & 0x7fU) | 0x80U));
    value >>= 7;
  }
  to.push_back(static_cast<std::byte>(value));
}

// The same segments under the same numbers. One that was active is, once an instance exists, an
// empty one: so it is a passive one of no length.
std::vector<std::byte> without_active(const std::vector<Segment>& segments) {
  std::vector<std::byte> content;
  put_number(content, segments.size());
  for (const Segment& segment : segments) {
    if (segment.active) {
      put_number(content, static_cast<std::size_t>(DataKind::passive));
      put_number(content, 0);
    } else {
      content.insert(content.end(), segment.whole.begin(), segment.whole.end());
    }
  }
  return content;
}

}  // namespace

std::optional<SplitProgram> split_data(std::span<const std::byte> wasm) {
  std::uint64_t memory = 0;
  std::optional<std::vector<Segment>> segments;
  const bool readable = for_each_section(wasm, [&](const WasmSection& section) {
    if (section.id == static_cast<std::uint8_t>(Section::memory))
      memory = memory_bytes(section.content);
    if (section.id == static_cast<std::uint8_t>(Section::data))
      segments = read_segments(section.content);
    return true;
  });
  SplitProgram split;
  if (!readable || !segments || !join(*segments, memory, split)) return std::nullopt;

  split.wasm.reserve(wasm.size());
  split.wasm.assign(wasm.begin(), wasm.begin() + wasm_header_bytes);
  for_each_section(wasm, [&](const WasmSection& section) {
    if (section.id != static_cast<std::uint8_t>(Section::data)) {
      split.wasm.insert(split.wasm.end(), section.whole.begin(), section.whole.end());
      return true;
    }
    const std::vector<std::byte> content = without_active(*segments);
    split.wasm.push_back(static_cast<std::byte>(section.id));
    put_number(split.wasm, content.size());
    split.wasm.insert(split.wasm.end(), content.begin(), content.end());
    return true;
  });
  return split;
}

std::optional<InitialMemory> InitialMemory::open(int fd, std::uint64_t offset, std::uint64_t length,
                                                 std::uint64_t start) {
  InitialMemory memory;
  memory.offset_ = offset;
  memory.length_ = length;
  memory.start_ = start;
  if (length >= least_mapped_bytes) {
    memory.file_.reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!memory.file_) return std::nullopt;
    return memory;
  }
  memory.bytes_.resize(static_cast<std::size_t>(length));
  for (std::size_t done = 0; done < memory.bytes_.size();) {
    const ssize_t got = pread(fd, memory.bytes_.data() + done, memory.bytes_.size() - done,
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return memory;
}

bool InitialMemory::put(std::byte* base) const noexcept {
  if (!bytes_.empty()) std::memcpy(base + start_, bytes_.data(), bytes_.size());
  if (!file_) return true;
  return mmap(base + start_, length_, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_.get(),
              static_cast<off_t>(offset_)) != MAP_FAILED;
}

}  // namespace cloche::wasm
