// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/relayed_answer.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <string_view>
#include <utility>

#include "doors/http/h2/stream.h"

namespace cloche::http {

namespace bhttp = boost::beast::http;

RelayedAnswer::RelayedAnswer(std::shared_ptr<H2Stream> stream, UniqueFd fd)
    : stream_(std::move(stream)), socket_(stream_->executor()) {
  Error error;
  socket_.assign(boost::asio::local::stream_protocol(), fd.get(), error);
  if (!error) (void)fd.release();
}

void RelayedAnswer::start() {
  if (!socket_.is_open()) return break_off();  // the host can watch no more of them
  expect_answer();
  read();
}

void RelayedAnswer::expect_answer() {
  parser_.emplace();
  parser_->header_limit(head_limit_bytes);
  parser_->body_limit(boost::none);
  parser_->skip(stream_->is_for_head());
}

void RelayedAnswer::go_on() {
  // Not from within: the session is asked for bytes now.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->take(); });
}

void RelayedAnswer::close() {
  stream_.reset();
  Error ignored;
  socket_.close(ignored);
}

void RelayedAnswer::read() {
  if (std::exchange(reading_, true)) return;
  socket_.async_read_some(
      buffer_.prepare(std::min(piece_bytes, buffer_.max_size() - buffer_.size())),
      [self = shared_from_this()](Error error, std::size_t bytes) {
        self->reading_ = false;
        self->buffer_.commit(bytes);
        if (error) self->at_end_ = true;
        self->take();
      });
}

// Passes on what is there, as far as the client reads.
void RelayedAnswer::take() {
  while (stream_ && stream_->unsent_bytes() < ahead_bytes) {
    if (!(parser_->is_header_done() ? take_body() : take_head())) return;
  }
}

// These two are false where there is nothing more to do now.
bool RelayedAnswer::take_head() {
  Error error;
  buffer_.consume(parser_->put(buffer_.data(), error));
  if (error && error != bhttp::error::need_more) return break_off(), false;
  if (!parser_->is_header_done()) {
    if (at_end_ || buffer_.size() == buffer_.max_size()) return break_off(), false;
    return read(), false;
  }
  const auto& head = parser_->get();
  if (head.result_int() / 100 == 1) return expect_answer(), true;
  Fields fields;
  for (const auto& field : head) {
    const auto name = field.name_string();
    const auto value = field.value();
    fields.emplace_back(std::string(name.data(), name.size()),
                        std::string(value.data(), value.size()));
  }
  has_begun_ = true;
  stream_->begin_relayed(static_cast<int>(head.result_int()), fields);
  return true;
}

bool RelayedAnswer::take_body() {
  if (parser_->is_done()) return end(), false;
  auto& body = parser_->get().body();
  body.data = piece_.data();
  body.size = piece_.size();
  body.more = true;
  Error error;
  const bool was_at_end = at_end_ && buffer_.size() == 0;
  if (was_at_end) {
    parser_->put_eof(error);
    if (error || !parser_->is_done()) return break_off(), false;
    return end(), false;
  }
  const std::size_t before = buffer_.size();
  buffer_.consume(parser_->put(buffer_.data(), error));
  if (error && error != bhttp::error::need_more && error != bhttp::error::need_buffer)
    return break_off(), false;
  const std::size_t made = piece_.size() - body.size;
  if (made > 0) stream_->add_relayed({piece_.data(), made});
  if (parser_->is_done()) return end(), false;
  if (made > 0 || buffer_.size() < before) return true;
  if (at_end_) return break_off(), false;
  return read(), false;
}

void RelayedAnswer::end() {
  const auto stream = stream_;
  close();
  stream->end_relayed();
}

void RelayedAnswer::break_off() {
  const auto stream = stream_;
  close();
  stream->break_relayed();
}

}  // namespace cloche::http
