// SPDX-License-Identifier: Apache-2.0
#include "tool_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "cloche/engine.h"
#include "table.h"

namespace cloche::bench {
namespace {

// What makes the input, in the sandbox and in the native folder alike: 14 MB of lines with words
// and numbers.
constexpr std::string_view make_input =
    "seq 1 700000 | sed 's/.*/line & of some text/' > input.txt && gzip -k input.txt";

// A folder of this machine that goes away with the object.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cloche-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  // A command for run_native that runs the script there.
  std::vector<std::string> command(std::string_view script) const {
    return {"bash", "-c", fmt::format("cd '{}' && {}", path_.string(), script)};
  }

 private:
  std::filesystem::path path_;
};

class Tools {
 public:
  Tools() : engine_(EngineOptions{}), sandbox_(engine_.create({})) {
    run(std::string(make_input));
    run_native(folder_.command(make_input));
  }

  void measure() {
    print_rows({
        row("sha256sum, 19 MB", "sha256sum input.txt"),
        row("sort", "sort -r input.txt > sorted.txt"),
        row("sort -n by a field", "sort -k2,2nr input.txt > sorted.txt"),
        row("grep", "grep 'line .*77' input.txt | wc -l"),
        row("grep -E of alternatives", "grep -E '(12|34)5+ (of|no)' input.txt | wc -l"),
        row("sed s///", "sed 's/some/any/' input.txt > changed.txt"),
        row("gawk sum of a field", "gawk '{s += $2} END {print s}' input.txt"),
        row("gzip", "gzip -c input.txt > other.gz"),
        row("gzip -d", "gzip -dc input.txt.gz > other.txt"),
        row("wc", "wc input.txt"),
        row("cut | sort | uniq", "cut -c1-7 input.txt | sort | uniq -c > counts.txt"),
        row("100 starts of a program", "for i in {1..100}; do /bin/true; done"),
    });
  }

 private:
  void run(const std::string& script) {
    const RunResult result = sandbox_->run({.script = script});
    if (result.exit_code != 0) {
      throw std::runtime_error(fmt::format("{}: {}{}", script, result.reason, result.stderr_data));
    }
  }

  Row row(std::string name, const std::string& script) {
    return {
        .name = std::move(name),
        .target = "2x native",
        .ours = [this, script] { return milliseconds([&] { run(script); }); },
        .native = [this,
                   script] { return milliseconds([&] { run_native(folder_.command(script)); }); },
        .native_name = "the machine's",
        .rounds = 5};
  }

  Folder folder_;
  Engine engine_;
  std::unique_ptr<Sandbox> sandbox_;
};

}  // namespace

void measure_tools() { Tools().measure(); }

}  // namespace cloche::bench
