// SPDX-License-Identifier: Apache-2.0
// What the commands of `cloche` do. Each returns the exit status of the program.
#pragma once

#include <string>
#include <vector>

#include "doors/cli/options.h"

namespace cloche::cli {

int run_command(const Options& options);
int shell_command(const Options& options);
int image_build_command(const Options& options);
int image_show_command(const Options& options);
int image_pull_command(const Options& options);
int image_import_command(const Options& options);
int image_list_command(const Options& options);
int image_remove_command(const Options& options);
int image_make_command(const Options& options);
int image_commit_command(const Options& options);
int prepare_command(const Options& options);
int rpc_command(const Options& options);
int mcp_command(const Options& options);
int doctor_command(const Options& options);
// `cloche skill WORDS...`
int skill_command(const std::vector<std::string>& words);

}  // namespace cloche::cli
