// SPDX-License-Identifier: Apache-2.0
#include "session/state_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <set>
#include <system_error>

#include "base/durable_file.h"
#include "base/folder_names.h"
#include "base/host_error.h"
#include "base/random.h"
#include "session/state_file_head.h"

namespace cloche::session {
namespace {

constexpr std::string_view session_suffix = ".session";
constexpr std::string_view changes_suffix = ".changes";
constexpr std::string_view live_suffix = ".python";
constexpr std::string_view half_live = ".python.";  // of a server that was killed
constexpr std::string_view part_suffix = ".part";
constexpr std::string_view damaged_suffix = ".damaged";
// What a file costs besides its bytes: so small changes are put together soon, and few files are
// there.
constexpr std::uint64_t file_overhead_bytes = 4096;
constexpr std::size_t levels_max = 64;

std::filesystem::path prepared(std::filesystem::path folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw HostError::from_errno("cannot keep sessions in " + folder.string(), error.value());
  const std::string name = (folder / "").string();  // of a folder, and of nothing else
  if (::chmod(name.c_str(), 0700) != 0 || ::access(name.c_str(), R_OK | W_OK | X_OK) != 0)
    throw HostError::from_errno("cannot keep sessions in " + folder.string(), errno);
  return folder;
}

// "ID.session": 0; "ID.7.changes": 7. One level has one name: "ID.07.changes" is nobody's.
std::optional<std::size_t> level_of(std::string_view name, std::string& id) {
  if (name.ends_with(session_suffix)) {
    id = name.substr(0, name.size() - session_suffix.size());
    return id.empty() ? std::nullopt : std::optional<std::size_t>(0);
  }
  if (!name.ends_with(changes_suffix)) return std::nullopt;
  name.remove_suffix(changes_suffix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  std::size_t level = 0;
  const auto [end, error] =
      std::from_chars(name.data() + dot + 1, name.data() + name.size(), level);
  if (error != std::errc() || end != name.data() + name.size() || level == 0 ||
      name[dot + 1] == '0')
    return std::nullopt;
  id = name.substr(0, dot);
  return level;
}

Error unreadable(Errno code) { return {ErrorKind::host, code, "its file cannot be read"}; }

Result<std::unique_ptr<Sandbox>, Error> make_empty(Engine& engine, const SandboxOptions& options) {
  try {
    return engine.create(options);
  } catch (const Error& problem) {
    return problem;
  }
}

std::uint64_t weight_of(const SavedChain::Level& level) {
  return level.bytes + file_overhead_bytes;
}

}  // namespace

void SavedChain::begin_anew(std::uint64_t of) {
  for (Level& level : levels) level.state.reset();
  read.reset();
  origin = of;
}

StateStore::StateStore(std::filesystem::path folder, HostFiles& files, CellKey cell)
    : folder_(prepared(std::move(folder))), files_(files), claim_(folder_, files, cell) {}

std::string StateStore::path_of(const std::string& id, std::size_t level) const {
  const std::string path = (folder_ / id).string();
  return level == 0 ? path + std::string(session_suffix)
                    : fmt::format("{}.{}{}", path, level, changes_suffix);
}

StateStore::Listing StateStore::list() {
  Listing listing;
  std::map<std::string, std::vector<std::size_t>> found;
  std::vector<std::string> live;
  Result<std::vector<std::string>> names = folder_names(folder_);
  // A session of which a part is not listed looks as if that had gone.
  if (!names) {
    throw HostError(fmt::format("the state folder {} cannot be read: {}", folder_.string(),
                                errno_info(names.error()).message));
  }
  for (std::string& name : *names) {
    if (name.ends_with(part_suffix)) {  // of a server that was killed
      (void)files_.unlink((folder_ / name).string());
      continue;
    }
    if (name.ends_with(live_suffix) || name.find(half_live) != name.npos) {
      live.push_back(std::move(name));
      continue;
    }
    std::string id;
    if (const auto level = level_of(name, id)) {
      found[id].push_back(*level);
      continue;
    }
    if (!name.ends_with(damaged_suffix)) continue;
    name.resize(name.size() - damaged_suffix.size());
    if (level_of(name, id)) listing.unread.push_back(id);
  }
  for (auto& [id, levels] : found) {
    std::ranges::sort(levels);
    if (auto chain = read_chain(id, levels, listing)) listing.sessions.push_back(*std::move(chain));
  }
  remove_live_left_over(live, listing);
  std::ranges::sort(listing.unread);
  const auto repeated = std::ranges::unique(listing.unread);
  listing.unread.erase(repeated.begin(), repeated.end());
  std::ranges::sort(listing.sessions, {}, [](const Found& one) { return one.facts.created; });
  return listing;
}

// Those of sessions that cannot be read stay with these.
void StateStore::remove_live_left_over(const std::vector<std::string>& names,
                                       const Listing& listing) {
  std::set<std::string> named;
  for (const Found& one : listing.sessions) {
    if (const std::string& live = one.chain.live.name; !live.empty())
      named.insert(live_file(one.facts.id, live).filename().string());
  }
  for (const std::string& name : names) {
    const bool stays =
        named.contains(name) || std::ranges::any_of(listing.unread, [&](const std::string& id) {
          return name.starts_with(id + ".");
        });
    if (!stays) (void)files_.unlink((folder_ / name).string());
  }
}

std::optional<StateStore::Found> StateStore::read_chain(const std::string& id,
                                                        const std::vector<std::size_t>& levels,
                                                        Listing& listing) {
  Found found;
  for (const std::size_t level : levels) {
    const std::string path = path_of(id, level);
    const std::string name = std::filesystem::path(path).filename().string();
    auto read = read_head(files_, path);
    if (auto* head = std::get_if<StateHead>(&read); head && head->facts.id == id) {
      const bool follows = level == found.chain.levels.size() &&
                           (level == 0 || head->after == found.chain.levels.back().name);
      if (!follows) {
        // What it followed has been written anew.
        (void)files_.unlink(path);
        continue;
      }
      std::error_code error;
      const std::uint64_t bytes = std::filesystem::file_size(path, error);
      found.facts = std::move(head->facts);
      found.chain.status = head->status;
      found.chain.expires = found.facts.expires;
      found.chain.live = {std::move(head->live), 0};
      found.chain.levels.push_back(
          {std::move(head->name), error ? 0 : bytes, head->has_part, std::nullopt});
      found.chain.file_count = found.chain.levels.size();
      continue;
    }
    const auto* problem = std::get_if<HeadProblem>(&read);
    listing.unread.push_back(id);
    if (problem && *problem == HeadProblem::no_file) {
      listing.trouble.push_back(name + " in the state folder is no file: it is left alone");
    } else if (problem && *problem == HeadProblem::of_later_release) {
      listing.trouble.push_back(name + " is of a later release: it is left alone");
    } else if (problem && *problem == HeadProblem::unreadable) {
      listing.trouble.push_back(name + " in the state folder cannot be read: it is left alone");
    } else {
      set_aside(id);
      listing.trouble.push_back(fmt::format(
          "{0} in the state folder is damaged: it is kept as {0}{1}", name, damaged_suffix));
    }
    return std::nullopt;
  }
  if (found.chain.levels.empty()) return std::nullopt;
  return found;
}

namespace {

// The level on which changes are written: those before it stay, what was on it goes with them.
//
// Changes go on top. What is not twice as large as they are is taken back first: each byte is
// written again a few times at most, and there are few files.
std::size_t level_of_changes(const std::vector<SavedChain::Level>& levels, const Checkpoint& now) {
  // A state that was read has other numbers of inodes than the file: all of it is written anew.
  if (levels.empty() || !levels.back().state) return 0;
  const auto is_kept = [&](std::size_t at) {
    return at < levels_max &&
           weight_of(levels[at]) >= 2 * (now.size_since(*levels[at].state) + file_overhead_bytes);
  };
  std::size_t level = levels.size();
  while (level > 0 && !is_kept(level - 1)) --level;
  return level;
}

const Checkpoint* last_state(const SavedChain& chain) {
  if (chain.levels.empty()) return nullptr;
  if (const auto& state = chain.levels.back().state) return &*state;
  return chain.read ? &*chain.read : nullptr;
}

}  // namespace

Result<StateStore::Saved> StateStore::save(SavedChain& chain, const Facts& facts, Status status,
                                           const Checkpoint* now, const LivePython& live) {
  std::vector<SavedChain::Level>& levels = chain.levels;
  const Checkpoint* last = last_state(chain);
  const bool changed = now && (!last || now->size_since(*last) > 0);
  if (!changed && !levels.empty() && status == chain.status && facts.expires == chain.expires &&
      live.name == chain.live.name && !chain.unsure)
    return Saved{};
  std::size_t level = levels.size();
  std::optional<Checkpoint> state;
  const bool has_part = changed || levels.empty();
  if (has_part) {
    if (!now) return Errno::inval;
    state = *now;
    level = level_of_changes(levels, *now);
  } else {
    state = levels.back().state;
    if (level > 1 && !levels.back().has_part) --level;
  }
  StateHead head;
  head.facts = facts;
  head.status = status;
  head.name = random_hex(16);
  head.after = level == 0 ? "" : levels[level - 1].name;
  head.has_part = has_part;
  head.live = live.name;
  chain.file_count = std::max(chain.file_count, levels.size());
  const Checkpoint* before =
      level > 0 && levels[level - 1].state ? &*levels[level - 1].state : nullptr;
  const Result<std::uint64_t> bytes =
      write_level(path_of(facts.id, level), head_text(head), before, has_part ? now : nullptr);
  // Where it failed the file may be the new one all the same: nothing may follow the old one.
  levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(level), levels.end());
  chain.unsure = !bytes;
  if (!bytes) {
    if (live.name != chain.live.name) remove_live_file(facts.id, live);
    return bytes.error();
  }
  if (live.name != chain.live.name) remove_live_file(facts.id, chain.live);
  chain.live = live;
  if (state) state->forget_files();
  levels.push_back({std::move(head.name), *bytes, has_part, std::move(state)});
  chain.status = status;
  chain.expires = facts.expires;
  if (level == 0) chain.read.reset();
  // They follow what is not there any more: it does no harm where they stay.
  for (std::size_t stale = level + 1; stale < chain.file_count; ++stale)
    (void)files_.unlink(path_of(facts.id, stale));
  chain.file_count = levels.size();
  return Saved{*bytes};
}

Result<std::uint64_t> StateStore::write_level(const std::string& path, const std::string& head,
                                              const Checkpoint* before, const Checkpoint* now) {
  CLOCHE_TRY(claim_.check());
  CLOCHE_ASSIGN(DurableFile file, DurableFile::create(files_, path));
  std::uint64_t bytes = 0;
  const ByteSink sink = [&](std::span<const std::byte> piece) {
    bytes += piece.size();
    return file.write(piece);
  };
  CLOCHE_TRY(sink(std::as_bytes(std::span(head))));
  if (now) CLOCHE_TRY(before ? now->write_since(*before, sink) : now->write(sink));
  CLOCHE_TRY(file.commit([this] { return claim_.check(); }));
  return bytes;
}

std::variant<StateStore::Loaded, StateStore::Problem> StateStore::load(
    SavedChain& chain, const std::string& id, Engine& engine, const SandboxOptions& options) {
  StateReader reader(options, StateReader::Quota::as_saved);
  bool any = false;
  for (std::size_t level = 0; level < chain.levels.size(); ++level) {
    if (!chain.levels[level].has_part) continue;
    any = true;
    const auto read = read_level(reader, path_of(id, level), chain.levels[level].name);
    if (!read) return Problem{read.error() == Errno::inval, std::string(read.error().sentence())};
  }
  auto made = any ? reader.make(engine) : make_empty(engine, options);
  if (!made) {
    // What the file holds cannot be put back; otherwise it is the options, or the host.
    const Error& why = made.error();
    return Problem{why.kind() == ErrorKind::sandbox && why == Errno::inval,
                   std::string(why.sentence())};
  }
  try {
    chain.read.emplace(**made);
  } catch (const Error& problem) {
    return Problem{false, std::string(problem.sentence())};
  }
  chain.read->forget_files();
  return Loaded{*std::move(made), reader.missing_packages(), reader.changed_packages()};
}

Result<void, Error> StateStore::read_level(StateReader& reader, const std::string& path,
                                           const std::string& name) {
  const auto head = read_head(files_, path);
  if (const auto* problem = std::get_if<HeadProblem>(&head))
    return unreadable(*problem == HeadProblem::damaged ? Errno::inval : Errno::io);
  const auto& known = std::get<StateHead>(head);
  if (known.name != name) return unreadable(Errno::inval);
  const auto file = files_.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (!file) return unreadable(file.error());
  return reader.read([&, at = known.bytes](std::span<std::byte> to) mutable -> Result<std::size_t> {
    CLOCHE_ASSIGN(const std::size_t count, files_.read_at(file->get(), at, to));
    at += count;
    return count;
  });
}

std::filesystem::path StateStore::live_file(const std::string& id, const std::string& name) const {
  return folder_ / fmt::format("{}.{}{}", id, name, live_suffix);
}

Result<LivePython> StateStore::new_live_file(const std::string& id, std::uint64_t version) {
  CLOCHE_TRY(claim_.check());
  LivePython live{random_hex(8), version};
  // Made before anything is written to it, as a disk that takes no file takes none of its bytes.
  CLOCHE_TRY(files_.open(live_file(id, live.name).string(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return live;
}

// Its name is on the disk with that of the session's next file, which is in the same folder.
Result<void> StateStore::sync_live_file(const std::string& id, const LivePython& live) {
  CLOCHE_ASSIGN(const UniqueFd file,
                files_.open(live_file(id, live.name).string(), O_RDONLY | O_NOFOLLOW, 0));
  return files_.sync(file.get());
}

void StateStore::remove_live_file(const std::string& id, const LivePython& live) {
  if (!live.name.empty()) (void)files_.unlink(live_file(id, live.name).string());
}

// Also of what was set aside.
std::vector<std::string> StateStore::files_of(const std::string& id) const {
  std::vector<std::string> paths{path_of(id, 0)};
  for (std::size_t level = 1; level <= levels_max; ++level) {
    std::string path = path_of(id, level);
    if (::access(path.c_str(), F_OK) != 0 &&
        ::access((path + std::string(damaged_suffix)).c_str(), F_OK) != 0)
      break;
    paths.push_back(std::move(path));
  }
  return paths;
}

// The state itself first: what follows it is useless without it.
Result<void> StateStore::remove_files(const std::string& id, Removal what, bool& any) {
  for (const std::string& path : files_of(id)) {
    for (const std::string_view suffix : {std::string_view(), damaged_suffix}) {
      if (!suffix.empty() && what == Removal::saved) continue;
      const Result<void> removed = files_.unlink(path + std::string(suffix));
      if (!removed && removed.error() != Errno::noent) return removed.error();
      any = any || removed;
    }
  }
  return {};
}

Result<void> StateStore::remove(const std::string& id, Removal what, const LivePython& live) {
  CLOCHE_TRY(claim_.check());
  bool any = false;
  {
    const MutexLock lock(mutex_);
    any = unsynced_.contains(id);
  }
  Result<void> removed = remove_files(id, what, any);
  if (removed) remove_live_file(id, live);
  if (removed && any) removed = files_.sync_folder(folder_.string());
  const MutexLock lock(mutex_);
  if (removed) {
    unsynced_.erase(id);
  } else if (any) {
    unsynced_.insert(id);
  }
  return removed;
}

void StateStore::set_aside(const std::string& id) {
  for (const std::string& path : files_of(id))
    (void)files_.rename(path, path + std::string(damaged_suffix));
  (void)files_.sync_folder(folder_.string());
}

}  // namespace cloche::session
