// SPDX-License-Identifier: Apache-2.0
#include "python_rows.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "cloche/engine.h"
#include "table.h"

namespace cloche::bench {
namespace {

// Each runs in a fresh process. Those of plain Python run on the native CPython too.
struct Program {
  const char* name;
  const char* target;
  const char* source;
};

constexpr Program plain[] = {
    {"python3 -c 'print(1)', a process", "5", "print(1)"},
    {"integer loop, 10^6 turns", "", "t = 0\nfor i in range(1000000): t += i & 7\nprint(t and 1)"},
    {"json, dumps and loads of 10^4 records", "",
     "import json\nd = [{'id': i, 'name': 'n%d' % i, 'x': [i, i / 2]} for i in range(10000)]\n"
     "print(1 if json.loads(json.dumps(d)) == d else 0)"},
    {"re, findall over 1 MB", "",
     "import re\nt = 'alpha 12 beta 345 gamma; ' * 40000\n"
     "print(1 if len(re.findall(r'\\b[a-z]+ (\\d+)', t)) == 80000 else 0)"},
    {"sort of 2*10^5 numbers", "",
     "import random\nr = random.Random(1)\na = [r.random() for _ in range(200000)]\na.sort()\n"
     "print(1 if a[0] < a[-1] else 0)"},
    {"dict and str, 3*10^5 words", "",
     "c = {}\nfor i in range(300000):\n  k = 'w%d' % (i % 5000)\n  c[k] = c.get(k, 0) + 1\n"
     "print(1 if len(c) == 5000 else 0)"},
};

constexpr Program with_packages[] = {
    {"import numpy, from the image", "10", "import numpy; print(1)"},
    {"import pandas, from the image", "", "import pandas; print(1)"},
    {"numpy: matmul 400 x 400, 5 times", "",
     "import numpy as np\na = np.random.rand(400, 400)\nfor _ in range(5): b = a @ a\nprint(1 if "
     "b.shape else 0)"},
};

void must_print_one(const RunResult& result) {
  if (result.stdout_data != "1\n") {
    throw std::runtime_error(fmt::format("a measured Python program went wrong: {} {}",
                                         result.reason, result.stderr_data));
  }
}

// $CLOCHE_BENCH_PYTHON, such as one with numpy; otherwise not a version manager's shim, which costs more
// than Python itself.
std::string native_python() {
  if (const char* chosen = std::getenv("CLOCHE_BENCH_PYTHON")) return chosen;
  return std::filesystem::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

bool native_has(const std::string& module) {
  const std::string ask = fmt::format("'{}' -c 'import {}' 2>/dev/null", native_python(), module);
  return std::system(ask.c_str()) == 0;
}

Row row(Sandbox& sandbox, const Program& program) {
  return {.name = program.name, .target = program.target, .ours = [&sandbox, program] {
            return milliseconds(
                [&] { must_print_one(sandbox.run({.argv = {"python3", "-c", program.source}})); });
          }};
}

}  // namespace

void measure_python() {
  Engine engine(EngineOptions{});
  const auto bare = engine.create({});
  const auto equipped = engine.create({.packages = {"pandas"}});
  std::vector<Row> rows;
  const auto compare = [&rows](const Program& program) {
    rows.back().native = [program] {
      return milliseconds([&] { run_native({native_python(), "-c", program.source}); });
    };
    rows.back().native_name = "python3 of this machine";
  };
  for (const Program& program : plain) {
    rows.push_back(row(*bare, program));
    compare(program);
  }
  const bool has_packages = native_has("numpy, pandas");
  for (const Program& program : with_packages) {
    rows.push_back(row(*equipped, program));
    if (has_packages) compare(program);
  }
  // pip changes the set of packages: no image has that one, so everything is imported.
  const auto cold = engine.create({});
  must_print_one(cold->run({.script = "pip install -q pandas tabulate && echo 1"}));
  rows.push_back(row(*cold, {"import numpy, cold", "", "import numpy; print(1)"}));
  rows.push_back(row(*cold, {"import pandas, cold", "", "import pandas; print(1)"}));
  print_rows(rows);
}

}  // namespace cloche::bench
