// SPDX-License-Identifier: Apache-2.0
#include "native/images/image_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/guest_folders.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "native/warden/tree_stream.h"

namespace cloche::images {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path make_folder() {
  std::string name = (fs::temp_directory_path() / "cloche-images-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  fs::permissions(name, fs::perms(0755));
  return name;
}

class Images : public testing::Test {
 protected:
  ~Images() override { fs::remove_all(folder_); }

  // Archives made by the machine's tar, of what `script` leaves in an empty folder.
  fs::path archive(const std::string& name, const std::string& script,
                   const std::string& options = "") {
    const fs::path from = folder_ / (name + ".d");
    fs::create_directories(from);
    const fs::path file = folder_ / name;
    const std::string command = "cd '" + from.string() + "' && { " + script + "; } && tar " +
                                options + " -cf '" + file.string() + "' .";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return file;
  }

  std::string add_blob(const fs::path& layout, const std::string& text) {
    fs::create_directories(layout / "blobs" / "sha256");
    const std::string digest = to_hex(sha256(text));
    std::ofstream(layout / "blobs" / "sha256" / digest, std::ios::binary) << text;
    return "sha256:" + digest;
  }

  fs::path layout(const std::vector<fs::path>& layers, const std::string& architecture) {
    const fs::path folder = folder_ / "layout";
    std::string list;
    for (const fs::path& layer : layers)
      list += (list.empty() ? "" : ",") +
              ("{\"digest\":\"" + add_blob(folder, content_of(layer)) + "\"}");
    const std::string config = add_blob(
        folder, "{\"architecture\":\"" + architecture +
                    "\",\"config\":{\"Env\":[\"A=b\"],\"WorkingDir\":\"/srv\",\"User\":\"7\"}}");
    const std::string manifest =
        add_blob(folder, "{\"config\":{\"digest\":\"" + config + "\"},\"layers\":[" + list + "]}");
    std::ofstream(folder / "oci-layout") << "{\"imageLayoutVersion\":\"1.0.0\"}";
    std::ofstream(folder / "index.json")
        << "{\"manifests\":[{\"digest\":\"" << manifest
        << "\",\"annotations\":{\"org.opencontainers.image.ref.name\":\"named:1\"}}]}";
    return folder;
  }

  std::string import_error(const fs::path& source) {
    try {
      store_.import(source, "evil");
    } catch (const Error& problem) {
      return problem.what();
    }
    return {};
  }

  // Why this machine lets nothing be unpacked in a jail, as inside of a chroot; empty: it does.
  std::string no_unpacking_here() {
    std::string problem = import_error(archive("trial.tar", ": >f"));
    if (problem.empty()) store_.remove("evil");
    return problem.find("cannot be jailed") == std::string::npos ? std::string() : problem;
  }

  fs::path files_of(const std::string& name) const { return folder_ / "store" / name / "rootfs"; }

  const fs::path folder_ = make_folder();
  ImageStore store_{{.folder = folder_ / "store",
                     .unpacker = fs::canonical("/proc/self/exe").parent_path() / "cloche-unpack",
                     .most_bytes = 1 << 20,
                     .most_files = 1000}};
};

TEST_F(Images, AnArchiveOfFilesIsAnImage) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const fs::path file = archive("small.tar", "mkdir -m 750 a; echo hi >a/f; ln -s f a/l; ln a/f g");
  EXPECT_EQ(store_.import(file, ""), "small");
  EXPECT_EQ(content_of(files_of("small") / "a/f"), "hi\n");
  EXPECT_EQ(fs::read_symlink(files_of("small") / "a/l"), "f");
  EXPECT_EQ(fs::hard_link_count(files_of("small") / "g"), 2U);
  ASSERT_EQ(store_.list().size(), 1U);
  EXPECT_TRUE(static_cast<bool>(store_.open("small").root));
  store_.remove("small");
  EXPECT_TRUE(store_.list().empty());
  EXPECT_THROW((void)store_.open("small"), Error);
}

// Whenever that is said, and however often.
TEST_F(Images, AFolderThatIsHiddenKeepsWhatItsOwnLayerHas) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const fs::path lower = archive("1.tar", "mkdir -p a/sub; echo 1 >a/sub/old; echo 1 >a/old");
  const fs::path upper =
      archive("2.tar", "mkdir -p a/sub; echo 2 >a/sub/new; echo 2 >a/new; : >a/.wh..wh..opq",
              "--no-recursion a/new a/sub/new a/.wh..wh..opq a/.wh..wh..opq");
  const std::string name =
      store_.import(layout({lower, upper}, std::string(own_architecture())), "");
  const fs::path files = files_of(name);
  EXPECT_EQ(content_of(files / "a/sub/new"), "2\n");
  EXPECT_EQ(content_of(files / "a/new"), "2\n");
  EXPECT_FALSE(fs::exists(files / "a/old"));
}

// As a guest does that has the folder by a mount.
TEST_F(Images, ABlobThatIsWrittenMeanwhileIsWhatItsDigestSaysOrAnError) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const fs::path layer = archive("1.tar", "printf right >f");
  const fs::path source = layout({layer}, std::string(own_architecture()));
  guest_folders().add(source);
  const std::string blob = content_of(layer);
  const std::fstream::off_type at = static_cast<std::fstream::off_type>(blob.find("right"));
  std::atomic<bool> is_over = false;
  std::thread guest([&] {
    std::fstream file(source / "blobs" / "sha256" / to_hex(sha256(blob)),
                      std::ios::in | std::ios::out | std::ios::binary);
    while (!is_over) {
      for (const char* text : {"wrong", "right"}) file.seekp(at) << text << std::flush;
    }
  });
  for (int times = 0; times < 40; ++times) {
    try {
      const std::string name = store_.import(source, "raced");
      EXPECT_EQ(content_of(files_of(name) / "f"), "right");
    } catch (const Error&) {
      // It was wrong when it was copied.
    }
  }
  is_over = true;
  guest.join();
  EXPECT_EQ(store_.import(source, ""), "named:1");
  EXPECT_EQ(content_of(files_of("named:1") / "f"), "right");
}

// A number is that of a file on its own device.
TEST_F(Images, FilesOfTwoFileSystemsAreNoLinksOfEachOther) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  const fs::path source = folder_ / "two";
  fs::create_directories(source / "a");
  fs::create_directories(source / "b");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      ::_exit(2);
    for (const char* name : {"a", "b"}) {
      if (::mount("none", (source / name).c_str(), "tmpfs", 0, nullptr) != 0) ::_exit(2);
      std::ofstream(source / name / "f") << name;
      fs::create_hard_link(source / name / "f", source / name / "g");
    }
    store_.import(source, "two");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no mounts here";
  for (const std::string name : {"a", "b"}) {
    EXPECT_EQ(content_of(files_of("two") / name / "f"), name);
    EXPECT_EQ(content_of(files_of("two") / name / "g"), name);
  }
}

TEST_F(Images, LayersTakeAwayWhatLowerOnesHave) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const fs::path lower =
      archive("1.tar", "mkdir a b; echo 1 >a/gone; echo 1 >a/kept; echo 1 >b/old; echo 1 >c");
  const fs::path upper =
      archive("2.tar", "mkdir a b; : >a/.wh.gone; : >b/.wh..wh..opq; echo 2 >b/new; echo 2 >c",
              "--sort=name -z");
  const std::string name =
      store_.import(layout({lower, upper}, std::string(own_architecture())), "");
  EXPECT_EQ(name, "named:1");
  const fs::path files = files_of("named:1");
  EXPECT_FALSE(fs::exists(files / "a/gone"));
  EXPECT_TRUE(fs::exists(files / "a/kept"));
  EXPECT_FALSE(fs::exists(files / "b/old"));
  EXPECT_EQ(content_of(files / "b/new"), "2\n");
  EXPECT_EQ(content_of(files / "c"), "2\n");
  const Image image = store_.open(name);
  EXPECT_EQ(image.config.environment, std::vector<std::string>{"A=b"});
  EXPECT_EQ(image.config.directory, "/srv");
  EXPECT_EQ(image.config.user, "7");
  EXPECT_FALSE(image.digest.empty());
}

TEST_F(Images, ADamagedBlobIsRefusedAndNothingIsLeft) {
  const fs::path folder = layout({archive("1.tar", ": >f")}, std::string(own_architecture()));
  for (const auto& blob : fs::directory_iterator(folder / "blobs" / "sha256"))
    std::ofstream(blob.path(), std::ios::app) << " ";
  EXPECT_NE(import_error(folder).find("damaged"), std::string::npos);
  EXPECT_TRUE(store_.list().empty());
  EXPECT_TRUE(fs::is_empty(folder_ / "store"));
}

TEST_F(Images, WhatWasKilledLeavesNothingForLong) {
  const fs::path store = folder_ / "store", source = folder_ / "source";
  for (const char* name : {".part-killed", ".part-killed-old", ".gone-1-killed"})
    fs::create_directories(store / name / "rootfs");
  fs::create_directories(store / ".part-busy" / "rootfs");
  const UniqueFd busy(::open((store / ".part-busy").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(busy.get(), LOCK_EX), 0);
  fs::create_directories(source);
  store_.import(source, "new");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(store))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{".part-busy", "new"}));
}

TEST_F(Images, OneThatTakesAnothersPlaceIsThereAllTheTime) {
  const fs::path source = folder_ / "source";
  fs::create_directories(source);
  store_.import(source, "same");
  std::atomic<bool> is_over = false;
  std::size_t missed = 0;
  std::thread opening([&] {
    while (!is_over) missed += fs::exists(folder_ / "store" / "same") ? 0U : 1U;
  });
  for (int times = 0; times < 300; ++times) store_.import(source, "same");
  is_over = true;
  opening.join();
  EXPECT_EQ(missed, 0U);
}

TEST_F(Images, HaveALocalhostUnlessTheyNameTheirHosts) {
  const fs::path source = folder_ / "source";
  fs::create_directories(source / "etc");
  const auto hosts_of = [&](const char* name) {
    store_.import(source, name);
    return content_of(files_of(name) / "etc" / "hosts");
  };
  EXPECT_NE(hosts_of("none").find("127.0.0.1 localhost\n"), std::string::npos);
  std::ofstream(source / "etc" / "hosts").flush();
  EXPECT_NE(hosts_of("empty").find("::1 localhost\n"), std::string::npos);
  std::ofstream(source / "etc" / "hosts") << "10.0.0.1 own\n";
  EXPECT_EQ(hosts_of("own"), "10.0.0.1 own\n");
  fs::remove(source / "etc" / "hosts");
  fs::create_symlink("/outside", source / "etc" / "hosts");
  EXPECT_EQ(hosts_of("link"), "");
  fs::remove_all(source / "etc");
  fs::create_symlink(folder_, source / "etc");
  store_.import(source, "elsewhere");
  EXPECT_FALSE(fs::exists(folder_ / "hosts"));
}

TEST_F(Images, AnImageForAnotherMachineIsRefusedWithBothNames) {
  const std::string error = import_error(layout({archive("1.tar", ": >f")}, "s390x"));
  EXPECT_NE(error.find("s390x"), std::string::npos);
  EXPECT_NE(error.find(own_architecture()), std::string::npos);
}

// What leads out of the folder is refused, or lands inside.
TEST_F(Images, EvilArchivesReachNothing) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const fs::path secret = folder_ / "secret";
  std::ofstream(secret) << "untouched";
  const std::string out = secret.string();
  const fs::path dots =
      archive("dots.tar", "echo x >f", "--transform='s,./f,../../../../../../.." + out + ",'");
  EXPECT_NE(import_error(dots).find("leads out"), std::string::npos);
  EXPECT_TRUE(import_error(dots).starts_with(dots.string() + ": ")) << "the archive is named";
  const fs::path link = archive("link.tar", "ln -s '" + folder_.string() + "' d; echo x >f",
                                "--transform='s,./f,d/secret,' --sort=name");
  (void)import_error(link);
  const fs::path absolute =
      archive("absolute.tar", "echo x >f", "-P --transform='s,./f," + out + ",'");
  (void)import_error(absolute);
  EXPECT_EQ(content_of(secret), "untouched");
  // A blob that is a link to a file of the host is none of the image's.
  const fs::path folder = layout({archive("1.tar", ": >f")}, std::string(own_architecture()));
  fs::remove(folder / "index.json");
  fs::create_symlink(secret, folder / "index.json");
  (void)import_error(folder);
  EXPECT_EQ(content_of(secret), "untouched");
}

TEST_F(Images, BombsEndAtTheirLimits) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const fs::path big = archive("big.tar", "truncate -s 100M zeros", "-z");
  EXPECT_FALSE(import_error(big).empty());
  // Also where nothing of it is kept.
  const fs::path hidden = archive("hidden.tar", "truncate -s 100M .wh.zeros", "-z");
  EXPECT_NE(import_error(layout({hidden}, std::string(own_architecture()))).find("more than"),
            std::string::npos);
  const fs::path many =
      archive("many.tar", "i=0; while [ $i -lt 1100 ]; do : >f$i; i=$((i+1)); done");
  EXPECT_NE(import_error(many).find("more than 1000 files"), std::string::npos);
  // Nobody would find it, and the folders above it take long to remove.
  std::string far = "f";
  while (far.size() < PATH_MAX) far.insert(0, std::string(200, 'd') + "/");
  const fs::path deep = archive("deep.tar", ": >f", "--transform='s,./f," + far + ",'");
  EXPECT_NE(import_error(deep).find("longer than a path"), std::string::npos);
  std::ofstream(folder_ / "noise.tar") << std::string(10'000, 'n');
  EXPECT_FALSE(import_error(folder_ / "noise.tar").empty());
  EXPECT_TRUE(store_.list().empty());
}

TEST_F(Images, AFolderHasTheLimitsOfAnArchive) {
  const fs::path big = folder_ / "big", many = folder_ / "many", full = folder_ / "full";
  for (const fs::path& one : {big, many, full}) fs::create_directories(one / "usr");
  std::ofstream(big / "usr" / "file") << std::string((1 << 20) + 1, 'x');
  EXPECT_NE(import_error(big).find("more than 1048576 bytes"), std::string::npos);
  for (int i = 0; i < 1000; ++i) std::ofstream(many / "usr" / std::to_string(i));
  EXPECT_NE(import_error(many).find("more than 1000 files"), std::string::npos);
  EXPECT_TRUE(store_.list().empty());
  // All that there may be; what is a hole is nothing.
  std::ofstream(full / "usr" / "file") << std::string(1 << 20, 'x');
  std::ofstream(full / "usr" / "hole").flush();
  fs::resize_file(full / "usr" / "hole", 100 << 20);
  EXPECT_EQ(store_.import(full, "full"), "full");
}

// With fewer descriptors than the image has folders in one another.
TEST_F(Images, DeepOnesGoWithAllThatTheyHave) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  std::string deep = "f";
  for (int i = 0; i < 400; ++i) deep.insert(0, "d/");
  const fs::path source = archive("deep.tar", ": >f; mkdir shut; : >shut/f; chmod 0 shut",
                                  "--transform='s,./f," + deep + ",'");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{200, before.rlim_max};
  EXPECT_EQ(store_.import(source, "deep"), "deep");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  store_.remove("deep");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "store"), {}), 0);
}

// A stream of changes, as boxes write it, and as a guest may forge it.
class Changes {
 public:
  using Kind = warden::TreeItem::Kind;
  Changes& add(Kind kind, const std::string& path, const std::string& bytes = "",
               std::uint64_t number = 0) {
    warden::TreeItem item{.kind = kind, .mode = mode_, .number = number};
    item.path_bytes = static_cast<std::uint16_t>(path.size());
    item.bytes = static_cast<std::uint32_t>(bytes.size());
    text_.append(reinterpret_cast<const char*>(&item), sizeof item);
    text_ += path + bytes;
    return *this;
  }
  Changes& with(std::uint32_t mode) {
    mode_ = mode;
    return *this;
  }
  Changes& file(const std::string& path, const std::string& content) {
    return add(Kind::file, path, "", content.size())
        .add(Kind::data, "", content)
        .add(Kind::file_end, "");
  }
  UniqueFd end(const fs::path& place) {
    add(Kind::end, "");
    return as_it_is(place);
  }
  UniqueFd as_it_is(const fs::path& place) const {
    std::ofstream(place, std::ios::binary) << text_;
    return UniqueFd(::open(place.c_str(), O_RDONLY | O_CLOEXEC));
  }

 private:
  std::uint32_t mode_ = 0755;
  std::string text_;
};

TEST_F(Images, ChangesOfABoxMakeAnImageBesideTheOldOne) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  using Kind = Changes::Kind;
  store_.import(archive("base.tar", "mkdir -p a/b; echo 1 >a/b/f; echo 1 >kept; echo 1 >old"), "");
  const Image base = store_.open("base");
  const UniqueFd changes = Changes()
                               .file("old", "new")
                               .add(Kind::removed, "a")
                               .add(Kind::folder, "c")
                               .file("c/f", "made")
                               .add(Kind::hard_link, "c/again", "c/f")
                               .add(Kind::link, "c/link", "../kept")
                               .add(Kind::folder_end, "c")
                               .end(folder_ / "changes");
  store_.commit("made", base, changes, {.directory = "/c"});
  EXPECT_EQ(content_of(files_of("made") / "old"), "new");
  EXPECT_EQ(content_of(files_of("base") / "old"), "1\n");
  EXPECT_FALSE(fs::exists(files_of("made") / "a"));
  EXPECT_EQ(content_of(files_of("base") / "a/b/f"), "1\n");
  EXPECT_EQ(content_of(files_of("made") / "c/again"), "made");
  EXPECT_EQ(content_of(files_of("made") / "c/link"), "1\n");
  EXPECT_TRUE(fs::equivalent(files_of("made") / "kept", files_of("base") / "kept"));
  const Image made = store_.open("made");
  EXPECT_EQ(made.config.directory, "/c");
  // The same again is the same image; another one is another.
  store_.commit("again", base, changes, {.directory = "/c"});
  EXPECT_EQ(store_.open("again").digest, made.digest);
  EXPECT_TRUE(made.digest.starts_with("sha256:"));
  store_.commit("again", base, changes, {.directory = "/d"});
  EXPECT_NE(store_.open("again").digest, made.digest);
  store_.remove("base");
  EXPECT_EQ(content_of(files_of("made") / "kept"), "1\n");
  EXPECT_THROW(store_.commit("late", base, changes, {}), Error);
  EXPECT_EQ(store_.list().size(), 2U);
}

// Nothing outside of the image is reached, and no file that another image has is changed.
TEST_F(Images, ForgedChangesReachNothing) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  using Kind = Changes::Kind;
  const fs::path secret = folder_ / "secret";
  std::ofstream(secret) << "untouched";
  store_.import(archive("base.tar", "mkdir d; echo 1 >f; ln -s / away; ln -s f near"), "");
  const Image base = store_.open("base");
  const std::string in_store = secret.string().substr(1);
  const auto refused = [&](const Changes& changes) {
    try {
      store_.commit("evil", base, changes.as_it_is(folder_ / "changes"), {});
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  const auto ended = [](Changes changes) { return changes.add(Kind::end, ""); };
  EXPECT_TRUE(refused(Changes()));
  EXPECT_TRUE(refused(Changes().file("f", "no end")));
  EXPECT_TRUE(refused(ended(Changes().file("../" + in_store, "x"))));
  EXPECT_TRUE(refused(ended(Changes().file("/" + in_store, "x"))));
  EXPECT_TRUE(refused(ended(Changes().file("away/" + in_store, "x"))));
  EXPECT_TRUE(refused(ended(Changes().file("d/./f", "x"))));
  EXPECT_TRUE(refused(ended(Changes().add(static_cast<Kind>(77), "f"))));
  EXPECT_TRUE(refused(ended(Changes().add(Kind::hard_link, "mine", "../" + in_store))));
  EXPECT_TRUE(refused(ended(Changes().add(Kind::file, "large", "", 100 << 20))));
  Changes many;
  for (int i = 0; i < 1100; ++i) many.add(Kind::pipe, "p" + std::to_string(i));
  EXPECT_TRUE(refused(ended(many)));
  // By a further name, by a link, by an end without a beginning: only what is made anew is written.
  EXPECT_FALSE(refused(ended(Changes()
                                 .add(Kind::hard_link, "mine", "f")
                                 .add(Kind::data, "", "evil")
                                 .add(Kind::file_end, "")
                                 .file("near", "evil")
                                 .add(Kind::data, "", "late"))));
  EXPECT_EQ(content_of(files_of("base") / "f"), "1\n");
  EXPECT_EQ(content_of(files_of("evil") / "f"), "1\n");
  EXPECT_EQ(content_of(files_of("evil") / "near"), "evil");
  EXPECT_EQ(content_of(secret), "untouched");
}

// All layers together have what one may have.
TEST_F(Images, LayersShareTheLimits) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const auto layers = [&](const std::string& script) {
    std::vector<fs::path> all;
    for (const char* name : {"1", "2", "3"})
      all.push_back(
          archive(name + std::string(".tar"), "export n=" + std::string(name) + "; " + script));
    const std::string problem = import_error(layout(all, std::string(own_architecture())));
    for (const char* name : {"1", "2", "3"})
      fs::remove_all(folder_ / (name + std::string(".tar.d")));
    return problem;
  };
  EXPECT_NE(layers("head -c 400000 /dev/zero >f$n").find("bytes"), std::string::npos);
  EXPECT_NE(layers("for i in $(seq 400); do : >f$n-$i; done").find("files"), std::string::npos);
  EXPECT_EQ(layers("head -c 200000 /dev/zero >f$n"), "");
}

// Another user of the machine could run it.
TEST_F(Images, NothingInTheStoreIsSetId) {
  if (const std::string why = no_unpacking_here(); !why.empty()) GTEST_SKIP() << why;
  const fs::path file = archive("marks.tar", ": >p; chmod 6755 p; ln p q; mkdir d; chmod 1777 d");
  store_.import(file, "packed");
  store_.import(folder_ / "marks.tar.d", "copied");
  const UniqueFd changes = Changes().with(06755).file("p", "x").end(folder_ / "changes");
  store_.commit("made", store_.open("packed"), changes, {});
  for (const char* name : {"packed", "copied", "made"}) {
    for (const char* entry : {"p", "q"}) {
      const auto mode = fs::status(files_of(name) / entry).permissions();
      EXPECT_EQ(static_cast<unsigned>(mode) & 07777, 0755U) << name << " " << entry;
    }
    EXPECT_EQ(static_cast<unsigned>(fs::status(files_of(name) / "d").permissions()) & 07777,
              01777U);
  }
}

TEST_F(Images, NamesAreReferences) {
  EXPECT_NO_THROW(check_image_name("ghcr.io/a/b:1.2-x"));
  for (const char* name : {"", "..", "../x", "/etc", "a b", "a\n"})
    EXPECT_THROW(check_image_name(name), Error) << name;
}

}  // namespace
}  // namespace cloche::images
