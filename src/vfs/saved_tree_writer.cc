// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "vfs/memfs_state.h"
#include "vfs/saved_tree_format.h"

namespace cloche::vfs {
namespace {

using namespace memfs;
using namespace saved;

// An encoder that only counts.
class Counter {
 public:
  void byte(std::uint8_t) { ++count_; }
  void number(std::uint64_t) { count_ += number_bytes; }
  void signed_number(std::int64_t) { count_ += number_bytes; }
  void text(std::string_view value) { count_ += number_bytes + value.size(); }
  void bytes(std::span<const std::byte> value) { count_ += value.size(); }
  bool failed() const { return false; }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr std::uint64_t number_bytes = 3;  // about
  std::uint64_t count_ = 0;
};

bool is_kind_to_save(const Inode& inode) {
  return inode.type != FileType::character && inode.type != FileType::block && inode.program == 0;
}

bool is_same_time(const Timestamp& a, const Timestamp& b) { return a == b; }

// The access time alone is not worth a record.
bool is_same(const Inode& a, const Inode& b) {
  bool same_pages = a.content.size() == b.content.size() && a.content.has_shared_of(b.content);
  if (same_pages)
    b.content.pages_changed_since(a.content,
                                  [&](std::uint64_t, const Page*) { same_pages = false; });
  return same_pages && a.mode == b.mode && a.uid == b.uid && a.gid == b.gid &&
         is_same_time(a.mtime, b.mtime) && is_same_time(a.ctime, b.ctime) &&
         is_same_time(a.btime, b.btime) && a.dir.get() == b.dir.get() &&
         a.extra.get() == b.extra.get();
}

template <typename Out>
class PartWriter {
 public:
  PartWriter(const TreePart& part, Out& out)
      : base_(part.base.state()),
        before_(part.before ? part.before.state() : part.base.state()),
        now_(part.now.state()),
        out_(out) {}

  void write() {
    RadixMap<Inode>::differences(before_.inodes, now_.inodes,
                                 [&](Ino ino, const Inode*, const Inode*) { write_inode(ino); });
  }

 private:
  // The inode as it is in the image of a state; nullptr: it is not in there.
  const Inode* in_image(const State& state, Ino ino) const {
    const Inode* inode = state.inodes.find(ino);
    if (!inode || inode->nlink == 0 || !is_kind_to_save(*inode)) return nullptr;
    return base_.inodes.find(ino) == inode ? nullptr : inode;
  }

  void write_inode(Ino ino) {
    if (out_.failed()) return;
    const Inode* before = in_image(before_, ino);
    const Inode* now = in_image(now_, ino);
    if (!now) {
      if (!before) return;
      out_.byte(static_cast<std::uint8_t>(Record::gone));
      out_.number(ino);
      return;
    }
    if (before && is_same(*before, *now)) return;
    // One whose buffer is another one is written anew, and so is what has the same number alone.
    if (before && (before->type != now->type || !now->content.has_shared_of(before->content)))
      before = nullptr;
    write_attributes(ino, *now, before ? Fresh::no : Fresh::yes);
    switch (now->type) {
      case FileType::regular: write_content(now->content, before); break;
      case FileType::directory: write_names(*now->dir, before); break;
      case FileType::symlink: out_.text(now->extra->target); break;
      default: break;
    }
  }

  void write_attributes(Ino ino, const Inode& inode, Fresh fresh) {
    out_.byte(static_cast<std::uint8_t>(Record::node));
    out_.number(ino);
    out_.byte(static_cast<std::uint8_t>(fresh));
    out_.byte(static_cast<std::uint8_t>(inode.type));
    out_.number(inode.mode);
    out_.number(inode.uid);
    out_.number(inode.gid);
    for (const Timestamp* time : {&inode.atime, &inode.mtime, &inode.ctime, &inode.btime}) {
      out_.signed_number(time->s);
      out_.number(time->ns);
    }
    out_.number(inode.extra ? inode.extra->xattrs.size() : 0);
    if (!inode.extra) return;
    for (const auto& [name, value] : inode.extra->xattrs) {
      out_.text(name);
      out_.text(value);
    }
  }

  void piece(Piece kind, std::uint64_t page, std::uint64_t count) {
    out_.byte(static_cast<std::uint8_t>(kind));
    out_.number(page);
    out_.number(count);
  }

  void data(std::uint64_t page, std::span<const std::byte> bytes) {
    piece(Piece::data, page, bytes.size());
    out_.bytes(bytes);
  }

  void write_content(const Content& content, const Inode* before) {
    out_.number(content.size());
    std::uint64_t first = 0;
    if (!before) first = write_shared(content);
    // Neighbours that hold nothing, or only zeros, are one piece.
    Piece run = Piece::end;
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
    const auto flush = [&] {
      if (count != 0) piece(run, begin, count);
      count = 0;
    };
    const Content nothing;
    const Content& old = before ? before->content : nothing;
    content.pages_changed_since(old, [&](std::uint64_t page, const Page* held) {
      if (page < first || out_.failed()) return;
      const Piece kind = !held ? Piece::hole : held->capacity == 0 ? Piece::zeros : Piece::data;
      if (kind != run || page != begin + count || count == pages_of_one_piece_max) {
        flush();
        run = kind;
        begin = page;
      }
      if (kind != Piece::data) {
        ++count;
        return;
      }
      const std::uint64_t left = content.size() - page * page_size;
      data(page,
           {held->data(), static_cast<std::size_t>(std::min<std::uint64_t>(held->capacity, left))});
    });
    flush();
    out_.byte(static_cast<std::uint8_t>(Piece::end));
  }

  // The pages that a shared buffer reaches, as they are read. The number of the first one after.
  std::uint64_t write_shared(const Content& content) {
    const std::uint64_t shared = std::min<std::uint64_t>(content.shared().size(), content.size());
    const std::uint64_t pages = (shared + page_size - 1) / page_size;
    std::array<std::byte, page_size> buffer;
    for (std::uint64_t page = 0; page < pages && !out_.failed(); ++page) {
      const std::size_t count = content.read(page * page_size, buffer);
      data(page, std::span(buffer).first(count));
    }
    return pages;
  }

  void name(Name kind, std::string_view text) {
    out_.byte(static_cast<std::uint8_t>(kind));
    out_.text(text);
  }

  // Both are in the order of their cookies; a cookie is never given out twice.
  void write_names(const Directory& now, const Inode* before) {
    const Entry* old = before ? before->dir->next(0) : nullptr;
    const Entry* entry = now.next(0);
    const auto step = [](const Directory& dir, const Entry*& at) { at = dir.next(at->cookie + 1); };
    while (old || entry) {
      if (old && (!entry || old->cookie < entry->cookie)) {
        name(Name::remove, before->dir->name(*old));
        step(*before->dir, old);
        continue;
      }
      const bool same = old && old->cookie == entry->cookie && old->ino == entry->ino;
      if (!same && !entry->graft && in_image(now_, entry->ino)) {
        name(Name::add, now.name(*entry));
        out_.number(entry->ino);
      }
      if (old && old->cookie == entry->cookie) step(*before->dir, old);
      step(now, entry);
    }
    out_.byte(static_cast<std::uint8_t>(Name::end));
  }

  const State& base_;
  const State& before_;
  const State& now_;
  Out& out_;
};

// 0: there is none.
Ino find_folder(const State& state, std::string_view path) {
  Ino at = root_ino;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const Inode* inode = state.inodes.find(at);
    const Entry* entry = inode && inode->dir ? inode->dir->find(path.substr(0, end)) : nullptr;
    if (!entry || entry->graft) return 0;
    at = entry->ino;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return at;
}

}  // namespace

std::uint64_t size_of(const TreePart& part) {
  Counter counter;
  PartWriter(part, counter).write();
  return counter.count();
}

Result<void> write_tree(const TreePart& part, std::span<const std::string_view> folders,
                        const ByteSink& sink) {
  Encoder out(sink);
  for (const std::string_view folder : folders) {
    out.byte(static_cast<std::uint8_t>(Record::folder));
    out.text(folder);
    out.number(find_folder(part.base.state(), folder));
  }
  PartWriter(part, out).write();
  out.byte(static_cast<std::uint8_t>(Record::end));
  return out.finish();
}

}  // namespace cloche::vfs
