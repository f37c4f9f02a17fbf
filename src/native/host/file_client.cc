// SPDX-License-Identifier: Apache-2.0
#include "native/host/file_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "native/warden/packet.h"

namespace cloche::native {
namespace {

using warden::FileAnswer;
using warden::FileOp;
using warden::FileRequest;

Result<std::string> strings(std::string_view path, std::string_view other) {
  if (path.size() >= warden::most_path || other.size() >= warden::most_path)
    return Errno::nametoolong;
  if (path.empty()) return Errno::noent;
  std::string text;
  for (const std::string_view one : {path, other}) {
    if (one.find('\0') != std::string_view::npos) return Errno::inval;
    text += one;
    text += '\0';
  }
  return text;
}

// One entry, taken from the front. The bytes come from inside: nothing of them is believed.
Result<FileEntry> take_entry(std::string_view& bytes) {
  warden::FileEntry head;
  if (bytes.size() < sizeof head) return Errno::io;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  const std::size_t text = std::size_t{head.name_bytes} + head.target_bytes;
  if (bytes.size() < text) return Errno::io;
  FileEntry entry{.name = std::string(bytes.substr(0, head.name_bytes)),
                  .target = std::string(bytes.substr(head.name_bytes, head.target_bytes)),
                  .mode = head.mode,
                  .size = head.size,
                  .modified_ns = head.modified_ns,
                  .created_ns = head.created_ns,
                  .accessed_ns = head.accessed_ns,
                  .user = head.user,
                  .group = head.group,
                  .inode = head.inode};
  bytes.remove_prefix(text);
  return entry;
}

}  // namespace

Result<void> FileClient::send(const FileRequest& request, std::string_view payload) {
  if (!channel_) {
    CLOCHE_ASSIGN(channel_, connect_());
    // One that answers what it never took would hold its caller for ever.
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(step_limit_);
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(step_limit_ - seconds);
    const timeval limit{.tv_sec = seconds.count(), .tv_usec = rest.count()};
    (void)::setsockopt(channel_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ++server_;
    left_ = step_limit_;
  }
  const std::array<std::span<const std::byte>, 2> parts{std::as_bytes(std::span(&request, 1)),
                                                        std::as_bytes(std::span(payload))};
  if (warden::send(channel_.get(), parts, {})) return {};
  channel_.reset();
  return Errno::pipe;
}

Result<FileClient::Reply> FileClient::receive(std::chrono::milliseconds limit) {
  std::string bytes(sizeof(FileAnswer) + warden::most_piece, '\0');
  warden::Packet packet;
  long got = -1;
  if (readable_within(channel_.get(), limit))
    got = warden::receive(channel_.get(), std::as_writable_bytes(std::span(bytes)), packet);
  Reply reply{.server = server_, .answer = {}, .bytes = {}};
  if (got < static_cast<long>(sizeof reply.answer)) {
    channel_.reset();
    return Errno::io;
  }
  std::memcpy(&reply.answer, bytes.data(), sizeof reply.answer);
  bytes.resize(static_cast<std::size_t>(got));
  reply.bytes = bytes.substr(sizeof reply.answer);
  if (reply.answer.error != 0) return errno_from_host(reply.answer.error);
  return reply;
}

Result<FileClient::Reply> FileClient::receive_part(
    const std::function<double(const Reply& reply)>& part) {
  constexpr int pieces_of_a_limit = 30;
  const auto begin = std::chrono::steady_clock::now();
  Result<Reply> reply = receive(std::chrono::ceil<std::chrono::milliseconds>(left_));
  left_ -= std::chrono::steady_clock::now() - begin;
  if (!reply) return reply;
  const std::chrono::duration<double, std::nano> more = step_limit_ * part(*reply);
  left_ += std::chrono::duration_cast<std::chrono::nanoseconds>(more / pieces_of_a_limit);
  left_ = std::clamp<std::chrono::nanoseconds>(left_, std::chrono::nanoseconds(0), step_limit_);
  return reply;
}

Result<void> FileClient::send_of(Handle file, FileRequest request, std::string_view payload) {
  if (!channel_ || file.server != server_) return Errno::io;
  request.handle = file.number;
  return send(request, payload);
}

// A server that had ended before it was asked is replaced; one that ends while it works is an error,
// because nobody knows how far it came. So is a box that has ended.
Result<void> FileClient::send_anew(const FileRequest& request, std::string_view payload) {
  const Result<void> sent = send(request, payload);
  if (sent || sent.error() != Errno::pipe) return sent;
  if (!send(request, payload)) return Errno::io;
  return {};
}

Result<FileClient::Reply> FileClient::call(const FileRequest& request, std::string_view payload) {
  const MutexLock lock(mutex_);
  CLOCHE_TRY(send_anew(request, payload));
  return receive();
}

Result<FileClient::Reply> FileClient::call(Handle file, const FileRequest& request,
                                           std::string_view payload) {
  const MutexLock lock(mutex_);
  CLOCHE_TRY(send_of(file, request, payload));
  return receive();
}

Result<FileClient::Reply> FileClient::call_for_part(
    Handle file, const FileRequest& request, std::string_view payload,
    const std::function<double(const Reply& reply)>& part) {
  const MutexLock lock(mutex_);
  CLOCHE_TRY(send_of(file, request, payload));
  return receive_part(part);
}

Result<void> FileClient::at(FileRequest request, std::string_view path, std::string_view other) {
  CLOCHE_ASSIGN(const std::string payload, strings(path, other));
  CLOCHE_TRY(call(request, payload));
  return {};
}

Result<FileClient::OpenedFile> FileClient::open(std::string_view path, std::uint32_t flags,
                                                std::uint32_t mode) {
  CLOCHE_ASSIGN(const std::string payload, strings(path, {}));
  CLOCHE_ASSIGN(const Reply reply,
                call({.op = FileOp::open, .number = flags, .mode = mode}, payload));
  return OpenedFile{{reply.server, reply.answer.handle}, reply.answer.made != 0};
}

void FileClient::close(Handle file) { (void)call(file, {.op = FileOp::close}); }

// A request that has been taken, however much it has brought.
double FileClient::whole_part(const Reply&) { return 1; }

Result<std::string> FileClient::read(Handle file, std::uint64_t offset, std::size_t size) {
  std::string content;
  while (content.size() < size) {
    const auto piece = static_cast<std::uint32_t>(
        std::min<std::size_t>(size - content.size(), warden::most_piece));
    const FileRequest request{
        .op = FileOp::read, .number = piece, .offset = offset + content.size()};
    // That there is no more is a whole part as well: files may be as short as they are.
    const auto part = [&](const Reply& reply) {
      const std::size_t got = reply.bytes.size();
      return got == 0 ? 1 : std::min(1.0, static_cast<double>(got) / piece);
    };
    CLOCHE_ASSIGN(const Reply reply, call_for_part(file, request, {}, part));
    if (reply.bytes.empty()) break;
    content.append(reply.bytes, 0, piece);
  }
  return content;
}

Result<void> FileClient::write(Handle file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, warden::most_piece);
    CLOCHE_TRY(call_for_part(file, {.op = FileOp::write, .offset = offset}, piece, whole_part));
    offset += piece.size();
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Result<void> FileClient::append(Handle file, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, warden::most_piece);
    CLOCHE_TRY(call_for_part(file, {.op = FileOp::append}, piece, whole_part));
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Result<void> FileClient::truncate(Handle file, std::uint64_t size) {
  CLOCHE_TRY(call(file, {.op = FileOp::truncate, .offset = size}));
  return {};
}

Result<void> FileClient::change_mode(Handle file, std::uint32_t mode) {
  CLOCHE_TRY(call(file, {.op = FileOp::handle_mode, .mode = mode}));
  return {};
}

Result<void> FileClient::set_times(Handle file, const Times& times) {
  CLOCHE_TRY(call(file, {.op = FileOp::handle_times,
                         .accessed_ns = times.accessed_ns,
                         .modified_ns = times.modified_ns}));
  return {};
}

Result<FileEntry> FileClient::stat(Handle file) {
  CLOCHE_ASSIGN(const Reply reply, call(file, {.op = FileOp::handle_stat}));
  std::string_view bytes = reply.bytes;
  return take_entry(bytes);
}

Result<FileEntry> FileClient::fill_holes(Handle file, std::uint64_t end) {
  CLOCHE_ASSIGN(const Reply reply, call(file, {.op = FileOp::fill_holes, .offset = end}));
  std::string_view bytes = reply.bytes;
  return take_entry(bytes);
}

Result<FileEntry> FileClient::entry(FileOp op, std::string_view path) {
  CLOCHE_ASSIGN(const std::string payload, strings(path, {}));
  CLOCHE_ASSIGN(const Reply reply, call({.op = op}, payload));
  std::string_view bytes = reply.bytes;
  return take_entry(bytes);
}

Result<FileEntry> FileClient::stat(std::string_view path) { return entry(FileOp::stat, path); }

Result<FileEntry> FileClient::link_stat(std::string_view path) {
  return entry(FileOp::link_stat, path);
}

Result<std::vector<FileEntry>> FileClient::list(std::string_view path, std::size_t most) {
  CLOCHE_ASSIGN(const std::string payload, strings(path, {}));
  const auto part = [](const Reply& reply) {
    return reply.answer.last != 0 ? 1
                                  : static_cast<double>(reply.bytes.size()) / warden::most_piece;
  };
  const MutexLock lock(mutex_);
  CLOCHE_TRY(send_anew({.op = FileOp::list}, payload));
  Result<Reply> reply = receive();
  std::vector<FileEntry> entries;
  for (;;) {
    if (!reply) return reply.error();
    std::string_view bytes = reply->bytes;
    while (!bytes.empty()) {
      Result<FileEntry> entry = take_entry(bytes);
      if (!entry) {
        channel_.reset();  // of what it says next nothing is to be believed
        return entry.error();
      }
      entries.push_back(*std::move(entry));
    }
    if (reply->answer.last != 0) return entries;
    if (entries.size() > most) {
      channel_.reset();  // which had more to say
      return Errno::toobig;
    }
    if (reply->bytes.empty()) {  // nothing, and more of it
      channel_.reset();
      return Errno::io;
    }
    reply = receive_part(part);
  }
}

Result<void> FileClient::make_directory(std::string_view path, std::uint32_t mode) {
  return at({.op = FileOp::make_directory, .mode = mode}, path);
}

Result<void> FileClient::make_folders(std::string_view path) {
  return at({.op = FileOp::make_folders}, path);
}

Result<void> FileClient::remove(std::string_view path) { return at({.op = FileOp::remove}, path); }

Result<void> FileClient::remove_all(std::string_view path) {
  return at({.op = FileOp::remove_all}, path);
}

Result<void> FileClient::rename(std::string_view from, std::string_view to, Target target) {
  return at({.op = FileOp::rename, .number = target == Target::kept ? 1U : 0U}, from, to);
}

Result<void> FileClient::change_mode(std::string_view path, std::uint32_t mode) {
  return at({.op = FileOp::change_mode, .mode = mode}, path);
}

Result<void> FileClient::change_owner(std::string_view path, std::uint32_t user,
                                      std::uint32_t group) {
  return at({.op = FileOp::change_owner, .user = user, .group = group}, path);
}

Result<void> FileClient::set_times(std::string_view path, const Times& times) {
  return at(
      {.op = FileOp::set_times, .accessed_ns = times.accessed_ns, .modified_ns = times.modified_ns},
      path);
}

Result<void> FileClient::set_link_times(std::string_view path, const Times& times) {
  return at({.op = FileOp::set_link_times,
             .accessed_ns = times.accessed_ns,
             .modified_ns = times.modified_ns},
            path);
}

Result<void> FileClient::symlink(std::string_view target, std::string_view path) {
  return at({.op = FileOp::symlink}, path, target);
}

Result<void> FileClient::link(std::string_view existing, std::string_view path) {
  return at({.op = FileOp::link}, path, existing);
}

Result<std::string> FileClient::resolve(std::string_view path) {
  CLOCHE_ASSIGN(const std::string payload, strings(path, {}));
  CLOCHE_ASSIGN(Reply reply, call({.op = FileOp::resolve}, payload));
  return std::move(reply.bytes);
}

Result<std::vector<std::string>> FileClient::attribute_names(std::string_view path) {
  CLOCHE_ASSIGN(const std::string payload, strings(path, {}));
  CLOCHE_ASSIGN(const Reply reply, call({.op = FileOp::attribute_names}, payload));
  std::vector<std::string> names;
  std::string_view rest = reply.bytes;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return Errno::io;
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return names;
}

Result<std::string> FileClient::attribute(std::string_view path, std::string_view name) {
  CLOCHE_ASSIGN(const std::string payload, strings(path, name));
  CLOCHE_ASSIGN(Reply reply, call({.op = FileOp::attribute}, payload));
  return std::move(reply.bytes);
}

Result<void> FileClient::set_attribute(std::string_view path, std::string_view name,
                                       std::string_view value) {
  if (value.size() > warden::most_attribute) return Errno::toobig;
  CLOCHE_ASSIGN(std::string payload, strings(path, name));
  payload += value;
  CLOCHE_TRY(call({.op = FileOp::set_attribute}, payload));
  return {};
}

Result<void> FileClient::remove_attribute(std::string_view path, std::string_view name) {
  return at({.op = FileOp::remove_attribute}, path, name);
}

}  // namespace cloche::native
