// SPDX-License-Identifier: Apache-2.0
// SftpServer: the SFTP protocol, version 3 (draft-ietf-secsh-filexfer-02), over the files of a
// sandbox. Bytes in, bytes out: it knows nothing of SSH.
//
// Requests are answered in their order; one for a copy within the sandbox is worked at in pieces.
// What a client may hold is bounded: the size of a request,
// the number of handles, the entries of open folders, what a read or a listing returns. A client
// that breaks the framing is told nothing more, and is done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/open_file.h"
#include "cloche/sandbox.h"
#include "doors/ssh/file_protocol.h"
#include "doors/ssh/open_folders.h"

namespace cloche::ssh {

class PacketReader;

enum class SymlinkOrder : std::uint8_t { target_first, link_first };

class SftpServer final : public FileProtocol {
 public:
  // `sandbox` and `folders` outlive it. Relative paths start in the home folder. `symlinks`: what
  // the client puts first when it asks for one. `save` is called before the client is told that a
  // file is closed, or that something has changed; the client hears of its error instead.
  SftpServer(Sandbox& sandbox, FoldersOfOwner folders,
             SymlinkOrder symlinks = SymlinkOrder::target_first,
             std::function<Result<void>()> save = {});
  ~SftpServer() override;
  SftpServer(const SftpServer&) = delete;
  SftpServer& operator=(const SftpServer&) = delete;

  // In pieces of any size; `out` grows to some MiB at most, and what follows comes
  // when it is called with nothing.
  void feed(std::string_view bytes, std::string& out) override;
  bool stalled() const override { return stalled_; }
  bool has_more() const override { return copy_.has_value(); }
  std::size_t held_bytes() const override { return pending_.size(); }
  void end_input() override { ended_ = true; }
  bool done() const override { return failed_ || (ended_ && !stalled_); }
  int exit_code() const override { return failed_ ? 1 : 0; }

 private:
  struct Handle {
    std::unique_ptr<OpenFile> file;
    bool appends = false;
    // Of a folder.
    std::vector<FileInfo> entries;
    std::size_t next = 0;
    OpenFolders::Share share;
  };
  // A request for it, as far as it has come.
  struct Copy {
    std::uint32_t id = 0;
    std::string from;
    std::uint64_t from_offset = 0;
    std::uint64_t left_bytes = 0;
    bool to_end = false;  // and not so many
    std::string to;
    std::uint64_t to_offset = 0;
  };

  void answer(std::string_view packet, std::string& out);
  void serve(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out);
  void open(std::uint32_t id, PacketReader& in, std::string& out);
  void close(std::uint32_t id, PacketReader& in, std::string& out);
  void read(std::uint32_t id, PacketReader& in, std::string& out);
  void write(std::uint32_t id, PacketReader& in, std::string& out);
  void stat(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out);
  void set_stat(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out);
  void open_folder(std::uint32_t id, PacketReader& in, std::string& out);
  void read_folder(std::uint32_t id, PacketReader& in, std::string& out);
  void real_path(std::uint32_t id, PacketReader& in, std::string& out);
  void read_link(std::uint32_t id, PacketReader& in, std::string& out);
  void rename(std::uint32_t id, PacketReader& in, std::string& out, IfThere there);
  void remove(std::uint8_t type, std::uint32_t id, PacketReader& in, std::string& out);
  void extended(std::uint32_t id, PacketReader& in, std::string& out);
  bool extended_at_path(std::string_view name, std::uint32_t id, PacketReader& in,
                        std::string& out);
  bool extended_at_handle(std::string_view name, std::uint32_t id, PacketReader& in,
                          std::string& out);
  void set_link_stat(std::uint32_t id, PacketReader& in, std::string& out);
  void expand(std::uint32_t id, std::string_view path, std::string& out);
  void begin_copy(std::uint32_t id, PacketReader& in, std::string& out);
  void go_on_copying(std::string& out);
  std::optional<Result<void>> copy_piece();
  void space(std::uint32_t id, std::string& out);
  void send_name(std::uint32_t id, std::string_view name, std::string& out);
  void save(std::uint32_t id, std::string& answer);
  std::string home() const;
  std::string normal_path(std::string_view path) const;

  Handle* find(std::string_view name);
  std::string add(Handle handle);

  Sandbox& sandbox_;
  Files& files_;
  FoldersOfOwner folders_;
  const SymlinkOrder symlinks_;
  const std::function<Result<void>()> save_;
  std::string pending_;
  std::map<std::string, Handle, std::less<>> handles_;
  std::uint64_t last_handle_ = 0;
  std::optional<Copy> copy_;
  bool started_ = false;
  bool ended_ = false;
  bool failed_ = false;
  bool stalled_ = false;  // requests wait for room in what goes out
};

}  // namespace cloche::ssh
