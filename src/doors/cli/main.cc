#include <fmt/core.h>

#include <csignal>
#include <exception>

#include "doors/cli/commands.h"
#include "doors/cli/options.h"

namespace {

constexpr int failure = 2;

int run(int argc, char** argv) {
  using namespace cloche::cli;
  const Options options = parse(argc, argv);
  switch (options.command) {
    case Command::run: return run_command(options);
    case Command::prepare: return prepare_command();
    case Command::version: fmt::print("cloche {}\n", CLOCHE_VERSION); return 0;
    case Command::help: break;
  }
  fmt::print("{}", help_page(options.help_topic));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that is gone is an error of write
  try {
    return run(argc, argv);
  } catch (const cloche::cli::UsageError& error) {
    fmt::print(stderr, "cloche: {}\n", error.sentence);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cloche: {}\n", error.what());
  }
  return failure;
}
