// Moving bytes between several buffers of a guest and something that takes one.
#pragma once

#include <functional>

#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {

using ReadBytes = std::function<Result<std::size_t>(std::span<std::byte>)>;
using WriteBytes = std::function<Result<std::size_t>(std::span<const std::byte>)>;

// One call of `read`, its bytes spread over the buffers. With several buffers at most 64 KiB a
// call.
Result<std::size_t> read_scattered(const Call::Buffers& buffers, const ReadBytes& read);

// `write` for the buffers joined: in one call up to 64 KiB, in several beyond, until one comes back
// short.
Result<std::size_t> write_scattered(const Call::Buffers& buffers, const WriteBytes& write);

}  // namespace cloche::kernel::wasi
