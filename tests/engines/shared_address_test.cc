// SPDX-License-Identifier: Apache-2.0
// Several names of one address, of which one has a secret: TLS ends here for that one alone.
#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "../loopback_server_testing.h"
#include "base/descriptor_share.h"
#include "net/guest_socket.h"
#include "net/network.h"
#include "net/socket_bio.h"

namespace cloche::testing {
namespace {

// The server's certificate is good for none of these names: where TLS ends here, the program hears
// that; where it does not, it gets that certificate.
constexpr const char* ended_here = "sslv3 alert bad certificate";
constexpr const char* end_to_end = "/CN=localhost";

class SharedAddress : public ::testing::Test {
 protected:
  static constexpr const char* secret_host = "www.test";

  NetworkOptions options(std::vector<std::string> deny = {}) const {
    NetworkOptions options;
    options.allow = {"127.0.0.1:" + std::to_string(server_.port()), "*.test"};
    options.deny = std::move(deny);
    options.trusted_certificates = server_.authority();
    options.secrets = {{"KEY", {.value = "value", .hosts = {secret_host, "elsewhere.test"}}}};
    return options;
  }

  ~SharedAddress() override { network_.stop(); }

  // All names have the address of the server.
  void resolve(const std::string& name) {
    std::string query("\x12\x34\x01\0\0\x01\0\0\0\0\0\0", 12);
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t end = std::min(name.find('.', at), name.size());
      query += static_cast<char>(end - at);
      query += name.substr(at, end - at);
      at = end + 1;
    }
    query += std::string("\0\0\x01\0\x01", 5);
    const auto bytes = std::as_bytes(std::span(query));
    const auto answered = std::make_shared<std::promise<void>>();
    std::future<void> answer = answered->get_future();
    {
      const kernel::KernelLock lock(mutex_);
      network_.query({bytes.begin(), bytes.end()},
                     [answered](const std::vector<std::byte>&) { answered->set_value(); });
    }
    answer.get();
  }

  // A program's end of a connection to the server.
  UniqueFd connect() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const auto made = std::make_shared<std::promise<bool>>();
    std::future<bool> is_made = made->get_future();
    const auto socket =
        std::make_shared<net::GuestSocket>([made](Result<void> how) { made->set_value(how.ok()); });
    kernel::InetAddress to;
    to.ip = kernel::IpAddress::v4({127, 0, 0, 1});
    to.port = server_.port();
    {
      const kernel::KernelLock lock(mutex_);
      EXPECT_TRUE(network_.connect(to, socket));
    }
    EXPECT_TRUE(is_made.get());
    const kernel::KernelLock lock(mutex_);
    UniqueFd own(ends[0]);
    auto place = DescriptorShare::of_this_process().acquire(own, nullptr);
    socket->attach(std::move(own), *std::move(place));
    return UniqueFd(ends[1]);
  }

  // Whose certificate a program gets that asks for the name, or what it hears instead.
  static std::string look(const UniqueFd& socket, const char* name) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    const std::unique_ptr<SSL, decltype(&SSL_free)> session(SSL_new(context.get()), &SSL_free);
    SSL_set_tlsext_host_name(session.get(), name);
    net::use_socket(session.get(), socket.get());
    ERR_clear_error();
    if (SSL_connect(session.get()) != 1) return ERR_reason_error_string(ERR_get_error());
    std::array<char, 256> text{};
    X509_NAME_oneline(X509_get_subject_name(SSL_get0_peer_certificate(session.get())), text.data(),
                      static_cast<int>(text.size()));
    return text.data();
  }

  LoopbackServer server_{LoopbackServer::Speaks::https};
  kernel::KernelMutex mutex_;
  net::Network network_{mutex_, options(), std::make_shared<net::SecretStore>(options().secrets),
                        std::make_shared<net::GuestAuthority>(), [](const std::string&) {
                          return net::Resolver::Found{
                              true, false, {kernel::IpAddress::v4({127, 0, 0, 1})}};
                        }};
};

TEST_F(SharedAddress, EndsHereForTheNameThatHasTheSecret) {
  resolve("api.test");
  EXPECT_EQ(look(connect(), secret_host), end_to_end) << "it has not led here yet";
  resolve("WWW.test");
  EXPECT_EQ(look(connect(), secret_host), ended_here);
  EXPECT_EQ(look(connect(), "Www.Test"), ended_here);
  for (const char* name : {"api.test", "elsewhere.test", "x.www.test", "www.test.", "test"})
    EXPECT_EQ(look(connect(), name), name == std::string("www.test.") ? ended_here : end_to_end)
        << name;
}

TEST_F(SharedAddress, ANameThatIsDeniedMeanwhileHasNone) {
  resolve("api.test");
  resolve(secret_host);
  const UniqueFd before = connect();
  network_.set_policy(net::Policy(options({secret_host})));
  EXPECT_EQ(look(before, secret_host), end_to_end);
  EXPECT_FALSE(server_.has_heard("value"));
}

}  // namespace
}  // namespace cloche::testing
