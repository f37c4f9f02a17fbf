// SPDX-License-Identifier: Apache-2.0
// Vectored transfers: what both system-call interfaces do with a guest's list of buffers.
//
// Only the first piece of a transfer may sleep: what has been moved is reported, however the rest
// goes. A file with positions takes the buffers one after the other (it never sleeps in between);
// at its position, and at its end, they are one piece to others all the same.
// Anything else sees one transfer, so that a message stays one, a write of up to PIPE_BUF bytes is
// not divided, and a second piece cannot block after the first: several buffers go through one of
// the host's. What is moved counts in the process's usage (/proc/<pid>/io). Kernel lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"
#include "wasm/guest_memory.h"

namespace cloche::kernel {

class Process;
class Task;

using GuestBuffer = std::span<std::byte>;

inline constexpr std::uint32_t iov_max = 1024;

// An array of {address, length} pairs, all checked; empty buffers are left out. EINVAL for more
// than iov_max of them or 2 GiB in sum; EFAULT.
Result<std::vector<GuestBuffer>> read_iovecs(const wasm::GuestMemory& memory, std::uint32_t address,
                                             std::uint32_t count);

// Transfers at `offset`, or at the file's position when there is none. Without buffers the file
// still says whether it can be read or written so. With several and no positions at most 1 MiB is
// read, and more than that is written in several pieces. The errors of the file's own calls.
Result<std::size_t> read_vector(Task& task, File& file, std::span<const GuestBuffer> buffers,
                                std::optional<std::uint64_t> offset) REQUIRES(kernel_lock);
Result<std::size_t> write_vector(Task& task, File& file, std::span<const GuestBuffer> buffers,
                                 std::optional<std::uint64_t> offset) REQUIRES(kernel_lock);
// The same at the end of the file, whatever its flags say (RWF_APPEND).
class NodeFile;
Result<std::size_t> append_vector(Task& task, NodeFile& file, std::span<const GuestBuffer> buffers)
    REQUIRES(kernel_lock);

// One transfer of that many bytes, for calls that do not come through here.
void count_read(Process& process, std::size_t bytes) REQUIRES(kernel_lock);
void count_written(Process& process, std::size_t bytes) REQUIRES(kernel_lock);

}  // namespace cloche::kernel
