// SPDX-License-Identifier: Apache-2.0
// The folder of saved sessions: what a save costs, what is left when something fails or the server
// is killed anywhere, what lies in the folder and is no session.
#include "session/state_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "base/host_error.h"
#include "base/sha256.h"
#include "session/saved_state_testing.h"

namespace cloche::session {
namespace {

constexpr const char* id = "11111111-2222-4333-8444-555555555555";

class StateStoreTest : public ::testing::Test {
 protected:
  // All of it, and then a change.
  void save_twice(SavedChain& chain) {
    ASSERT_TRUE(sandbox_->files().write("big", std::string(100'000, 'b')));
    ASSERT_TRUE(save(chain, *sandbox_));
    ASSERT_TRUE(sandbox_->files().write("small", "s"));
    ASSERT_TRUE(save(chain, *sandbox_));
  }
  void open() {
    store_.reset();  // one at a time
    store_ = std::make_unique<StateStore>(folder_.path(), files_);
  }
  Result<StateStore::Saved> save(SavedChain& chain, Sandbox& sandbox,
                                 Status status = Status::running) {
    const Checkpoint now(sandbox);
    return store_->save(chain, facts_, status, &now);
  }
  // The one session that a new store finds, read.
  std::unique_ptr<Sandbox> read_again(SavedChain* chain = nullptr) {
    open();
    StateStore::Listing listing = store_->list();
    EXPECT_EQ(listing.trouble, std::vector<std::string>());
    EXPECT_EQ(listing.sessions.size(), 1U);
    if (listing.sessions.empty()) return nullptr;
    SavedChain& found = listing.sessions[0].chain;
    auto loaded = store_->load(found, id, bare_engine(), {});
    if (auto* problem = std::get_if<StateStore::Problem>(&loaded)) {
      ADD_FAILURE() << problem->sentence;
      return nullptr;
    }
    if (chain) *chain = std::move(found);
    return std::move(std::get<StateStore::Loaded>(loaded).sandbox);
  }
  std::size_t files_of_session() const {
    std::size_t count = 0;
    for (const std::string& name : folder_.names()) count += name.starts_with(id) ? 1 : 0;
    return count;
  }

  FaultyFiles files_;
  TestFolder folder_;
  const Facts facts_{.id = id,
                     .owner = "me",
                     .metadata = R"({"a":1})",
                     .created = WallTime{},
                     .expires = WallTime::max()};
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Sandbox> sandbox_ = bare_engine().create({});
};

TEST_F(StateStoreTest, ASessionIsFoundWithItsFactsAndFiles) {
  open();
  SavedChain chain;
  ASSERT_TRUE(sandbox_->files().write("dir/f", "text", 0600));
  ASSERT_TRUE(sandbox_->files().change_mode("dir/f", 0));
  sandbox_->set_environment("WORD", "kept");
  ASSERT_TRUE(save(chain, *sandbox_, Status::paused));
  open();
  StateStore::Listing listing = store_->list();
  ASSERT_EQ(listing.sessions.size(), 1U);
  EXPECT_EQ(listing.sessions[0].facts.metadata, facts_.metadata);
  EXPECT_EQ(listing.sessions[0].facts.owner, "me");
  EXPECT_EQ(listing.sessions[0].facts.expires, WallTime::max());
  EXPECT_EQ(listing.sessions[0].chain.status, Status::paused);
  const auto again = read_again();
  EXPECT_EQ(again->files().stat("dir/f")->mode, 0U);
  ASSERT_TRUE(again->files().change_mode("dir/f", 0400));
  EXPECT_EQ(*again->files().read("dir/f"), "text");
  EXPECT_EQ(again->environment("WORD"), "kept");
}

// Where nobody makes a folder, root neither.
TEST(StateStore, AFolderThatCannotBeMadeSaysWhy) {
  if (::access("/sys", F_OK) != 0) GTEST_SKIP() << "there is no /sys";
  try {
    const StateStore store("/sys/states", host_files());
    FAIL();
  } catch (const HostError& error) {
    EXPECT_TRUE(error == Errno::perm || error == Errno::acces || error == Errno::rofs)
        << error.what();
  }
}

TEST_F(StateStoreTest, ASaveCostsWhatHasChanged) {
  open();
  SavedChain chain;
  ASSERT_TRUE(sandbox_->files().write("big", std::string(8 << 20, 'b')));
  EXPECT_GT(save(chain, *sandbox_)->bytes, std::uint64_t{8} << 20);
  EXPECT_EQ(save(chain, *sandbox_)->bytes, 0U);
  (void)sandbox_->files().read("big");
  EXPECT_EQ(save(chain, *sandbox_)->bytes, 0U);
  std::uint64_t bytes = 0;
  constexpr std::uint64_t rounds = 150;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    ASSERT_TRUE(sandbox_->files().write("small" + std::to_string(i % 100), std::string(1000, 's')));
    bytes += save(chain, *sandbox_)->bytes;
  }
  EXPECT_LT(bytes / rounds, 40'000U);  // and not eight megabytes
  EXPECT_LT(files_of_session(), 12U);
  const auto again = read_again();
  EXPECT_EQ(again->files().list(".")->size(), 101U);
  EXPECT_EQ(*again->files().read("small99"), std::string(1000, 's'));
}

TEST_F(StateStoreTest, WhatGrewAsLargeAsTheRestIsWrittenAsOne) {
  open();
  SavedChain chain;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(sandbox_->files().write("f" + std::to_string(i), std::string(100'000, 'x')));
    ASSERT_TRUE(save(chain, *sandbox_));
  }
  std::uint64_t bytes = 0;
  for (const std::string& name : folder_.names())
    bytes += std::filesystem::file_size(folder_ / name);
  EXPECT_LT(bytes, 40U * 100'000 * 2);
  EXPECT_EQ(read_again()->files().list(".")->size(), 40U);
}

TEST_F(StateStoreTest, TheFileOfALivePythonIsThereAsLongAsASessionNamesIt) {
  open();
  SavedChain chain;
  ASSERT_TRUE(save(chain, *sandbox_));
  const auto save_with = [&](const LivePython& live) {
    const Checkpoint now(*sandbox_);
    return store_->save(chain, facts_, Status::paused, &now, live);
  };
  const auto exists = [&](const LivePython& live) {
    return std::filesystem::exists(store_->live_file(id, live.name));
  };
  const LivePython first = *store_->new_live_file(id, 1);
  ASSERT_TRUE(store_->sync_live_file(id, first));
  ASSERT_TRUE(save_with(first));
  EXPECT_EQ(save_with(first)->bytes, 0U);
  // One that a failed save was to name is not left; that of the session is.
  const LivePython failed = *store_->new_live_file(id, 2);
  files_.fail_all(Errno::nospc);
  EXPECT_EQ(save_with(failed).error(), Errno::nospc);
  files_.heal();
  EXPECT_TRUE(exists(first));
  const LivePython left_over = *store_->new_live_file(id, 3);
  open();
  StateStore::Listing listing = store_->list();
  ASSERT_EQ(listing.sessions.size(), 1U);
  EXPECT_EQ(listing.sessions[0].chain.live, (LivePython{first.name, 0}));
  EXPECT_TRUE(exists(first));
  EXPECT_FALSE(exists(failed));
  EXPECT_FALSE(exists(left_over));
  chain = std::move(listing.sessions[0].chain);
  const LivePython second = *store_->new_live_file(id, 4);
  ASSERT_TRUE(save_with(second));
  EXPECT_FALSE(exists(first));
  EXPECT_TRUE(exists(second));
  ASSERT_TRUE(store_->remove(id, StateStore::Removal::saved, second));
  EXPECT_FALSE(exists(second));
  EXPECT_EQ(files_of_session(), 0U);
}

TEST_F(StateStoreTest, ANameOfALivePythonThatLeadsElsewhereIsDamage) {
  open();
  SavedChain chain;
  const Checkpoint now(*sandbox_);
  ASSERT_TRUE(store_->save(chain, facts_, Status::paused, &now, {"../../x", 1}));
  open();
  EXPECT_EQ(store_->list().sessions.size(), 0U);
  EXPECT_TRUE(folder_.names().contains(std::string(id) + ".session.damaged"));
}

TEST_F(StateStoreTest, ARestoredSessionGoesOn) {
  open();
  SavedChain chain;
  ASSERT_TRUE(sandbox_->files().write("big", std::string(1 << 20, 'b')));
  ASSERT_TRUE(save(chain, *sandbox_));
  ASSERT_TRUE(sandbox_->files().write("small", "one"));
  ASSERT_TRUE(save(chain, *sandbox_));
  auto second = read_again(&chain);
  EXPECT_EQ(save(chain, *second)->bytes, 0U);
  EXPECT_LT(save(chain, *second, Status::paused)->bytes, 2000U);
  ASSERT_TRUE(second->files().write("small", "two"));
  ASSERT_TRUE(save(chain, *second));
  auto third = read_again(&chain);
  EXPECT_EQ(*third->files().read("small"), "two");
  EXPECT_EQ(third->files().read("big")->size(), std::size_t{1} << 20);
}

TEST_F(StateStoreTest, OnlyItsStatusIsWrittenOfOneThatHasNotBeenRead) {
  open();
  SavedChain chain;
  ASSERT_TRUE(sandbox_->files().write("big", std::string(1 << 20, 'b')));
  ASSERT_TRUE(save(chain, *sandbox_));
  for (int i = 0; i < 5; ++i) {
    open();
    StateStore::Listing listing = store_->list();
    ASSERT_EQ(listing.sessions.size(), 1U);
    SavedChain& found = listing.sessions[0].chain;
    EXPECT_EQ(found.status, i % 2 ? Status::paused : Status::running);
    EXPECT_EQ(store_->save(found, facts_, found.status, nullptr)->bytes, 0U);
    const Status other = i % 2 ? Status::running : Status::paused;
    EXPECT_LT(store_->save(found, facts_, other, nullptr)->bytes, 2000U);
  }
  EXPECT_EQ(files_of_session(), 2U);
  EXPECT_EQ(read_again()->files().read("big")->size(), std::size_t{1} << 20);
}

// Each call that changes something fails once, or is the last one before the server is killed.
class StateStoreFaults : public StateStoreTest,
                         public ::testing::WithParamInterface<FaultyFiles::Fault> {};

TEST_P(StateStoreFaults, WhateverFailsTheOldOrTheNewStateIsThere) {
  files_.write_max = 700;
  bool failed = true;
  for (std::size_t call = 0; failed; ++call) {
    for (const std::string& name : folder_.names()) std::filesystem::remove(folder_ / name);
    open();
    SavedChain chain;
    const auto sandbox = bare_engine().create({});
    ASSERT_TRUE(sandbox->files().write("big", std::string(5000, 'b')));
    ASSERT_TRUE(save(chain, *sandbox));
    ASSERT_TRUE(sandbox->files().write("state", "0"));
    ASSERT_TRUE(save(chain, *sandbox));
    std::string last_saved = "0";
    failed = false;
    files_.fail_at(call, GetParam());
    // On top, merged, and all of it anew.
    std::string now;
    for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{9000}}) {
      now = std::string(size, 'n');
      ASSERT_TRUE(sandbox->files().write("state", now));
      const auto saved = save(chain, *sandbox);
      if (saved) {
        last_saved = now;
        continue;
      }
      failed = true;
      if (GetParam() == FaultyFiles::Fault::crash) break;
    }
    const bool crashed = failed && GetParam() == FaultyFiles::Fault::crash;
    files_.heal();
    if (!crashed) {
      // What failed is made good by the next save, whether or not something changes.
      ASSERT_TRUE(save(chain, *sandbox));
      last_saved = now;
    }
    const auto again = read_again();
    ASSERT_TRUE(again);
    const std::string state = *again->files().read("state");
    EXPECT_TRUE(state == last_saved || (crashed && state == now)) << call << " " << state.size();
    EXPECT_EQ(again->files().read("big")->size(), 5000U);
    ASSERT_LT(call, 500U);
  }
  EXPECT_FALSE(files_.is_order_broken());
}
INSTANTIATE_TEST_SUITE_P(Faults, StateStoreFaults,
                         ::testing::Values(FaultyFiles::Fault::error, FaultyFiles::Fault::crash));

TEST_F(StateStoreTest, AFullDiskIsNamedAndLeavesNothing) {
  open();
  SavedChain chain;
  files_.fail_all(Errno::nospc);
  EXPECT_EQ(save(chain, *sandbox_).error(), Errno::nospc);
  files_.heal();
  EXPECT_EQ(folder_.names(), std::set<std::string>{"lock"});
  ASSERT_TRUE(save(chain, *sandbox_));
}

TEST_F(StateStoreTest, WhatIsNoSessionKeepsNobodyOut) {
  open();
  SavedChain chain;
  ASSERT_TRUE(save(chain, *sandbox_));
  std::filesystem::create_directory(folder_ / "folder.session");
  ASSERT_EQ(::mkfifo((folder_ / "fifo.session").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((folder_ / "fifo.1.changes").c_str(), 0600), 0);
  std::filesystem::create_symlink("/etc/passwd", folder_ / "link.session");
  std::filesystem::create_directory(folder_ / "folder.part");
  folder_.write("torn.session", "torn");
  folder_.write("empty.session", "");
  folder_.write("later.session", "cloche session 3\n?\n");
  folder_.write("renamed.session", folder_.read(std::string(id) + ".session"));
  folder_.write("killed.session.part", "half");
  folder_.write("lone.1.changes", folder_.read(std::string(id) + ".session"));
  open();
  const StateStore::Listing listing = store_->list();
  ASSERT_EQ(listing.sessions.size(), 1U);
  EXPECT_EQ(listing.sessions[0].facts.id, id);
  EXPECT_EQ(std::set(listing.unread.begin(), listing.unread.end()),
            (std::set<std::string>{"torn", "empty", "later", "renamed", "lone", "folder", "fifo",
                                   "link"}));
  EXPECT_EQ(listing.trouble.size(), 8U);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "killed.session.part"));
  for (const char* name : {"torn.session.damaged", "renamed.session.damaged", "later.session",
                           "folder.session", "fifo.session", "link.session"})
    EXPECT_TRUE(folder_.names().contains(name)) << name;
}

// Such as a link to a disk that is not there at the moment.
TEST_F(StateStoreTest, WhatIsNoFileInAChainLeavesTheRestAsItIs) {
  open();
  SavedChain chain;
  ASSERT_TRUE(sandbox_->files().write("big", std::string(100'000, 'b')));
  const auto live = store_->new_live_file(id, 1);
  ASSERT_TRUE(live);
  const Checkpoint now(*sandbox_);
  ASSERT_TRUE(store_->save(chain, facts_, Status::paused, &now, *live));
  for (const char* text : {"s", "t"}) {
    ASSERT_TRUE(sandbox_->files().write("small", text));
    const Checkpoint then(*sandbox_);
    ASSERT_TRUE(store_->save(chain, facts_, Status::paused, &then, *live));
  }
  store_.reset();
  const std::set<std::string> names = folder_.names();
  for (const char* suffix : {".session", ".1.changes"}) {
    const std::filesystem::path path = folder_ / (std::string(id) + suffix);
    const std::filesystem::path away = folder_ / "away";
    std::filesystem::rename(path, away);
    std::filesystem::create_symlink("/no/such/disk", path);
    open();
    const StateStore::Listing listing = store_->list();
    EXPECT_TRUE(listing.sessions.empty());
    EXPECT_EQ(listing.unread, std::vector<std::string>{id});
    std::filesystem::rename(away, path);
    EXPECT_EQ(folder_.names(), names) << suffix;
  }
  EXPECT_EQ(*read_again()->files().read("small"), "t");
}

TEST_F(StateStoreTest, AnotherSpellingOfALevelIsNotThatLevel) {
  open();
  SavedChain chain;
  save_twice(chain);
  folder_.write(std::string(id) + ".01.changes", "a copy");
  EXPECT_EQ(*read_again()->files().read("small"), "s");
  EXPECT_EQ(folder_.read(std::string(id) + ".01.changes"), "a copy");
}

TEST_F(StateStoreTest, AClaimThatFailsLeavesTheNameOfTheOneBefore) {
  open();
  store_.reset();
  const std::string name = folder_.read("lock");
  files_.fail_all(Errno::nospc);
  EXPECT_THROW(open(), HostError);
  files_.heal();
  EXPECT_EQ(folder_.read("lock"), name);
  folder_.write("lock", name + "the rest of a longer one for cell 7\n");
  EXPECT_EQ(FolderClaim::last_cell_of(folder_.path(), files_), 0);
  open();
  EXPECT_TRUE(folder_.read("lock").starts_with("generation 2 of "));
}

TEST_F(StateStoreTest, DamageIsFoundAndSetAside) {
  open();
  SavedChain chain;
  save_twice(chain);
  store_.reset();
  std::mt19937 random(1);
  for (const std::string suffix : {".session", ".1.changes"}) {
    const std::string name = id + suffix;
    const std::string good = folder_.read(name);
    for (int i = 0; i < 60; ++i) {
      std::string bad = good;
      const std::size_t at = random() % bad.size();
      bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
      if (i % 10 == 0) bad.resize(at);
      folder_.write(name, bad);
      open();
      StateStore::Listing listing = store_->list();
      if (listing.sessions.empty()) {
        EXPECT_EQ(listing.unread.size(), 1U) << at;
        for (const std::string& set_aside : folder_.names()) {
          if (set_aside.ends_with(".damaged"))
            std::filesystem::rename(folder_ / set_aside,
                                    folder_ / set_aside.substr(0, set_aside.size() - 8));
        }
        continue;
      }
      const auto loaded = store_->load(listing.sessions[0].chain, id, bare_engine(), {});
      ASSERT_TRUE(std::holds_alternative<StateStore::Problem>(loaded)) << name << " " << at;
      EXPECT_TRUE(std::get<StateStore::Problem>(loaded).damaged);
    }
    folder_.write(name, good);
  }
  EXPECT_EQ(*read_again()->files().read("small"), "s");
  store_->set_aside(id);
  EXPECT_TRUE(folder_.names().contains(std::string(id) + ".1.changes.damaged"));
  EXPECT_EQ(store_->list().unread, std::vector<std::string>{id});
  ASSERT_TRUE(store_->remove(id, StateStore::Removal::also_set_aside));
  EXPECT_EQ(files_of_session(), 0U);
}

// What a removal that failed has taken away is only on the disk once it has been tried again.
TEST_F(StateStoreTest, ARemovalThatIsTriedAgainSyncsTheFolder) {
  open();
  SavedChain chain;
  ASSERT_TRUE(save(chain, *sandbox_));
  std::size_t at = files_.calls();
  ASSERT_TRUE(store_->remove(id, StateStore::Removal::saved));
  const std::size_t its_calls = files_.calls() - at;
  ASSERT_GE(its_calls, 2U);
  for (std::size_t call = 0; call < its_calls; ++call) {
    chain = {};
    ASSERT_TRUE(save(chain, *sandbox_));
    files_.fail_at(call, FaultyFiles::Fault::error);
    EXPECT_FALSE(store_->remove(id, StateStore::Removal::saved)) << call;
    files_.heal();
    at = files_.calls();
    EXPECT_TRUE(store_->remove(id, StateStore::Removal::saved)) << call;
    EXPECT_EQ(files_.calls() - at, its_calls) << call << ": all that it takes, and the sync";
    EXPECT_EQ(files_of_session(), 0U);
  }
}

TEST_F(StateStoreTest, SessionsOfTheReleaseBeforeAreRead) {
  const std::string rest =
      R"({"created_ms":0,"expires_ms":null,"format":1,"id":")" + std::string(id) +
      R"(","image":"","metadata":"{}","owner":"","paused":true,"ssh_public_key":""})" + "\n";
  const Sha256Digest hash = sha256(rest);
  const std::string head(reinterpret_cast<const char*>(hash.data()), hash.size());
  folder_.write(std::string(id) + ".session", head + rest);
  SavedChain chain;
  const auto sandbox = read_again(&chain);
  EXPECT_EQ(chain.status, Status::paused);
  ASSERT_TRUE(sandbox->files().write("f", "new"));
  ASSERT_TRUE(save(chain, *sandbox));
  EXPECT_TRUE(folder_.read(std::string(id) + ".session").starts_with("cloche session 2\n"));
  EXPECT_EQ(*read_again()->files().read("f"), "new");
}

TEST_F(StateStoreTest, TimesBeyondAllClocksAreTheLastThatTheseHave) {
  for (const char* time : {"9223372036854775807", "-9223372036854775807"}) {
    const std::string rest = std::string(R"({"created_ms":)") + time + R"(,"expires_ms":)" + time +
                             R"(,"format":1,"id":")" + std::string(id) +
                             R"(","image":"","metadata":"{}","owner":"","paused":true,)" +
                             R"("ssh_public_key":""})" + "\n";
    const Sha256Digest hash = sha256(rest);
    const std::string head(reinterpret_cast<const char*>(hash.data()), hash.size());
    folder_.write(std::string(id) + ".session", head + rest);
    open();
    const StateStore::Listing listing = store_->list();
    ASSERT_EQ(listing.sessions.size(), 1U) << time;
    const bool is_late = *time != '-';
    EXPECT_EQ(listing.sessions[0].facts.created > WallTime(), is_late) << time;
    EXPECT_EQ(listing.sessions[0].facts.expires > WallTime(), is_late) << time;
  }
}

TEST_F(StateStoreTest, AFolderThatCannotBeListedIsAnErrorAndNoFolderWithoutSessions) {
  open();
  SavedChain chain;
  ASSERT_TRUE(save(chain, *sandbox_));
  const std::filesystem::path elsewhere = folder_.path().string() + ".elsewhere";
  std::filesystem::rename(folder_.path(), elsewhere);
  EXPECT_THROW((void)store_->list(), HostError);
  std::filesystem::rename(elsewhere, folder_.path());
  EXPECT_EQ(store_->list().sessions.size(), 1u);
}

TEST_F(StateStoreTest, AFileInItsPlaceIsRefusedAndStaysAsItIs) {
  const std::filesystem::path file = folder_ / "file";
  folder_.write("file", "of somebody");
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  EXPECT_THROW(StateStore(file, files_), HostError);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0644));
}

TEST_F(StateStoreTest, AFolderHasOneServer) {
  open();
  try {
    StateStore other(folder_.path(), host_files());
    FAIL() << "a second server has the folder";
  } catch (const HostError& error) {
    EXPECT_NE(std::string(error.what()).find("another server keeps its sessions in"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid())),
              std::string::npos);
  }
}

TEST_F(StateStoreTest, AServerWhoseFolderWasTakenWritesNothingMore) {
  open();
  SavedChain chain;
  ASSERT_TRUE(save(chain, *sandbox_));
  const std::string name = std::string(id) + ".session";
  const std::string saved = folder_.read(name);
  // As another server does where locks do not hold.
  EXPECT_TRUE(folder_.read("lock").starts_with("generation 1 of "));
  folder_.write("lock", "generation 2 of somebody else\n");
  ASSERT_TRUE(sandbox_->files().write("f", "lost race"));
  EXPECT_EQ(save(chain, *sandbox_).error(), Errno::stale);
  EXPECT_EQ(store_->remove(id, StateStore::Removal::saved).error(), Errno::stale);
  EXPECT_TRUE(store_->is_lost());
  EXPECT_EQ(folder_.read(name), saved);
  EXPECT_EQ(files_of_session(), 1U);
  open();
  EXPECT_TRUE(folder_.read("lock").starts_with("generation 3 of "));
}

}  // namespace
}  // namespace cloche::session
