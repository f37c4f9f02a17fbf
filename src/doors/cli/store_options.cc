// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/store_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "doors/cli/parse_words.h"

namespace cloche::cli {
namespace {

Options parse_import(const std::vector<std::string>& words) {
  Options options;
  options.command = Command::image_import;
  CLI::App app;
  app.set_help_flag();
  app.add_option("source", options.image_file);
  app.add_option("--name", options.image_name);
  parse_words(app, words, "image");
  if (options.image_file.empty())
    throw request_error("image import wants a file or a folder: cloche image import debian.tar");
  return options;
}

Options parse_pull(const std::vector<std::string>& words) {
  Options options;
  options.command = Command::image_pull;
  bool insecure = false;
  std::string auth_file;
  CLI::App app;
  app.set_help_flag();
  app.add_option("reference", options.image_file);
  app.add_option("--name", options.image_name);
  app.add_option("--registry-auth", auth_file);
  app.add_flag("--insecure", insecure);
  parse_words(app, words, "image");
  if (options.image_file.empty())
    throw request_error("image pull wants an image of a registry: cloche image pull debian:12");
  options.pull.auth_file = auth_file;
  if (insecure) options.pull.plain_http = images::PlainHttp::anywhere;
  return options;
}

Options parse_make(const std::vector<std::string>& words) {
  Options options;
  options.command = Command::image_make;
  std::string what;
  options.suite = "bookworm";
  options.image_name = "debian";
  CLI::App app;
  app.set_help_flag();
  app.add_option("what", what);
  app.add_option("--packages", options.image_packages)->expected(1)->delimiter(',')->take_all();
  app.add_option("--suite", options.suite);
  app.add_option("--name", options.image_name);
  parse_words(app, words, "image");
  if (what != "debian") throw request_error("image make knows debian: cloche image make debian");
  const auto is_word = [](const std::string& word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
    }) && word.front() != '-';
  };
  if (!is_word(options.suite) || !std::ranges::all_of(options.image_packages, is_word))
    throw request_error(
        "--packages and --suite take names as Debian has them, with commas between");
  return options;
}

}  // namespace

Options parse_store_command(const std::string& action, const std::vector<std::string>& words) {
  if (action == "pull") return parse_pull(words);
  if (action == "import") return parse_import(words);
  if (action == "make") return parse_make(words);
  Options options;
  if (action == "list") {
    options.command = Command::image_list;
    if (words.size() > 1 || (words.size() == 1 && words[0] != "--json"))
      throw request_error("image list takes --json and nothing else; see cloche image --help");
    if (!words.empty()) options.list_format = ListFormat::json;
    return options;
  }
  if (action == "remove") {
    if (words.size() != 1) throw request_error("image remove wants a name of cloche image list");
    options.command = Command::image_remove;
    options.image_name = words[0];
    return options;
  }
  throw request_error("image has build, show, pull, import, commit, list, remove and make, not '" +
                      action + "'; see cloche image --help");
}

}  // namespace cloche::cli
