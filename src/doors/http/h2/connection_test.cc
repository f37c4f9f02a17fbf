// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <stdexcept>

#include "base/write_fully.h"
#include "doors/http/h2/client_testing.h"
#include "doors/http/web_socket.h"

namespace cloche::http {
namespace {

using ExchangePtr = std::shared_ptr<Exchange>;

Fields head(std::string method, std::string path, Fields more = {}) {
  Fields fields{{":method", std::move(method)},
                {":scheme", "https"},
                {":authority", "box.test"},
                {":path", std::move(path)}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

// Says the request back.
void echo(const Request& request, const ExchangePtr& exchange) {
  std::string text = request.method + " " + request.path + " " + request.query + "\n";
  for (const auto& [name, value] : request.fields) text += name + ": " + value + "\n";
  exchange->send(text_response(200, text + request.body));
}

struct H2ConnectionTest : testing::Test {
  H2ConnectionTest() { host.on_handle = echo; }
  HostInMemory host;
};

TEST_F(H2ConnectionTest, ARequestIsAnsweredAsByHttp1) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.ask(
      head("POST", "/a?b=c", {{"cookie", "x=1"}, {"x-own", "yes"}, {"cookie", "y=2"}}), "body");
  client.exchange();
  const auto& answer = client.answer(stream);
  EXPECT_EQ(answer.body, "POST /a b=c\nHost: box.test\ncookie: x=1; y=2\nx-own: yes\nbody");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.fields.at("server"), "cloche");
  EXPECT_EQ(answer.fields.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(answer.fields.at("content-length"), std::to_string(answer.body.size()));
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(served.counted().standing().stage, Standing::Stage::idle);
  EXPECT_EQ(host.stream_limit().held(), 0U);
}

TEST_F(H2ConnectionTest, ManyStreamsAtOnce) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  std::vector<ExchangePtr> waiting;
  host.on_handle = [&](Request, ExchangePtr exchange) { waiting.push_back(std::move(exchange)); };
  std::array<std::int32_t, 100> streams{};
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i] = client.get("/" + std::to_string(i));
  client.exchange();
  ASSERT_EQ(waiting.size(), 100U);
  EXPECT_EQ(served.counted().standing().stage, Standing::Stage::answering);
  for (auto each = waiting.rbegin(); each != waiting.rend(); ++each)
    (*each)->send(text_response(200, std::string(50'000, 'x')));
  waiting.clear();
  client.exchange();
  for (const auto stream : streams) EXPECT_EQ(client.answer(stream).body.size(), 50'000U);
}

TEST_F(H2ConnectionTest, StreamsBeyondThePlacesAreRefusedAndMayBeAskedAgain) {
  HostInMemory small(4);
  ServedInMemory served(small);
  ClientInMemory client(served);
  std::vector<ExchangePtr> waiting;
  small.on_handle = [&](Request, ExchangePtr exchange) { waiting.push_back(std::move(exchange)); };
  std::array<std::int32_t, 4> streams{};
  for (std::int32_t& stream : streams) stream = client.get("/");
  client.exchange();
  EXPECT_EQ(waiting.size(), 3U);
  EXPECT_EQ(client.answer(streams[3]).error, NGHTTP2_REFUSED_STREAM);
  waiting.clear();  // 500 each
  client.exchange();
  EXPECT_EQ(client.answer(streams[0]).status, 500);
  small.on_handle = echo;
  const auto again = client.get("/");
  client.exchange();
  EXPECT_EQ(client.answer(again).status, 200);
}

TEST_F(H2ConnectionTest, AStreamThatIsTakenBackEndsItsAnswer) {
  std::shared_ptr<AnswerStream> answer;
  int changes = 0;
  host.on_handle = [&](const Request&, const ExchangePtr& exchange) {
    answer = exchange->begin(text_response(200, {}), {.changed = [&] { ++changes; }, .pulse = {}});
    answer->write("first");
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.get("/");
  client.exchange();
  EXPECT_EQ(client.answer(stream).body, "first");
  EXPECT_FALSE(client.answer(stream).ended);
  EXPECT_FALSE(answer->gone());
  const int before = changes;
  client.cancel(stream);
  client.exchange();
  EXPECT_TRUE(answer->gone());
  EXPECT_GT(changes, before);
  EXPECT_EQ(host.stream_limit().held(), 1U);  // it is still worked for
  answer.reset();
  client.exchange();
  EXPECT_EQ(host.stream_limit().held(), 0U);
}

TEST_F(H2ConnectionTest, AnAnswerThatBreaksOffEndsItsStreamAlone) {
  host.on_handle = [&](const Request& request, const ExchangePtr& exchange) {
    if (request.path == "/whole") return echo(request, exchange);
    exchange->begin(text_response(200, {}), {})->write("some");
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto broken = client.get("/");
  const auto whole = client.get("/whole");
  client.exchange();
  EXPECT_EQ(client.answer(broken).error, NGHTTP2_INTERNAL_ERROR);
  EXPECT_EQ(client.answer(whole).error, NGHTTP2_NO_ERROR);
}

TEST_F(H2ConnectionTest, WhatAClientDoesNotReadIsCountedForItsOwner) {
  host.on_admit = [](const Request&) { return Admission{.owner = "ann"}; };
  host.on_handle = [](const Request&, const ExchangePtr& exchange) {
    exchange->send(text_response(200, std::string(500'000, 'x')));
  };
  ServedInMemory served(host);
  ClientInMemory client(served, 1000);
  const auto stream = client.get("/");
  client.exchange();
  EXPECT_EQ(client.answer(stream).body.size(), 1000U);
  EXPECT_EQ(host.unsent["ann"], 500'000U);
  nghttp2_session_set_local_window_size(client.session(), NGHTTP2_FLAG_NONE, 0, 1 << 30);
  client.read_on(stream, 1 << 20);
  client.exchange();
  EXPECT_EQ(client.answer(stream).body.size(), 500'000U);
  EXPECT_TRUE(host.unsent.empty());
}

TEST_F(H2ConnectionTest, AStreamThatIsNotReadEndsAtItsTime) {
  host.its_options.stall_timeout = std::chrono::seconds(1);
  host.on_handle = [](const Request& request, const ExchangePtr& exchange) {
    if (request.path == "/") return exchange->send(text_response(200, std::string(99'999, 'x')));
    echo(request, exchange);
  };
  ServedInMemory served(host);
  ClientInMemory client(served, 1000);
  const auto stream = client.get("/");
  client.exchange();
  served.run_until([&] { return host.stream_limit().held() == 0; });
  client.exchange();
  EXPECT_EQ(client.answer(stream).error, NGHTTP2_CANCEL);
  const auto other = client.get("/small");
  client.exchange();
  EXPECT_TRUE(client.answer(other).ended);
}

TEST_F(H2ConnectionTest, ABodyThatDoesNotComeEndsItsStreamAtItsTime) {
  host.its_options.stall_timeout = std::chrono::seconds(1);
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.ask(head("POST", "/"), std::nullopt);
  client.exchange();
  served.run_until([&] { return host.stream_limit().held() == 0; });
  client.exchange();
  EXPECT_EQ(client.answer(stream).error, NGHTTP2_CANCEL);
}

TEST_F(H2ConnectionTest, AClientThatReadsNothingLosesItsConnection) {
  host.its_options.stall_timeout = std::chrono::seconds(1);
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  served.bytes().hold_writes();
  client.get("/");
  client.exchange();
  served.run_until([&] { return served.bytes().is_closed(); });
}

TEST_F(H2ConnectionTest, AHeadThatDoesNotEndLosesTheConnection) {
  host.its_options.head_timeout = std::chrono::seconds(1);
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  client.send_frame(NGHTTP2_HEADERS, 0, 1, "\x82");
  client.exchange();
  served.run_until([&] { return served.bytes().is_closed(); });
}

TEST_F(H2ConnectionTest, AMalformedHeadLosesItsStreamAlone) {
  host.its_options.head_timeout = std::chrono::seconds(1);
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto bad = client.ask({{":method", "GET"}, {"connection", "close"}});
  client.exchange();
  EXPECT_EQ(client.answer(bad).error, NGHTTP2_PROTOCOL_ERROR);
  const auto good = client.get("/");
  client.exchange();
  EXPECT_EQ(client.answer(good).status, 200);
}

TEST_F(H2ConnectionTest, HeadsAndBodiesAreBounded) {
  host.its_options.head_limit_bytes = 2000;
  host.on_admit = [](const Request&) { return Admission{.body_limit_bytes = 10}; };
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  const auto large = client.ask(head("GET", "/", {{"x", std::string(2000, 'x')}}));
  const auto said = client.ask(head("POST", "/", {{"content-length", "11"}}), std::nullopt);
  const auto huge =
      client.ask(head("POST", "/", {{"content-length", "9223372036854775807"}}), std::nullopt);
  const auto sent = client.ask(head("POST", "/"), std::string(11, 'x'));
  const auto fits = client.ask(head("POST", "/"), std::string(10, 'x'));
  client.exchange();
  EXPECT_EQ(client.answer(large).status, 431);
  EXPECT_EQ(client.answer(said).status, 413);
  EXPECT_EQ(client.answer(said).error, NGHTTP2_NO_ERROR);
  EXPECT_EQ(client.answer(huge).status, 413);
  EXPECT_EQ(client.answer(sent).status, 413);
  EXPECT_EQ(client.answer(fits).status, 200);
}

TEST_F(H2ConnectionTest, BodiesThatWaitTakeNoMoreThanTheirOwnersPart) {
  host.on_admit = [](const Request&) { return Admission{.body_limit_bytes = 100 << 20}; };
  ServedInMemory served(host);
  ClientInMemory client(served, 16 << 20);
  client.exchange();
  const auto waits = client.ask(head("POST", "/"), std::nullopt);
  client.more(waits, std::string(3 << 20, 'x'));
  client.exchange();
  const auto refused = client.ask(head("POST", "/"), std::string(2 << 20, 'x'));
  client.exchange();
  EXPECT_EQ(client.answer(refused).status, 503);
  EXPECT_EQ(client.answer(refused).fields["retry-after"], "1");
  client.end(waits);
  client.exchange();
  EXPECT_EQ(client.answer(waits).status, 200);
  const auto larger = client.ask(head("POST", "/"), std::string((4 << 20) + 1, 'x'));
  client.exchange();
  EXPECT_EQ(client.answer(larger).status, 413);
  EXPECT_EQ(host.received()->bytes(), 0U);
}

TEST_F(H2ConnectionTest, AHeadWithoutAnEndIsNoMistake) {
  host.its_options.head_limit_bytes = 1000;
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  // A field that the decoder keeps, and then that one again and again.
  std::string fields = "\x82\x87\x84\x40\x01x\x7f\x81\x04" + std::string(256, 'y');
  fields.append(2000, '\xbe');
  client.send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, fields);
  client.exchange();
  EXPECT_EQ(client.goodbye(), NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(H2ConnectionTest, FramesThatAskForNothingEndTheConnection) {
  const std::string eight(8, 'x');
  const std::array<std::pair<std::uint8_t, std::string>, 4> floods{
      {{NGHTTP2_PING, eight},
       {NGHTTP2_SETTINGS, ""},
       {NGHTTP2_PRIORITY, std::string("\0\0\0\0\1", 5)},
       {NGHTTP2_WINDOW_UPDATE, std::string("\0\0\0\1", 4)}}};
  for (const auto& [type, payload] : floods) {
    ServedInMemory served(host);
    ClientInMemory client(served);
    client.exchange();
    const bool is_of_stream = type == NGHTTP2_PRIORITY;
    for (int i = 0; i < 5000; ++i) client.send_frame(type, 0, is_of_stream ? 3 : 0, payload);
    client.exchange();
    EXPECT_EQ(client.goodbye(), NGHTTP2_ENHANCE_YOUR_CALM) << int{type};
  }
}

TEST_F(H2ConnectionTest, EmptyDataEndsTheConnection) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.ask(head("POST", "/"), std::nullopt);
  client.exchange();
  for (int i = 0; i < 5000; ++i) client.send_frame(NGHTTP2_DATA, 0, stream, "");
  client.exchange();
  EXPECT_EQ(client.goodbye(), NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(H2ConnectionTest, ContinuationsAreBounded) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  client.send_frame(NGHTTP2_HEADERS, 0, 1, "\x82\x87\x84");
  for (int i = 0; i < 100; ++i) client.send_frame(NGHTTP2_CONTINUATION, 0, 1, "");
  client.exchange();
  served.run_until([&] { return served.bytes().is_closed() || client.goodbye(); });
}

TEST_F(H2ConnectionTest, RequestsThatAreTakenBackAtOnceEndTheConnection) {
  int handled = 0;
  host.on_handle = [&](const Request& request, const ExchangePtr& exchange) {
    ++handled;
    echo(request, exchange);
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  for (std::int32_t stream = 1; stream < 10'000; stream += 2) {
    client.send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, stream,
                      "\x82\x87\x84\x41\x01x");
    client.send_frame(NGHTTP2_RST_STREAM, 0, stream, std::string("\0\0\0\x8", 4));
  }
  client.exchange();
  EXPECT_TRUE(client.goodbye());
  EXPECT_LT(handled, 50);  // whose head and end came in two reads
  EXPECT_EQ(host.stream_limit().held(), 0U);
}

TEST_F(H2ConnectionTest, WorkForRequestsThatWereTakenBackIsBounded) {
  std::vector<ExchangePtr> working;
  host.on_handle = [&](Request, ExchangePtr exchange) { working.push_back(std::move(exchange)); };
  ServedInMemory served(host);
  ClientInMemory client(served);
  for (int i = 0; i < 300; ++i) {
    const auto stream = client.get("/");
    client.exchange();
    client.cancel(stream);
    client.exchange();
  }
  EXPECT_EQ(working.size(), 200U);
  working.clear();
}

TEST_F(H2ConnectionTest, AFullBacklogOfFramesIsNotReadOn) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  served.bytes().hold_writes();
  for (int i = 0; i < 3000; ++i) client.send_frame(NGHTTP2_PING, 0, 0, std::string(8, 'x'));
  client.exchange();
  EXPECT_FALSE(client.goodbye());
  served.bytes().release_writes();
  client.exchange();
  EXPECT_FALSE(client.goodbye());
  const auto stream = client.get("/");
  client.exchange();
  EXPECT_EQ(client.answer(stream).status, 200);
}

TEST_F(H2ConnectionTest, WhatIsNoHttp2Ends) {
  ServedInMemory served(host);
  served.bytes().give("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  served.run_until([&] { return served.bytes().is_closed(); });
}

TEST_F(H2ConnectionTest, ASilentClientEnds) {
  host.its_options.first_byte_timeout = std::chrono::seconds(1);
  ServedInMemory served(host);
  served.run_until([&] { return served.bytes().is_closed(); });
}

TEST_F(H2ConnectionTest, OneThatPingsAndHardlyReadsEndsAsAnIdleOneDoes) {
  host.its_options.head_timeout = host.its_options.stall_timeout = std::chrono::seconds(1);
  ServedInMemory served(host);
  ClientInMemory client(served);
  client.exchange();
  boost::asio::steady_timer tick(served.bytes().executor());
  int ticks = 0;
  // There is always an answer on its way, and each is read in time.
  std::function<void()> drip = [&] {
    ++ticks;
    client.send_frame(NGHTTP2_PING, 0, 0, "12345678");
    served.bytes().release_writes();
    served.bytes().hold_writes();
    tick.expires_after(std::chrono::milliseconds(100));
    tick.async_wait([&](boost::system::error_code error) {
      if (!error) drip();
    });
  };
  drip();
  served.run_until([&] { return served.bytes().is_closed() || ticks == 100; });
  EXPECT_TRUE(served.bytes().is_closed());
}

TEST_F(H2ConnectionTest, AnIdleClientIsToldGoodbye) {
  host.its_options.idle_timeout = std::chrono::seconds(1);
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.get("/");
  client.exchange();
  EXPECT_TRUE(client.answer(stream).ended);
  served.run_until([&] { return served.bytes().is_closed(); });
  client.exchange();
  EXPECT_EQ(client.goodbye(), NGHTTP2_NO_ERROR);
}

TEST_F(H2ConnectionTest, AtItsEndWhatIsInProgressIsAnswered) {
  ExchangePtr waiting;
  host.on_handle = [&](Request, ExchangePtr exchange) { waiting = std::move(exchange); };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.get("/");
  client.exchange();
  served.connection().end_soon();
  client.exchange();
  EXPECT_EQ(client.goodbye(), NGHTTP2_NO_ERROR);
  EXPECT_FALSE(served.bytes().is_closed());
  waiting->send(text_response(200, "late"));
  waiting.reset();
  client.exchange();
  EXPECT_EQ(client.answer(stream).body, "late");
  served.bytes().end();
  served.run();
  EXPECT_TRUE(served.bytes().is_closed());
}

TEST_F(H2ConnectionTest, WhatHttp2HasNotIsSaid) {
  host.on_admit = [](const Request& request) {
    return Admission{.only_http1 = request.path == "/inside"};
  };
  host.on_handle = [](const Request& request, const ExchangePtr& exchange) {
    if (request.path == "/tunnel") return exchange->open_tunnel({}, [](int) { FAIL(); });
    exchange->hand_over([](int) { FAIL(); });
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto connect = client.ask({{":method", "CONNECT"}, {":authority", "box.test:1"}});
  const auto inside = client.get("/inside");
  const auto tunnel = client.get("/tunnel");
  const auto over = client.get("/over");
  client.exchange();
  EXPECT_EQ(client.answer(connect).status, 501);
  EXPECT_EQ(client.answer(inside).error, NGHTTP2_HTTP_1_1_REQUIRED);
  EXPECT_EQ(client.answer(tunnel).status, 501);
  EXPECT_EQ(client.answer(over).error, NGHTTP2_HTTP_1_1_REQUIRED);
}

TEST_F(H2ConnectionTest, TwoNamesOfTheServerAreNone) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto two = client.ask(head("GET", "/", {{"host", "other.test"}}));
  const auto same = client.ask(head("GET", "/", {{"host", "Box.test"}}));
  const auto one =
      client.ask({{":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {"host", "box.test"}});
  client.exchange();
  EXPECT_EQ(client.answer(two).status, 400);
  EXPECT_EQ(client.answer(same).status, 200);
  EXPECT_EQ(client.answer(one).status, 200);
}

// Whatever its application does not expect.
TEST_F(H2ConnectionTest, OneThatFailsIsAnsweredAndTheNextOneToo) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  host.on_handle = [](const Request& request, const ExchangePtr& exchange) {
    if (request.path == "/fails") throw std::runtime_error("nobody has expected that");
    exchange->send(text_response(200, "well"));
  };
  const auto one = client.get("/fails");
  client.exchange();
  EXPECT_EQ(client.answer(one).status, 500);
  const auto other = client.get("/other");
  client.exchange();
  EXPECT_EQ(client.answer(other).status, 200);
}

TEST_F(H2ConnectionTest, ATargetIsAPathWhateverTheScheme) {
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto asked = [&](std::string method, std::string path) {
    return client.ask({{":method", std::move(method)},
                       {":scheme", "x"},
                       {":authority", "box.test"},
                       {":path", std::move(path)}});
  };
  const auto path = asked("GET", "/a");
  const auto all = asked("OPTIONS", "*");
  const auto absolute = asked("GET", "http://box.test/a");
  const auto name = asked("GET", "a");
  client.exchange();
  EXPECT_EQ(client.answer(path).status, 200);
  EXPECT_EQ(client.answer(all).status, 200);
  EXPECT_EQ(client.answer(absolute).status, 400);
  EXPECT_EQ(client.answer(name).status, 400);
}

TEST_F(H2ConnectionTest, AClientMayAskWhetherToGoOn) {
  host.on_admit = [](const Request& request) {
    Admission admission;
    if (request.path == "/no") admission.refusal = text_response(403, "no");
    return admission;
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto yes = client.ask(head("POST", "/", {{"expect", "100-continue"}}), std::nullopt);
  const auto no = client.ask(head("POST", "/no", {{"expect", "100-continue"}}), std::nullopt);
  client.exchange();
  EXPECT_EQ(client.answer(yes).status, 100);
  EXPECT_EQ(client.answer(no).status, 403);
  client.more(yes, "body");
  client.end(yes);
  client.exchange();
  EXPECT_EQ(client.answer(yes).status, 200);
}

TEST_F(H2ConnectionTest, FieldsThatCannotBeSaidAreLeftOut) {
  host.on_handle = [](const Request&, const ExchangePtr& exchange) {
    Response response = text_response(200, "all");
    for (const char* name : {"Upgrade", "Connection", "Transfer-Encoding", "bad name", ""})
      response.fields.emplace_back(name, "x");
    response.fields.emplace_back("X-Lines", "a\r\nb: c");
    response.fields.emplace_back("X-Good", "yes");
    exchange->send(std::move(response));
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.get("/");
  client.exchange();
  const auto& answer = client.answer(stream);
  EXPECT_EQ(answer.body, "all");
  EXPECT_EQ(answer.fields.at("x-good"), "yes");
  for (const char* name : {"upgrade", "connection", "transfer-encoding", "bad name", "", "x-lines"})
    EXPECT_EQ(answer.fields.count(name), 0U) << name;
}

TEST_F(H2ConnectionTest, AHeadHasNoBody) {
  host.on_handle = [](const Request& request, const ExchangePtr& exchange) {
    if (request.path == "/none") return exchange->send({204, {}, {}});
    exchange->send(text_response(200, "12345"));
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.ask(head("HEAD", "/"));
  const auto none = client.get("/none");
  client.exchange();
  EXPECT_EQ(client.answer(stream).fields.at("content-length"), "5");
  EXPECT_EQ(client.answer(stream).body, "");
  EXPECT_TRUE(client.answer(stream).ended);
  EXPECT_EQ(client.answer(none).fields.count("content-length"), 0U);
}

// --- another process's answer ---------------------------------------------------------------------

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};
Pair make_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::pair<int, std::string> relayed(HostInMemory& host, std::string_view answer) {
  Pair pair = make_pair();
  host.on_handle = [&](const Request&, const ExchangePtr& exchange) {
    exchange->relay_to(std::move(pair.ours));
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.get("/");
  EXPECT_EQ(::send(pair.theirs.get(), answer.data(), answer.size(), 0),
            static_cast<ssize_t>(answer.size()));
  pair.theirs = {};
  client.exchange();
  served.run_until([&] { return host.stream_limit().held() == 0; });
  client.exchange();
  const auto& got = client.answer(stream);
  EXPECT_EQ(got.fields.count("connection") + got.fields.count("transfer-encoding"), 0U);
  return {got.error.value_or(0) != 0 ? -1 : got.status, got.body};
}

TEST_F(H2ConnectionTest, AnAnswerOfHttp1IsPassedOn) {
  using Said = std::pair<int, std::string>;
  EXPECT_EQ(
      relayed(host, "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"),
      Said(201, "hello"));
  EXPECT_EQ(
      relayed(host,
              "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n0\r\n\r\n"),
      Said(200, "abc"));
  EXPECT_EQ(relayed(host, "HTTP/1.1 200 OK\r\n\r\nuntil the end"), Said(200, "until the end"));
  EXPECT_EQ(relayed(host, "HTTP/1.1 204 No Content\r\n\r\n"), Said(204, ""));
  EXPECT_EQ(relayed(host, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello").first, -1);
  EXPECT_EQ(relayed(host, "").first, 502);
  EXPECT_EQ(relayed(host, "nonsense").first, 502);
}

TEST_F(H2ConnectionTest, OfWhatTheHostCannotWatchThereIsNoAnswer) {
  host.on_handle = [](const Request&, const ExchangePtr& exchange) {
    exchange->relay_to(UniqueFd(::open("/", O_PATH | O_CLOEXEC)));
  };
  ServedInMemory served(host);
  ClientInMemory client(served);
  const auto stream = client.get("/");
  client.exchange();
  EXPECT_EQ(client.answer(stream).status, 502);
}

}  // namespace
}  // namespace cloche::http
