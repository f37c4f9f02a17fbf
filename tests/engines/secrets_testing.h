// SPDX-License-Identifier: Apache-2.0
// Sandboxes with a secret for localhost, where servers are on the loopback of this machine.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

#include "../loopback_server_testing.h"
#include "engines_testing.h"

namespace cloche::testing {

class Secrets : public PythonOnEachEngine {
 protected:
  // A secret for localhost, where `servers` are.
  SandboxOptions with_secret(std::initializer_list<const LoopbackServer*> servers) {
    SandboxOptions options;
    for (const LoopbackServer* server : servers) {
      options.network.allow.push_back(server->rule());
      options.network.allow.push_back(fmt::format("127.0.0.1:{}", server->port()));
      options.network.trusted_certificates += server->authority();
    }
    options.network.secrets = {{"API_KEY", {.value = value, .hosts = {"localhost"}}}};
    options.network.audit = [this](const NetworkEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
    return options;
  }

  static std::string python(Sandbox& sandbox, const std::string& code, std::uint16_t port,
                            std::uint16_t other = 0) {
    const RunResult result = sandbox.run({.argv = {"python3", "-c", prelude + code},
                                          .environment = {{"PYTHONWARNINGS", "ignore"},
                                                          {"PORT", std::to_string(port)},
                                                          {"OTHER", std::to_string(other)}},
                                          .timeout = std::chrono::milliseconds(120'000)});
    EXPECT_EQ(result.exit_code, 0) << result.stdout_data << result.stderr_data << result.reason;
    return result.stdout_data;
  }

  bool has_event(NetworkEvent::Kind kind, bool allowed, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(events_, [&](const NetworkEvent& event) {
      return event.kind == kind && event.allowed == allowed &&
             event.reason.find(reason) != std::string::npos;
    });
  }

  static constexpr const char* value = "the-real-value-of-it";
  static constexpr std::uint64_t room = std::uint64_t{1} << 30;

  static constexpr const char* prelude = R"(
import http.client, os, socket, ssl, sys, urllib.request
port, other, key = int(os.environ["PORT"]), int(os.environ["OTHER"]), os.environ["API_KEY"]
def get(url, **headers):
    headers = {name.replace("_", "-"): text for name, text in headers.items()}
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60).read()
)";

  std::mutex mutex_;
  std::vector<NetworkEvent> events_;
};

}  // namespace cloche::testing
