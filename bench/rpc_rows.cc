// SPDX-License-Identifier: Apache-2.0
#include "rpc_rows.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "table.h"

extern char** environ;

namespace cloche::bench {
namespace {

// A server and a client of it that is as plain as can be.
class RpcServer {
 public:
  RpcServer() {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::string program =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cloche").string();
    std::string word = "rpc";
    std::array<char*, 3> argv{program.data(), word.data(), nullptr};
    const int error =
        ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
    if (error != 0) throw std::runtime_error("cannot start " + program);
  }
  ~RpcServer() {
    ::close(in_);
    ::close(out_);
    ::waitpid(pid_, nullptr, 0);
  }
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // The answer's line, which must hold `wanted`.
  std::string call(std::string_view method, std::string_view params, std::string_view wanted) {
    const std::string line = fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{}}})"
                                         "\n",
                                         method, params);
    if (::write(in_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      throw std::runtime_error("the server does not read");
    std::string answer;
    std::array<char, 65536> block;
    while (!answer.ends_with('\n')) {
      const ssize_t got = ::read(out_, block.data(), block.size());
      if (got <= 0) throw std::runtime_error("the server has ended");
      answer.append(block.data(), static_cast<std::size_t>(got));
    }
    if (answer.find(wanted) == std::string::npos)
      throw std::runtime_error("a measured request went wrong: " + answer);
    return answer;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

}  // namespace

void measure_rpc() {
  RpcServer warm;
  warm.call("create", "{}", "true");
  const auto echo = [](RpcServer& server) {
    server.call("run", R"({"command":"echo hi"})", R"("stdout":"hi\n")");
  };
  print_rows({{.name = "JSON-RPC: run `echo hi`, there and back",
               .target = "0.3",
               .ours = [&] { return milliseconds([&] { echo(warm); }); },
               .native = [] { return milliseconds([] { run_native({"bash", "-c", "echo hi"}); }); },
               .native_name = "bash -c 'echo hi'",
               .rounds = 200},
              {.name = "JSON-RPC: python.execute `1+1`, there and back",
               .target = "",
               .ours =
                   [&] {
                     return milliseconds([&] {
                       warm.call("python.execute", R"({"code":"1+1"})", R"("result":"2")");
                     });
                   },
               .native = {},
               .native_name = {},
               .rounds = 200},
              {.name = "a server from nothing to its first sandbox",
               .target = "60",
               .ours =
                   [] {
                     return milliseconds([] {
                       RpcServer cold;
                       cold.call("create", "{}", "true");
                     });
                   },
               .native = [] { return milliseconds([] { run_native({"python3", "-c", ""}); }); },
               .native_name = "python3 -c ''"},
              {.name = "a further sandbox of that server, made and ended",
               .target = "3",
               .ours =
                   [&] {
                     return milliseconds([&] {
                       const std::string answer = warm.call("sandbox.create", "{}", "sandboxId");
                       const std::size_t start = answer.find("\"s") + 1;
                       const std::size_t at = answer.find("\"s", start) + 1;
                       warm.call("sandbox.destroy",
                                 fmt::format(R"({{"sandboxId":"{}"}})",
                                             answer.substr(at, answer.find('"', at) - at)),
                                 "true");
                     });
                   },
               .native = {},
               .native_name = {},
               .rounds = 100}});
}

}  // namespace cloche::bench
