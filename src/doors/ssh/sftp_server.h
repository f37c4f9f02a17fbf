// SPDX-License-Identifier: Apache-2.0
// SftpServer: the SFTP protocol, version 3 (draft-ietf-secsh-filexfer-02), over the files of a
// sandbox. Bytes in, bytes out: it knows nothing of SSH.
//
// Requests are answered in their order. What a client may hold is bounded: the size of a request,
// the number of handles, the entries of open folders, what a read or a listing returns. A client
// that breaks the framing is told nothing more, and is done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  SftpServer(Sandbox& sandbox, OpenFolders& folders,
             SymlinkOrder symlinks = SymlinkOrder::target_first,
             std::function<Result<void>()> save = {});
  ~SftpServer() override;
  SftpServer(const SftpServer&) = delete;
  SftpServer& operator=(const SftpServer&) = delete;

  // In pieces of any size; `out` grows to some MiB at most, and what follows comes
  // when it is called with nothing.
  void feed(std::string_view bytes, std::string& out) override;
  bool stalled() const override { return stalled_; }
  void end_input() override { ended_ = true; }
  bool done() const override { return failed_ || (ended_ && !stalled_); }
  int exit_code() const override { return failed_ ? 1 : 0; }

 private:
  struct Handle;

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
  void space(std::uint32_t id, std::string& out);

  Handle* find(std::string_view name);
  std::string add(Handle handle);

  Sandbox& sandbox_;
  Files& files_;
  OpenFolders& folders_;
  const SymlinkOrder symlinks_;
  const std::function<Result<void>()> save_;
  std::string pending_;
  std::map<std::string, Handle, std::less<>> handles_;
  std::uint64_t last_handle_ = 0;
  bool started_ = false;
  bool ended_ = false;
  bool failed_ = false;
  bool stalled_ = false;  // requests wait for room in what goes out
};

}  // namespace cloche::ssh
