// SPDX-License-Identifier: Apache-2.0
#include "net/secrets.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"

namespace cloche::net {
namespace {

class Rewriting : public ::testing::Test {
 protected:
  SecretStore store_{{{"KEY", {"value", {"api.example.com", "*.trusted.org"}}}}};
  std::string placeholder_ = store_.entries()[0].placeholder;
  std::vector<std::pair<std::string, bool>> used_;

  RequestRewriter rewriter(std::string host) {
    return RequestRewriter(store_, std::move(host), [this](const std::string& name, bool allowed) {
      used_.emplace_back(name, allowed);
    });
  }
  std::string request(const std::string& host, const std::string& more = {}) const {
    return "GET / HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer " + placeholder_ +
           "\r\n" + more + "\r\n";
  }
};

TEST_F(Rewriting, puts_values_into_heads_for_their_hosts) {
  EXPECT_NE(rewriter("api.example.com").take(request("api.example.com")).find("Bearer value\r\n"),
            std::string::npos);
  EXPECT_NE(rewriter("a.trusted.org").take(request("A.trusted.org:443")).find("Bearer value\r\n"),
            std::string::npos);
  EXPECT_EQ(rewriter("evil.com").take(request("evil.com")), request("evil.com"));
  EXPECT_EQ(rewriter("evil.com").take(request("api.example.com")), request("api.example.com"));
  EXPECT_EQ(rewriter("api.example.com").take(request("evil.com")), request("evil.com"));
  EXPECT_EQ(rewriter("").take(request("api.example.com")), request("api.example.com"));
  EXPECT_EQ(used_.size(), 6U);
  EXPECT_TRUE(used_[0].second);
  EXPECT_FALSE(used_[2].second);
}

TEST(LongSecrets, make_no_head_much_longer) {
  const std::string value(4096, 'v');
  const SecretStore store({{"KEY", {value, {"api.example.com"}}}});
  const std::string& placeholder = store.entries()[0].placeholder;
  const auto sent = [&](std::size_t count, bool& is_used) {
    std::string head = "GET / HTTP/1.1\r\nHost: api.example.com\r\n";
    for (std::size_t i = 0; i < count; ++i) head += "A: " + placeholder + "\r\n";
    RequestRewriter rewriting(store, "api.example.com",
                              [&](const std::string&, bool allowed) { is_used = allowed; });
    return std::pair(rewriting.take(head + "\r\n"), head + "\r\n");
  };
  bool is_used = false;
  EXPECT_NE(sent(100, is_used).first.find(value), std::string::npos);
  EXPECT_TRUE(is_used);
  const auto [out, said] = sent(4000, is_used);
  EXPECT_EQ(out, said);
  EXPECT_FALSE(is_used);
}

TEST_F(Rewriting, does_every_request_of_a_connection_byte_by_byte) {
  const std::string body = "12345" + placeholder_;
  const std::string first =
      request("api.example.com", "Content-Length: " + std::to_string(body.size()) + "\r\n");
  const std::string chunked = request("api.example.com", "Transfer-Encoding: chunked\r\n");
  const std::string chunks = "5;x=y\r\nabc\r\n\r\n0\r\nTrailer: 1\r\n\r\n";
  const std::string all = first + body + chunked + chunks + request("api.example.com");
  RequestRewriter rewriting = rewriter("api.example.com");
  std::string out;
  for (const char c : all) out += rewriting.take(std::string(1, c));
  out += rewriting.finish();
  EXPECT_EQ(used_.size(), 3U);
  EXPECT_NE(out.find("\r\n\r\n12345" + placeholder_), std::string::npos);
  EXPECT_NE(out.find(chunks), std::string::npos);
  std::size_t values = 0;
  for (std::size_t at = out.find("Bearer value"); at != std::string::npos;
       at = out.find("Bearer value", at + 1))
    ++values;
  EXPECT_EQ(values, 3U);
}

TEST_F(Rewriting, reads_basic_credentials) {
  // "user:" and a placeholder, in base64, as a library writes them.
  SecretStore store({{"P", {"pw", {"h"}}}});
  RequestRewriter rewriting(store, "h", [](const std::string&, bool) {});
  EXPECT_EQ(rewriting.take("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic dTpw\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic dTpw\r\n\r\n");
}

TEST_F(Rewriting, leaves_what_is_no_http) {
  RequestRewriter rewriting = rewriter("api.example.com");
  const std::string binary("\x16\x03\x01 anything", 12);
  EXPECT_EQ(rewriting.take(binary), binary);
  EXPECT_EQ(rewriting.take(request("api.example.com")), request("api.example.com"));
  RequestRewriter upgraded = rewriter("api.example.com");
  (void)upgraded.take(request("api.example.com", "Upgrade: websocket\r\n"));
  EXPECT_EQ(upgraded.take(placeholder_), placeholder_);
  RequestRewriter short_one = rewriter("api.example.com");
  EXPECT_EQ(short_one.take("GE"), "");
  EXPECT_EQ(short_one.finish(), "GE");
}

TEST_F(Rewriting, keeps_values_back_where_another_host_could_be_meant) {
  const std::string secret = "X: " + placeholder_ + "\r\n";
  const std::string host = "Host: api.example.com\r\n";
  for (const std::string& head :
       {"GET / HTTP/1.1\r\n" + host + "Host: evil.com\r\n" + secret + "\r\n",
        "GET / HTTP/1.1\r\n" + host + host + secret + "\r\n",
        "GET http://evil.com/ HTTP/1.1\r\n" + host + secret + "\r\n",
        "GET http://api.example.com/ HTTP/1.1\r\n" + host + secret + "\r\n",
        "GET / HTTP/1.1\r\nHost: api.example.com\r\n .evil.com\r\n" + secret + "\r\n",
        "GET / HTTP/1.1\r\n" + host + "X: a\nHost: evil.com\r\n" + secret + "\r\n",
        "GET / HTTP/1.1\r\n" + host + "Host : evil.com\r\n" + secret + "\r\n",
        "CONNECT api.example.com:443 HTTP/1.1\r\n" + host + secret + "\r\n",
        "TRACE / HTTP/1.1\r\n" + host + secret + "\r\n"}) {
    EXPECT_EQ(rewriter("api.example.com").take(head), head);
  }
  for (const auto& [name, allowed] : used_) EXPECT_FALSE(allowed);
  EXPECT_EQ(used_.size(), 9U);
}

TEST_F(Rewriting, puts_no_value_in_after_a_body_whose_end_is_not_sure) {
  const std::string good = request("api.example.com");
  for (const char* fields :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n", "Transfer-Encoding: x, chunked\r\n",
        "Content-Length:\r\n 4\r\n", "Content-Length: +4\r\n"}) {
    const std::string all =
        "POST / HTTP/1.1\r\nHost: evil.com\r\n" + std::string(fields) + "\r\n0\r\n\r\n" + good;
    EXPECT_EQ(rewriter("api.example.com").take(all), all) << fields;
  }
  for (const char* chunks :
       {"0 \r\n\r\n", "1\r\nab\r\n0\r\n\r\n", "0\nx\r\n\r\n", "0\r\na\n\r\n\r\n"}) {
    const std::string all =
        "POST / HTTP/1.1\r\nHost: evil.com\r\nTransfer-Encoding: chunked\r\n\r\n" +
        std::string(chunks) + good;
    EXPECT_EQ(rewriter("api.example.com").take(all), all) << chunks;
  }
}

TEST(secret_store, scrubs_what_leaves) {
  const SecretStore store({{"KEY", {"the value", {"h"}}}});
  EXPECT_EQ(store.scrub("a the value b " + store.entries()[0].placeholder + " c"),
            "a [KEY] b [KEY] c");
}

TEST(secret_store, refuses_what_is_dangerous) {
  EXPECT_THROW(SecretStore({{"K", {"v", {}}}}), Error);
  EXPECT_THROW(SecretStore({{"K", {"v\r\nX: 1", {"h"}}}}), Error);
  for (const char* host : {"", "127.0.0.1", "10.*", "1.2.3.?", "::1", "[::1]", "10.0.0.0/8",
                           "2130706433", "api.example.com:443", "https://api.example.com"}) {
    EXPECT_THROW(SecretStore({{"K", {"v", {"good.com", host}}}}), Error) << host;
  }
  for (const char* host : {"localhost", "*", "*.example.com", "API.example.com.", "163.com"})
    EXPECT_NO_THROW(SecretStore({{"K", {"v", {host}}}})) << host;
  const SecretStore a({{"K", {"v", {"h"}}}});
  const SecretStore b({{"K", {"v", {"h"}}}});
  EXPECT_NE(a.entries()[0].placeholder, b.entries()[0].placeholder);
}

TEST(Scrubbing, finds_what_pieces_cut) {
  const auto store = std::make_shared<const SecretStore>(std::map<std::string, Secret>{
      {"KEY", {"sk-12345", {"a.com"}}}, {"LONG", {"sk-12345678", {"a.com"}}}});
  const std::string text = "a sk-12345 b sk-12345678, sk-1234 s sk- sk-sk-12345s" +
                           store->entries()[0].placeholder + ".sk";
  const std::string clean = "a [KEY] b [LONG], sk-1234 s sk- sk-[KEY]s[KEY].sk";
  EXPECT_EQ(store->scrub(text), clean);
  for (std::size_t size = 1; size < 12; ++size) {
    StreamScrubber scrubber(store);
    std::string got;
    for (std::size_t at = 0; at < text.size(); at += size)
      got += scrubber.take(std::string_view(text).substr(at, size));
    got += scrubber.finish();
    EXPECT_EQ(got, clean) << size;
  }
}

// A guest may print its placeholder as often as it likes.
TEST(Scrubbing, takes_time_in_proportion) {
  const SecretStore store({{"KEY", {"value", {"api.example.com"}}}});
  constexpr std::size_t times = 500'000;
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += store.entries()[0].placeholder;
  const std::size_t size = text.size();
  EXPECT_LT(store.scrub(std::move(text)).size(), size);
}

TEST(Scrubbing, holds_back_no_more_than_it_must) {
  const auto store = std::make_shared<const SecretStore>(
      std::map<std::string, Secret>{{"KEY", {"sk-12345", {"a.com"}}}});
  StreamScrubber scrubber(store);
  EXPECT_EQ(scrubber.take("prompt: "), "prompt: ");
  EXPECT_EQ(scrubber.take("files"), "file");
  EXPECT_EQ(scrubber.take("."), "s.");
  StreamScrubber terminal(store, StreamScrubber::Holding::longer);
  EXPECT_EQ(terminal.take("s"), "s");
  EXPECT_EQ(terminal.take("sk-12"), "");
  EXPECT_EQ(terminal.take("345 "), "[KEY] ");
}

}  // namespace
}  // namespace cloche::net
