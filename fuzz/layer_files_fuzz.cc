// SPDX-License-Identifier: Apache-2.0
// Checkpoints that lie over a boot image (python/layer_file.h), with the checksums that they should
// have. An input is the line of JSON that describes memory, then runs of pages, five bytes each. What
// is taken becomes the memory of an interpreter, which has those pages where they were said to be.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/temp_dir_testing.h"
#include "pieces.h"
#include "python/layer_file.h"
#include "wasm/page_sums.h"
#include "wasm/wat_testing.h"

namespace {

using namespace cloche;

constexpr std::size_t unit_bytes = 65536;
constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t most_pages_bytes = 1 << 20;

constexpr std::string_view guest_text = R"((module
  (memory (export "memory") 4 20)
  (data (i32.const 5000) "what was")
  (global (export "__stack_pointer") (mut i32) (i32.const 1000))
  (global (export "wide") (mut i64) (i64.const 7))
  (func (export "_start"))))";

struct Fixture {
  wasm::GuestMaker guests;
  std::shared_ptr<const wasm::LinkedModule> module = guests.link(guest_text);
  std::shared_ptr<python::BootImage> base = std::make_shared<python::BootImage>();
  TempDir folder;
  std::filesystem::path file = folder.path() / "a.image";
  python::ImageBuild build{.program = "program", .library = "library"};

  Fixture() {
    const auto guest = guests.make(module);
    CLOCHE_CHECK(guest && guest->memory().write(100'000, std::uint32_t{1}));
    base->memory = *wasm::MemoryImage::capture(*guest);
  }
};

struct Content {
  std::string text;
  std::vector<wasm::PageRun> runs;
};

Content content_of(std::string_view input) {
  Content content;
  content.text = std::string(fuzz::next_piece(input)) + "\n";
  content.text.resize((content.text.size() + unit_bytes - 1) / unit_bytes * unit_bytes, '\0');
  std::uint64_t bytes = 0;
  for (; input.size() >= 5 && content.runs.size() < 1000; input.remove_prefix(5)) {
    std::uint16_t start = 0, length = 0;
    std::memcpy(&start, input.data(), sizeof start);
    std::memcpy(&length, input.data() + 2, sizeof length);
    const auto how = static_cast<std::uint8_t>(input[4]);
    const std::uint64_t unit = (how & 0x80) != 0 ? page_bytes : std::uint64_t{1} << (how & 0x3f);
    content.runs.push_back({start * unit, length * unit});
    bytes += length * unit;
  }
  std::string table(content.runs.size() * sizeof(wasm::PageRun), '\0');
  if (!table.empty()) std::memcpy(table.data(), content.runs.data(), table.size());
  table.resize((table.size() + unit_bytes - 1) / unit_bytes * unit_bytes, '\0');
  content.text += table;
  content.text.append(std::min(bytes, most_pages_bytes), 'p');
  return content;
}

void write(const Fixture& fixture, const Content& content, const std::string& sum) {
  const python::ImageHeader header{
      .build = fixture.build,
      .content_bytes = content.text.size(),
      .content_hash = wasm::sum_of(std::as_bytes(std::span(content.text))),
      .base = python::ImageBase{"the key", sum}};
  std::ofstream(fixture.file, std::ios::binary)
      << python::image_header_text(header) << content.text;
}

// Null: it is refused, with a sentence.
std::shared_ptr<const wasm::MemoryImage> load(const Fixture& fixture, std::string& why) try {
  return python::load_layer_file(fixture.file, python::open_image_file(fixture.file), fixture.build,
                                 fixture.module->module(),
                                 [&](const std::string&) { return fixture.base; });
} catch (const Error& error) {
  why = error.what();
  CLOCHE_CHECK(!why.empty());
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 13;
  if (size > most) return 0;
  static Fixture fixture;
  const Content content = content_of({reinterpret_cast<const char*>(data), size});
  std::string why;
  write(fixture, content, "no sum");
  CLOCHE_CHECK(!load(fixture, why));
  if (why.find("another machine's") == why.npos) return 0;
  // But for its sum it is one.
  std::vector<wasm::PageRun> sorted = content.runs;
  std::ranges::sort(sorted, {}, &wasm::PageRun::start);
  write(fixture, content, fixture.base->sums.outside(*fixture.base->memory, sorted));
  const auto image = load(fixture, why);
  CLOCHE_CHECK(image != nullptr);
  auto guest = wasm::Instance::create(fixture.module, {.image = image});
  if (!guest) return 0;  // with more memory than it may have, or globals of another kind
  CLOCHE_CHECK((*guest)->memory().size() == image->memory_bytes());
  for (const wasm::PageRun& run : content.runs) {
    for (const std::uint64_t at : {run.start, run.start + run.length - 1})
      CLOCHE_CHECK(*(*guest)->memory().read<char>(static_cast<std::uint32_t>(at)) == 'p');
  }
  return 0;
}
