// SPDX-License-Identifier: Apache-2.0
// Gate: what of this machine boxes may be made of, where Cloche has told it before it entered its
// jail (process_jail.h). This process stands outside of the jail, so that whoever has taken over
// the one inside could have a box made of any folder, by a descriptor of it, which needs no right
// to read. Behind the gate an image is one of the store, what is mounted and gVisor's program were
// named beforehand, and changes to begin with are those of a box.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cloche::warden {

// The variable of the environment that says it: "DEVICE INODE ro" or "DEVICE INODE rw" of each that
// may be mounted, "DEVICE INODE gvisor" and, after the last of these, the path of the folder of
// images; a newline after each. Without it the gate is open.
inline constexpr const char* gate_variable = "CLOCHE_GATE";
inline constexpr std::size_t most_gate_files = 512;

class Gate {
 public:
  // Null: open. What makes no sense lets nothing through.
  explicit Gate(const char* text) noexcept;

  bool lets_mount(const struct stat& what, bool is_read_only) const noexcept;
  bool lets_image(int folder) const noexcept;
  bool lets_begin_with(int folder) const noexcept;
  bool lets_run(int program) const noexcept;

 private:
  enum class Use : std::uint8_t { read, write, run };
  struct File {
    dev_t device = 0;
    ino_t inode = 0;
    Use use = Use::read;
  };
  bool add(std::string_view line) noexcept;
  bool has(const struct stat& what, bool (*fits)(Use)) const noexcept;

  bool is_open_ = false;
  std::array<File, most_gate_files> files_{};
  std::size_t file_count_ = 0;
  std::string_view images_;  // in the environment; empty: there are none
};

// Of this process, by its environment.
const Gate& gate() noexcept;

}  // namespace cloche::warden
