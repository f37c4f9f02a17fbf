// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_spawner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor_channel.h"
#include "base/error.h"
#include "base/host_error.h"
#include "doors/mcp/mount/tool_process.h"

namespace cloche::mcp::mount {
namespace {

// What the spawner answers on the channel of a run: these two, each with a pipe's end; otherwise a
// sentence that says why there is none.
constexpr std::string_view input_message = "input";
constexpr std::string_view output_message = "output";

// The spawner's own process.
class Supervisor {
 public:
  Supervisor(UniqueFd channel, const std::vector<ToolServerConfig>& servers)
      : channel_(std::move(channel)), servers_(servers) {}

  // Until the other end of the channel has gone, and all programs after it.
  void run() {
    while (serve()) continue;
    for (Run& run : runs_) run.process.reset();
  }

 private:
  // Its channel is closed after its program has ended.
  struct Run {
    UniqueFd channel;
    std::size_t server = 0;
    std::unique_ptr<ToolProcess> process;
  };

  bool serve() {
    std::vector<pollfd> wanted{{channel_.get(), POLLIN, 0}};
    for (const Run& run : runs_) wanted.push_back({run.channel.get(), POLLIN, 0});
    if (::poll(wanted.data(), wanted.size(), -1) < 0) return errno == EINTR;
    // Nothing is ever said on the channel of a run: it ends.
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (wanted[i + 1].revents != 0) runs_[i].process.reset();
    }
    std::erase_if(runs_, [](const Run& run) { return run.process == nullptr; });
    return wanted.front().revents == 0 || take_order();
  }

  bool take_order() {
    std::optional<ChannelMessage> order = receive_message(channel_.get());
    if (!order) return false;
    std::size_t server = 0;
    const std::string& text = order->text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), server);
    if (!order->descriptor || error != std::errc() || end != text.data() + text.size() ||
        server >= servers_.size()) {
      return true;
    }
    start(server, std::move(order->descriptor));
    return true;
  }

  void start(std::size_t server, UniqueFd channel) {
    const ToolServerConfig& config = servers_[server];
    const auto running =
        std::ranges::count_if(runs_, [&](const Run& run) { return run.server == server; });
    std::string trouble;
    if (static_cast<std::size_t>(running) >= ToolSpawner::run_limit) {
      trouble = fmt::format("the tool server '{}' runs {} times", config.name, running);
    } else {
      try {
        auto process = std::make_unique<ToolProcess>(config);
        const ToolProcess::Pipes pipes = process->take_pipes();
        if (send_message(channel.get(), input_message, pipes.input.get()) == 0 &&
            send_message(channel.get(), output_message, pipes.output.get()) == 0) {
          runs_.push_back({std::move(channel), server, std::move(process)});
        }
        return;
      } catch (const Error& error) {
        trouble = error.what();
      } catch (const std::exception& error) {
        trouble =
            fmt::format("the tool server '{}' cannot be started: {}", config.name, error.what());
      }
    }
    trouble.resize(std::min(trouble.size(), channel_message_max_bytes));
    (void)send_message(channel.get(), trouble);
  }

  const UniqueFd channel_;
  const std::vector<ToolServerConfig>& servers_;
  std::vector<Run> runs_;
};

// What belongs to the process that it was forked from stays with that: its standard input and
// output, and the signals of the terminal.
void leave_the_parent() {
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  (void)::dup2(nothing.get(), STDIN_FILENO);
  (void)::dup2(nothing.get(), STDOUT_FILENO);
  (void)::setpgid(0, 0);
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&ends, number);
  (void)::sigprocmask(SIG_BLOCK, &ends, nullptr);
  (void)::prctl(PR_SET_NAME, "cloche-tools", 0, 0, 0);
}

Error unreachable(const ToolServerConfig& config) {
  return {ErrorKind::host, Errno::io,
          fmt::format("the tool server '{}' cannot be started: the process that starts tool "
                      "servers has ended",
                      config.name)};
}

}  // namespace

void ToolRun::end() noexcept {
  if (!channel_) return;
  input_.reset();
  output_.reset();
  (void)::shutdown(channel_.get(), SHUT_WR);
  // The other end goes once the program has. It sends nothing more.
  char none = 0;
  while (::recv(channel_.get(), &none, 1, 0) < 0 && errno == EINTR) continue;
  channel_.reset();
}

ToolSpawner::ToolSpawner(std::vector<ToolServerConfig> servers) : servers_(std::move(servers)) {
  auto [own, its] = make_channel();
  process_ = ::fork();
  if (process_ < 0)
    throw HostError::from_errno("cannot start the process that starts tool servers", errno);
  if (process_ == 0) {
    own.reset();
    leave_the_parent();
    Supervisor(std::move(its), servers_).run();
    ::_exit(0);
  }
  channel_ = std::move(own);
}

ToolSpawner::~ToolSpawner() {
  channel_.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

ToolRun ToolSpawner::start(std::size_t server) {
  const ToolServerConfig& config = servers_.at(server);
  auto [own, its] = make_channel();
  if (send_message(channel_.get(), std::to_string(server), its.get()) != 0)
    throw unreachable(config);
  its.reset();
  std::optional<ChannelMessage> input = receive_message(own.get());
  if (!input) throw unreachable(config);
  if (input->text != input_message || !input->descriptor) throw request_error(input->text);
  std::optional<ChannelMessage> output = receive_message(own.get());
  if (!output || !output->descriptor) throw unreachable(config);
  return {std::move(input->descriptor), std::move(output->descriptor), std::move(own)};
}

}  // namespace cloche::mcp::mount
