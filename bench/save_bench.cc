// SPDX-License-Identifier: Apache-2.0
// What it costs to save a session with a state folder before an answer goes out: time, and bytes
// that are written (`bytes`). The folder is on the disk of the temporary files.

#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "cloche/engine.h"
#include "session/state_store.h"

namespace cloche::session {
namespace {

// A session with so many megabytes of files of 100 KB, saved once.
class SavedSession {
 public:
  explicit SavedSession(std::int64_t megabytes)
      : folder_(made_folder()),
        engine_({.system_folder = folder_ / "system",
                 .cache_folder = folder_ / "cache",
                 .wheel_cache_bytes = 0}),
        sandbox_(engine_.create({.file_limit_bytes = std::uint64_t{4} << 30})),
        store_(folder_ / "state", host_files()) {
    for (std::int64_t i = 0; i < megabytes * 10; ++i) change("f" + std::to_string(i), 100'000);
    CLOCHE_CHECK(save() > 0);
  }
  ~SavedSession() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  SavedSession(const SavedSession&) = delete;
  SavedSession& operator=(const SavedSession&) = delete;

  void change(const std::string& name, std::size_t bytes) {
    const std::string content(bytes, static_cast<char>('a' + changes_++ % 26));
    CLOCHE_CHECK(sandbox_->files().write(name, content).ok());
  }
  std::uint64_t save() {
    const Checkpoint now(*sandbox_);
    const auto saved = store_.save(chain_, facts_, Status::running, &now);
    CLOCHE_CHECK(saved.ok());
    return saved->bytes;
  }
  void forget() { chain_ = {}; }

 private:
  static std::filesystem::path made_folder() {
    std::string name = std::filesystem::temp_directory_path() / "cloche-bench-XXXXXX";
    CLOCHE_CHECK(::mkdtemp(name.data()) != nullptr);
    const std::filesystem::path folder(name);
    std::filesystem::create_directories(folder / "system");
    // A system without programs: only files are measured.
    std::ofstream(folder / "system" / "system.index") << "cloche-system 2\nd\t755\tusr/bin\n";
    return folder;
  }

  const std::filesystem::path folder_;
  Engine engine_;
  std::unique_ptr<Sandbox> sandbox_;
  StateStore store_;
  SavedChain chain_;
  const Facts facts_{.id = "bench", .metadata = "{}", .expires = WallTime::max()};
  std::size_t changes_ = 0;
};

template <typename Change>
void measure(benchmark::State& state, Change change) {
  SavedSession session(state.range(0));
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    change(session);
    state.ResumeTiming();
    bytes += session.save();
  }
  state.counters["bytes"] =
      benchmark::Counter(static_cast<double>(bytes), benchmark::Counter::kAvgIterations);
}

void save_nothing_changed(benchmark::State& state) {
  measure(state, [](SavedSession&) {});
}
BENCHMARK(save_nothing_changed)->ArgName("MB")->Arg(1)->Arg(100)->Arg(1000);

void save_small_file(benchmark::State& state) {
  measure(state, [](SavedSession& session) { session.change("small", 1000); });
}
BENCHMARK(save_small_file)->ArgName("MB")->Arg(1)->Arg(100)->Arg(1000)->UseRealTime();

void save_new_file_of_100_kb(benchmark::State& state) {
  measure(state, [n = 0](SavedSession& session) mutable {
    session.change("new" + std::to_string(n++ % 50), 100'000);
  });
}
BENCHMARK(save_new_file_of_100_kb)->ArgName("MB")->Arg(1)->Arg(100)->Arg(1000)->UseRealTime();

void save_everything(benchmark::State& state) {
  measure(state, [](SavedSession& session) { session.forget(); });
}
BENCHMARK(save_everything)->ArgName("MB")->Arg(1)->Arg(100)->Arg(1000)->UseRealTime();

}  // namespace
}  // namespace cloche::session
