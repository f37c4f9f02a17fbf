// SPDX-License-Identifier: Apache-2.0
// What a client sends by HTTP/2 after its preface, to an application that answers in every way there
// is; and what another process answers that is passed on.
//
// The first byte is the size of the pieces in which the rest comes; the path of a request says how
// it is answered. The rest is bytes as they are, or after an "R" records of which frames are made: no
// search finds the way into compressed heads.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>

#include "base/check.h"
#include "doors/http/answer_stream.h"
#include "doors/http/body_end.h"
#include "doors/http/body_source.h"
#include "doors/http/h2/client_testing.h"
#include "doors/http/web_socket.h"
#include "pieces.h"

namespace {

using namespace cloche::http;
using ExchangePtr = std::shared_ptr<Exchange>;

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Zeros final : public PieceSource {
 public:
  explicit Zeros(std::uint64_t bytes) : PieceSource(0, bytes) {}

 private:
  std::optional<std::string> read(std::uint64_t offset, std::size_t size_bytes) override {
    if (offset > 600'000) return std::nullopt;
    return std::string(size_bytes, '\0');
  }
};

// One number of a frame, the highest byte first.
std::string number(std::size_t value, int bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}

// Lines NAME:VALUE as fields that no table has (RFC 7541, 6.2.2).
std::string head_of(std::string_view lines) {
  constexpr std::size_t most = 126;  // the longest text whose length takes one byte
  std::string head;
  while (!lines.empty()) {
    const std::string_view line = cloche::fuzz::next_piece(lines);
    const std::size_t colon = std::min(line.find(':', 1), line.size());
    const std::string_view name = line.substr(0, std::min(colon, most));
    const std::string_view value = line.substr(std::min(colon + 1, line.size())).substr(0, most);
    head += number(name.size(), 2);
    head.append(name) += static_cast<char>(value.size());
    head.append(value);
  }
  return head;
}

// What a client sends, and what another process answers by which it is passed on.
struct Talk {
  std::string bytes;
  std::string answer;
};

// Of records, each KIND, STREAM and two bytes of SIZE before its bytes.
Talk talk_of(std::string_view records) {
  enum Kind : std::uint8_t {
    headers = 1,
    answer = 7,
    raw = 8,
    kinds = 9
  };  // those of frames, and two
  constexpr std::size_t head_bytes = 4;
  constexpr std::size_t end_stream = 1, end_headers = 4;
  Talk talk;
  while (records.size() >= head_bytes) {
    const std::uint8_t kind = static_cast<std::uint8_t>(records[0]) % kinds;
    const std::uint8_t stream = static_cast<std::uint8_t>(records[1]);
    const std::size_t size = static_cast<std::uint8_t>(records[2]) +
                             std::size_t{256} * static_cast<std::uint8_t>(records[3]);
    const bool ends = stream >= 0x80;
    const std::string_view bytes = records.substr(head_bytes, size);
    records.remove_prefix(std::min(head_bytes + size, records.size()));
    if (kind == answer) {
      talk.answer = bytes;
      continue;
    }
    if (kind == raw) {
      talk.bytes += bytes;
      continue;
    }
    const std::string payload = kind == headers ? head_of(bytes) : std::string(bytes);
    std::size_t flags = ends ? end_stream : 0;
    if (kind == headers) flags |= end_headers;
    talk.bytes += number(payload.size(), 3) + number(kind, 1) + number(flags, 1) +
                  number(stream & 0x7fU, 4) + payload;
  }
  return talk;
}

struct Application {
  explicit Application(std::string_view answer) : answer_(answer) {}

  void answer(Request request, ExchangePtr exchange) {
    if (request.path.starts_with("/s")) {
      streams_.push_back(exchange->begin(text_response(200, {}), {}));
      streams_.back()->write(std::string(request.target.size() * 1000, 's'));
    } else if (request.path.starts_with("/b")) {
      Response response = text_response(200, {});
      response.source = std::make_shared<Zeros>(request.path.size() * 200'000);
      exchange->send(std::move(response));
    } else if (request.path.starts_with("/r")) {
      relay(*exchange);
    } else if (request.path.starts_with("/t")) {
      exchange->open_tunnel({}, [](int fd) { ::close(fd); });
    } else if (request.path.starts_with("/h")) {
      exchange->hand_over([](int fd) { ::close(fd); });
    } else if (request.path.starts_with("/l")) {
      exchange->send_blanks_until_answer(std::chrono::milliseconds(1));
      kept_.push_back(std::move(exchange));
    } else if (request.path.starts_with("/k")) {
      kept_.push_back(std::move(exchange));
    } else if (!request.path.starts_with("/n")) {
      exchange->send(text_response(200, request.body));
    }
  }

  void relay(Exchange& exchange) const {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    const cloche::UniqueFd theirs(ends[1]);
    (void)::send(theirs.get(), answer_.data(), std::min<std::size_t>(answer_.size(), 60'000),
                 MSG_DONTWAIT | MSG_NOSIGNAL);
    exchange.relay_to(cloche::UniqueFd(ends[0]));
  }

  void give_up() {
    kept_.clear();
    streams_.clear();
  }

  // What was put off, some of it.
  void go_on() {
    if (!kept_.empty()) {
      kept_.front()->send(text_response(203, std::string(20'000, 'k')));
      kept_.pop_front();
    }
    if (streams_.empty()) return;
    streams_.front()->write("more");
    if (streams_.size() % 2 == 0) streams_.front()->end();
    streams_.pop_front();
  }

 private:
  const std::string_view answer_;
  std::deque<ExchangePtr> kept_;
  std::deque<std::shared_ptr<AnswerStream>> streams_;
};

void serve(std::string_view input, std::string_view answer, std::size_t piece) {
  HostInMemory host(16);
  Application application(answer);
  host.its_options.head_limit_bytes = 4000;
  host.on_admit = [](const Request& head) {
    Admission admission{.body_limit_bytes = 50'000, .owner = head.path};
    admission.only_http1 = head.path.starts_with("/1");
    return admission;
  };
  host.on_handle = [&](Request request, ExchangePtr exchange) {
    application.answer(std::move(request), std::move(exchange));
  };
  ServedInMemory served(host);
  served.bytes().give(preface);
  served.bytes().give(std::string("\0\0\0\4\0\0\0\0\0", 9));
  for (std::size_t at = 0; at < input.size(); at += piece) {
    served.bytes().give(input.substr(at, piece));
    served.run();
    if (at / piece % 4 == 3) application.go_on();
    if (at / piece % 64 == 32) served.bytes().hold_writes();
    if (at / piece % 64 == 40) served.bytes().release_writes();
  }
  if (piece % 16 == 1) application.give_up();  // others hear that their client has gone
  served.bytes().end();
  served.run();
  application.give_up();
  served.run();
}

// A body ends at the same byte, in one piece and in many.
void find_end(std::string_view input, std::size_t piece) {
  for (BodyEnd whole : {BodyEnd::of_chunks(), BodyEnd::after(input.size() / 2)}) {
    BodyEnd pieces = whole;
    std::size_t taken = 0;
    for (std::size_t at = 0; at < input.size() && !pieces.is_done() && !pieces.is_broken();
         at += piece)
      taken += pieces.take(input.substr(at, piece));
    CLOCHE_CHECK(whole.take(input) == taken);
    CLOCHE_CHECK(whole.is_done() == pieces.is_done() && whole.is_broken() == pieces.is_broken());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = std::size_t{data[0]} * 8 + 1;
  if (input.starts_with('R')) {
    const Talk talk = talk_of(input.substr(1));
    serve(talk.bytes, talk.answer, piece);
  } else {
    serve(input, input, piece);
  }
  find_end(input, piece);
  return 0;
}
