// SPDX-License-Identifier: Apache-2.0
// files.*: files of a sandbox, their content in base64.
#include <fmt/format.h>

#include "base/base64.h"
#include "cloche/archive.h"
#include "doors/rpc/methods.h"

namespace cloche::rpc::files {
namespace {

constexpr double ns_per_ms = 1e6;

const char* type_name(FileKind kind) { return kind == FileKind::directory ? "dir" : "file"; }

// What the protocol has of a file: links are what they lead to.
Reply plain(const FileInfo& info, const std::string& name) {
  return {{"name", name}, {"type", type_name(info.kind)}, {"size", info.size_bytes}};
}

// With all that is known, of the link itself.
Reply detailed(const FileInfo& info, const std::string& name) {
  Reply reply = plain(info, name);
  if (info.kind == FileKind::symlink) {
    reply["type"] = "symlink";
    reply["target"] = info.target;
  } else if (info.kind == FileKind::other) {
    reply["type"] = "other";
  }
  reply["mode"] = info.mode;
  reply["modifiedMs"] = static_cast<double>(info.modified_ns) / ns_per_ms;
  reply["createdMs"] = static_cast<double>(info.created_ns) / ns_per_ms;
  return reply;
}

constexpr Amounts modes{.least = 0, .most = 07777};

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (path.size() == 1 || slash == std::string_view::npos) return std::string(path);
  return std::string(path.substr(slash + 1));
}

}  // namespace

Reply write(Call& call) {
  const std::string path = call.params.word("path");
  const std::string data = call.params.bytes("data");
  Files& files = call.sandbox()->files();
  const std::optional<std::uint64_t> mode = call.params.optional_count("mode", modes);
  if (call.params.flag("append")) {
    must(files.append(path, data), path);
  } else {
    must(files.write(path, data), path);
  }
  if (mode) must(files.change_mode(path, static_cast<std::uint32_t>(*mode)), path);
  return ok();
}

Reply read(Call& call) {
  const std::string path = call.params.word("path");
  const Files& files = call.sandbox()->files();
  const std::optional<std::uint64_t> length =
      call.params.optional_count("length", {.least = 0, .most = payload_limit_bytes});
  const std::uint64_t offset = call.params.optional_count("offset").value_or(0);
  if (!length && offset == 0) {
    const Result<std::string> all = files.read(path, payload_limit_bytes);
    if (!all && all.error() == Errno::fbig) {
      throw request_error(fmt::format("{} has more than {} bytes: read it in parts, with "
                                      "'offset' and 'length'",
                                      path, payload_limit_bytes),
                          Errno::fbig);
    }
    return {{"data", to_base64(must(all, path))}};
  }
  const std::uint64_t size = length.value_or(payload_limit_bytes);
  return {{"data",
           to_base64(must(files.read_range(path, offset, static_cast<std::size_t>(size)), path))}};
}

Reply list(Call& call) {
  const std::string path = call.params.word("path");
  const bool detail = call.params.flag("detail");
  const Files& files = call.sandbox()->files();
  Reply entries = Reply::array();
  for (const FileInfo& info : must(files.list(path), path)) {
    if (detail) {
      entries.push_back(detailed(info, info.name));
    } else if (info.kind == FileKind::symlink) {
      const Result<FileInfo> target = files.stat(path + "/" + info.name);
      entries.push_back(plain(target ? *target : info, info.name));
    } else {
      entries.push_back(plain(info, info.name));
    }
  }
  return {{"entries", std::move(entries)}};
}

Reply mkdir(Call& call) {
  const std::string path = call.params.word("path");
  Files& files = call.sandbox()->files();
  must(call.params.flag("parents") ? files.make_directories(path) : files.make_directory(path),
       path);
  return ok();
}

Reply remove(Call& call) {
  const std::string path = call.params.word("path");
  Files& files = call.sandbox()->files();
  must(call.params.flag("recursive") ? files.remove_all(path) : files.remove(path), path);
  return ok();
}

Reply stat(Call& call) {
  const std::string path = call.params.word("path");
  const Files& files = call.sandbox()->files();
  if (call.params.flag("detail"))
    return detailed(must(files.link_stat(path), path), last_part(path));
  return plain(must(files.stat(path), path), last_part(path));
}

Reply rename(Call& call) {
  const std::string from = call.params.word("from");
  const std::string to = call.params.word("to");
  must(call.sandbox()->files().rename(from, to), from + " to " + to);
  return ok();
}

Reply glob(Call& call) {
  const std::string pattern = call.params.word("pattern");
  return {{"paths", must(call.sandbox()->files().glob(pattern), pattern)}};
}

Reply chmod(Call& call) {
  const std::string path = call.params.word("path");
  const std::optional<std::uint64_t> mode = call.params.optional_count("mode", modes);
  if (!mode) throw call.params.wrong("mode", "a number from 0 to 4095");
  must(call.sandbox()->files().change_mode(path, static_cast<std::uint32_t>(*mode)), path);
  return ok();
}

Reply symlink(Call& call) {
  const std::string target = call.params.word("target");
  const std::string path = call.params.word("path");
  must(call.sandbox()->files().make_symlink(target, path), path);
  return ok();
}

Reply tar_out(Call& call) {
  const std::string path = call.params.word("path");
  return {{"data", to_base64(must(pack(*call.sandbox(), path, payload_limit_bytes,
                                       call.queue->stop_token())))}};
}

Reply tar_in(Call& call) {
  const std::string path = call.params.word("path");
  std::string tar = call.params.bytes("data");
  must(unpack(*call.sandbox(), path, std::move(tar), call.queue->stop_token()));
  return ok();
}

}  // namespace cloche::rpc::files
