// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/scp_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"

namespace cloche::ssh {
namespace {

constexpr std::size_t line_max_bytes = 8192;
constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::size_t depth_max = 256;

// "0644 12 name" after its letter.
struct Announced {
  std::uint32_t mode = 0;
  std::uint64_t size = 0;
  std::string_view name;
};

std::optional<Announced> parse_announced(std::string_view line) {
  Announced found;
  const std::size_t first = line.find(' ');
  const std::size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
  if (second == line.npos) return std::nullopt;
  const auto number = [](std::string_view text, auto& to, int base) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to, base);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (!number(line.substr(0, first), found.mode, 8) ||
      !number(line.substr(first + 1, second - first - 1), found.size, 10))
    return std::nullopt;
  found.name = line.substr(second + 1);
  // A name leads nowhere else.
  if (found.name.empty() || found.name == "." || found.name == ".." ||
      found.name.find('/') != found.name.npos)
    return std::nullopt;
  found.mode &= 07777;
  return found;
}

std::string last_component(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string join(const std::string& folder, std::string_view name) {
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
}

}  // namespace

std::optional<ScpOptions> parse_scp(const std::vector<std::string>& words) {
  ScpOptions options;
  bool has_role = false;
  bool options_over = false;
  for (const std::string& word : words) {
    if (options_over || word.size() < 2 || word[0] != '-') {
      options.paths.push_back(word);
    } else if (word == "--") {
      options_over = true;
    } else {
      for (const char letter : std::string_view(word).substr(1)) {
        switch (letter) {
          case 't':
          case 'f':
            options.role = letter == 't' ? ScpOptions::Role::sink : ScpOptions::Role::source;
            has_role = true;
            break;
          case 'r': options.recursive = true; break;
          case 'p': options.keep_times = true; break;
          case 'd': options.into_folder = true; break;
          default: break;  // -q, -v: how it is shown
        }
      }
    }
  }
  if (!has_role || options.paths.empty()) return std::nullopt;
  if (options.role == ScpOptions::Role::sink && options.paths.size() != 1) return std::nullopt;
  return options;
}

bool is_one_command(std::string_view command) {
  // A comment ends at a line's end, and $'...' has quotes in it that are none.
  if (command.find('\n') != command.npos || command.find("$'") != command.npos) return false;
  enum class Quote : std::uint8_t { none, single, twofold } quote = Quote::none;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char letter = command[i];
    if (quote == Quote::single) {
      if (letter == '\'') quote = Quote::none;
    } else if (letter == '\\') {
      ++i;
    } else if (letter == '"') {
      quote = quote == Quote::none ? Quote::twofold : Quote::none;
    } else if (letter == '`' || command.substr(i).starts_with("$(") ||
               command.substr(i).starts_with("${")) {
      return false;
    } else if (quote == Quote::none) {
      if (letter == '\'') quote = Quote::single;
      if (std::string_view(";&|<>()").find(letter) != std::string_view::npos) return false;
    }
  }
  return quote == Quote::none;
}

ScpServer::ScpServer(Sandbox& sandbox, FoldersOfOwner folders, ScpOptions options)
    : sandbox_(sandbox),
      files_(sandbox.files()),
      open_folders_(std::move(folders)),
      options_(std::move(options)) {}
ScpServer::~ScpServer() = default;

void ScpServer::fail(std::string& out, std::string_view message) {
  ++failures_;
  out += fmt::format("\1scp: {}\n", message);
}

void ScpServer::feed(std::string_view bytes, std::string& out) {
  if (done_) return;
  pending_ += bytes;
  if (options_.role == ScpOptions::Role::sink) {
    if (!begun_) {
      begun_ = true;
      const Result<FileInfo> target = files_.stat(options_.paths.front());
      if (options_.into_folder && (!target || target->kind != FileKind::directory)) {
        fail(out, options_.paths.front() + ": Not a directory");
        done_ = true;
        return;
      }
      out += '\0';
    }
    take(out);
  } else {
    give(out);
  }
}

// --- the sink -----------------------------------------------------------------------------------

void ScpServer::take(std::string& out) {
  for (;;) {
    if (in_content_) {
      if (pending_.empty()) break;
      take_content(out);
      continue;
    }
    const std::size_t end = pending_.find('\n');
    if (end == std::string::npos) {
      if (pending_.size() > line_max_bytes) done_ = true;
      break;
    }
    const std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    take_line(line, out);
    if (done_) return;
  }
  if (ended_) done_ = true;
}

void ScpServer::take_line(std::string_view line, std::string& out) {
  const char letter = line.empty() ? '\0' : line[0];
  const std::string_view rest = line.substr(std::min<std::size_t>(1, line.size()));
  switch (letter) {
    case 'T': {
      std::int64_t modified = 0;
      std::int64_t accessed = 0;
      auto read = std::from_chars(rest.data(), rest.data() + rest.size(), modified);
      const std::size_t second =
          rest.find(' ', static_cast<std::size_t>(read.ptr - rest.data()) + 1);
      if (read.ec == std::errc() && second != rest.npos)
        read = std::from_chars(rest.data() + second + 1, rest.data() + rest.size(), accessed);
      constexpr std::int64_t most = INT64_MAX / ns_per_s;
      times_ = {std::clamp<std::int64_t>(accessed, 0, most) * ns_per_s,
                std::clamp<std::int64_t>(modified, 0, most) * ns_per_s};
      out += '\0';
      return;
    }
    case 'C': return begin_file(rest, out);
    case 'D': return begin_folder(rest, out);
    case 'E':
      if (folders_.empty()) break;
      if (folders_.back().times)
        (void)files_.set_times(folders_.back().path, folders_.back().times->first,
                               folders_.back().times->second);
      folders_.pop_back();
      out += '\0';
      return;
    case '\1': ++failures_; return;  // the client could not read one of its files
    default: break;
  }
  fail(out, "protocol error");
  done_ = true;
}

std::string ScpServer::target_of(std::string_view name) {
  if (!folders_.empty()) return join(folders_.back().path, name);
  const std::string& path = options_.paths.front();
  const Result<FileInfo> there = files_.stat(path);
  return there && there->kind == FileKind::directory ? join(path, name) : path;
}

void ScpServer::begin_file(std::string_view line, std::string& out) {
  const auto announced = parse_announced(line);
  if (!announced) {
    fail(out, "protocol error: expected a file");
    done_ = true;
    return;
  }
  const std::string path = target_of(announced->name);
  Result<std::unique_ptr<OpenFile>> file = files_.open(
      path, OpenMode::write | OpenMode::create | OpenMode::truncate, announced->mode & ~new_mask);
  if (!file) {
    times_.reset();
    return fail(out, fmt::format("{}: {}", path, errno_info(file.error()).message));
  }
  file_ = *std::move(file);
  if (options_.keep_times) (void)file_->change_mode(announced->mode);
  left_ = announced->size;
  offset_ = 0;
  content_failed_ = false;
  in_content_ = true;
  out += '\0';
}

void ScpServer::take_content(std::string& out) {
  if (left_ > 0) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, pending_.size()));
    const Result<void> written =
        content_failed_ ? Result<void>()
                        : file_->write(offset_, std::string_view(pending_).substr(0, size));
    if (!written) {
      content_failed_ = true;
      fail(out, errno_info(written.error()).message);
    }
    offset_ += size;
    left_ -= size;
    pending_.erase(0, size);
    return;
  }
  // After the content one byte: 0, or an error of the client's.
  if (pending_[0] != '\0') ++failures_;
  pending_.erase(0, pending_[0] == '\0' ? 1 : pending_.find('\n') + 1);
  if (times_) (void)file_->set_times(times_->first, times_->second);
  times_.reset();
  file_.reset();
  in_content_ = false;
  if (!content_failed_) out += '\0';
}

void ScpServer::begin_folder(std::string_view line, std::string& out) {
  const auto announced = parse_announced(line);
  if (!announced || !options_.recursive || folders_.size() >= depth_max) {
    fail(out, "protocol error: no folder was expected");
    done_ = true;
    return;
  }
  const std::string path = target_of(announced->name);
  const Result<FileInfo> there = files_.stat(path);
  Result<void> made;
  if (!there) {
    made = files_.make_directory(path);
    const std::uint32_t mask = options_.keep_times ? 0 : new_mask;
    if (made) made = files_.change_mode(path, (announced->mode & ~mask) | 0700);
  } else if (there->kind != FileKind::directory) {
    made = Errno::notdir;
  }
  if (!made) {
    fail(out, fmt::format("{}: {}", path, errno_info(made.error()).message));
    done_ = true;  // what follows has nowhere to go
    return;
  }
  folders_.push_back({path, times_, {}, 0, {}});
  times_.reset();
  out += '\0';
}

// --- the source ---------------------------------------------------------------------------------

void ScpServer::give(std::string& out) {
  if (!begun_) {
    begun_ = true;
    acks_wanted_ = 1;
  }
  const std::size_t start = out.size();
  while (out.size() - start < piece_bytes) {
    if (in_content_) {
      give_content(out);
      continue;
    }
    while (acks_wanted_ > 0 && !pending_.empty()) {
      if (pending_[0] == '\0') {
        pending_.erase(0, 1);
      } else {  // \1 and a line: a warning; \2: the end
        const std::size_t end = pending_.find('\n');
        if (end == std::string::npos) {
          if (pending_.size() > line_max_bytes) done_ = true;
          break;
        }
        ++failures_;
        if (pending_[0] == '\2') done_ = true;
        pending_.erase(0, end + 1);
        if (file_) {  // refused: its content is not wanted
          file_.reset();
          left_ = 0;
        }
      }
      --acks_wanted_;
    }
    if (done_) return;
    if (acks_wanted_ > 0) {
      if (ended_) done_ = true;
      return;
    }
    if (file_ && !in_content_) {
      in_content_ = true;
      continue;
    }
    if (!give_next(out)) {
      done_ = true;
      return;
    }
  }
}

bool ScpServer::give_next(std::string& out) {
  if (after_times_) {
    const auto [path, name] = *std::exchange(after_times_, std::nullopt);
    return give_entry(path, name, out);
  }
  std::string path;
  std::string name;
  if (!folders_.empty()) {
    Folder& folder = folders_.back();
    if (folder.next == folder.entries.size()) {
      folders_.pop_back();
      out += "E\n";
      acks_wanted_ = 1;
      return true;
    }
    name = folder.entries[folder.next++].name;
    path = join(folder.path, name);
  } else {
    if (next_path_ == options_.paths.size()) return false;
    path = options_.paths[next_path_++];
    name = last_component(path);
  }
  if (options_.keep_times) {
    if (const Result<FileInfo> info = files_.stat(path)) {
      const std::int64_t seconds = std::max<std::int64_t>(info->modified_ns / ns_per_s, 0);
      out += fmt::format("T{} 0 {} 0\n", seconds, seconds);
      acks_wanted_ = 1;
      after_times_ = {path, name};
      return true;
    }
  }
  return give_entry(path, name, out);
}

bool ScpServer::give_entry(const std::string& path, const std::string& name, std::string& out) {
  const Result<FileInfo> info = files_.stat(path);
  if (!info) {
    fail(out, fmt::format("{}: {}", path, errno_info(info.error()).message));
    return true;
  }
  if (info->kind == FileKind::directory) {
    if (!options_.recursive || folders_.size() >= depth_max) {
      fail(out, path + ": not a regular file");
      return true;
    }
    Result<std::vector<FileInfo>> entries = files_.list(path);
    if (!entries) {
      fail(out, fmt::format("{}: {}", path, errno_info(entries.error()).message));
      return true;
    }
    std::optional<OpenFolders::Share> share = open_folders_.take(&sandbox_, entries->size());
    if (!share) {
      fail(out, path + ": too many folders are open");
      return true;
    }
    out += fmt::format("D{:04o} 0 {}\n", info->mode, name);
    folders_.push_back({path, std::nullopt, *std::move(entries), 0, *std::move(share)});
    acks_wanted_ = 1;
    return true;
  }
  Result<std::unique_ptr<OpenFile>> file = files_.open(path, OpenMode::read);
  if (!file) {
    fail(out, fmt::format("{}: {}", path, errno_info(file.error()).message));
    return true;
  }
  file_ = *std::move(file);
  left_ = info->size_bytes;
  offset_ = 0;
  content_failed_ = false;
  out += fmt::format("C{:04o} {} {}\n", info->mode, left_, name);
  acks_wanted_ = 1;
  return true;
}

void ScpServer::give_content(std::string& out) {
  if (left_ > 0) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, piece_bytes));
    Result<std::string> data = file_->read(offset_, size);
    // A file that shrank meanwhile goes out at the size that was said.
    if (!data || data->size() < size) content_failed_ = true;
    std::string piece = data ? *std::move(data) : std::string();
    piece.resize(size);
    out += piece;
    offset_ += size;
    left_ -= size;
    return;
  }
  file_.reset();
  in_content_ = false;
  acks_wanted_ = 1;
  if (content_failed_) {
    fail(out, "the file changed while it was read");
  } else {
    out += '\0';
  }
}

}  // namespace cloche::ssh
