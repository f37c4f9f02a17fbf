// SPDX-License-Identifier: Apache-2.0
// A web server in a sandbox, and a client outside of it: a connection to a port of the sandbox's own
// loopback, which is all the network that the sandbox has.
#include <cloche/engine.h>
#include <cloche/live_run.h>
#include <cloche/loopback.h>

#include <array>
#include <iostream>
#include <semaphore>
#include <string>

namespace {

constexpr std::uint16_t port = 8000;

// What a connection reads and writes may have to wait; `news` is told when it is worth trying again.
std::string get(cloche::Sandbox& sandbox, std::string_view path) {
  std::counting_semaphore<> news(0);
  auto connection = sandbox.connect(port, [&news] { news.release(); });
  if (!connection) throw cloche::Error(connection.error(), "the port of the sandbox");
  const std::string request = "GET " + std::string(path) + " HTTP/1.0\r\n\r\n";
  for (std::string_view rest = request; !rest.empty();) {
    const auto written = (*connection)->write(rest);
    if (!written && written.error() != cloche::Errno::again)
      throw cloche::Error(written.error(), "writing");
    if (written) rest.remove_prefix(*written);
    if (!written) news.acquire();
  }
  std::string answer;
  std::array<char, 4096> piece;
  for (;;) {
    const auto got = (*connection)->read(piece);
    if (!got && got.error() != cloche::Errno::again) throw cloche::Error(got.error(), "reading");
    if (!got) {
      news.acquire();
    } else if (*got == 0) {
      return answer;
    } else {
      answer.append(piece.data(), *got);
    }
  }
}

}  // namespace

int main() try {
  cloche::Engine engine({});
  const auto sandbox = engine.create({});
  if (!sandbox->files().write("index.html", "<h1>from the sandbox</h1>\n")) return 1;

  // It says on its output that it listens.
  std::binary_semaphore listens(0);
  cloche::LiveRunOptions options;
  options.command.argv = {"python3", "-u", "-m", "http.server", std::to_string(port)};
  options.command.output = [&, said = std::string()](cloche::Stream,
                                                     std::string_view data) mutable {
    const bool before = said.find("Serving HTTP") != std::string::npos;
    said += data;
    if (!before && said.find("Serving HTTP") != std::string::npos) listens.release();
  };
  options.on_end = [&](const cloche::RunResult&) { listens.release(); };
  const auto server = sandbox->start(std::move(options));
  listens.acquire();

  const std::string answer = get(*sandbox, "/index.html");
  std::cout << answer.substr(0, answer.find('\r')) << "\n"
            << answer.substr(answer.find("\r\n\r\n") + 4);
  server->kill();
  std::cout << "the server ended with " << server->wait().exit_code << "\n";
  return 0;
} catch (const cloche::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
