// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "doors/http/h2/stream.h"

namespace cloche::http {
namespace {

constexpr std::size_t read_bytes = 16 << 10;
constexpr std::size_t enough_bytes = 64 << 10;  // for one write
// While so many frames wait for a client that reads nothing, nothing more is read from it.
constexpr std::size_t waiting_frames_max = 300;
// A stream that ended before its work did still counts as work.
constexpr std::size_t alive_max = 2 * std::size_t{H2Session::streams_max};
// How long a connected client may take to send its request once the server drains.
constexpr std::chrono::seconds last_call{2};
constexpr std::chrono::seconds linger_time{2};

}  // namespace

H2Connection::H2Connection(std::shared_ptr<Connection> counted, Host& host, Loop& loop,
                           std::unique_ptr<ByteStream> bytes, std::string peer)
    : counted_(std::move(counted)),
      host_(host),
      loop_(loop),
      bytes_(std::move(bytes)),
      peer_(std::move(peer)),
      session_(*this, host.options().head_limit_bytes),
      in_(read_bytes) {}

H2Connection::~H2Connection() = default;

void H2Connection::start() {
  idle_due_ = Clock::now() + (host_.draining() ? last_call : host_.options().first_byte_timeout);
  last_ = host_.draining();
  expect(idle_due_);
  flush();
  read();
}

void H2Connection::end_soon() {
  last_ = true;
  if (has_asked_) {
    go_away();
    return flush();
  }
  // Its only request may be on its way.
  idle_due_ = std::min(idle_due_, Clock::now() + last_call);
  expect(idle_due_);
}

void H2Connection::end_now() { close(); }

void H2Connection::go_away() {
  if (std::exchange(leaving_, true)) return;
  session_.go_away();
}

void H2Connection::leave_if_asked() {
  if (last_ || host_.draining() || host_.closes_after_answers()) go_away();
}

// --- in -------------------------------------------------------------------------------------------

void H2Connection::read() {
  if (reading_ || closed_ || broken_ || finished_) return;
  if (writing_ && session_.waiting_frames() > waiting_frames_max) return;
  reading_ = true;
  bytes_->read_some(
      boost::asio::buffer(in_),
      [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
        self->reading_ = false;
        if (error) return self->close();
        if (self->finished_) return self->linger();
        self->take(bytes);
      });
}

void H2Connection::take(std::size_t bytes) {
  if (closed_) return;
  if (!std::exchange(heard_, true)) {
    idle_due_ = Clock::now() + host_.options().head_timeout;
    expect(idle_due_);
  }
  broken_ = !session_.receive({in_.data(), bytes});
  flush_soon();
  read();
}

void H2Connection::head_began(std::int32_t id) {
  head_stream_ = id;
  head_due_ = Clock::now() + host_.options().head_timeout;
  expect(head_due_);
}

void H2Connection::trailer_came() { head_due_ = Clock::time_point::max(); }

void H2Connection::head_came(std::int32_t id, H2Head head, Ends ends) {
  head_due_ = idle_due_ = Clock::time_point::max();
  has_asked_ = true;
  auto permit = host_.stream_limit().acquire(counted_->peer_name());
  if (!permit || *alive_ >= alive_max) return session_.reset(id, NGHTTP2_REFUSED_STREAM);
  const auto stream =
      std::make_shared<H2Stream>(shared_from_this(), id, *std::move(permit), alive_);
  streams_.emplace(id, stream);
  changed();
  stream->admit(std::move(head), ends);
  if (last_) go_away();
}

void H2Connection::body_came(std::int32_t id, std::string_view bytes) {
  if (const auto found = streams_.find(id); found != streams_.end())
    found->second->take_body(bytes);
}

void H2Connection::request_ended(std::int32_t id) {
  if (const auto found = streams_.find(id); found != streams_.end()) found->second->end_request();
}

void H2Connection::stream_closed(std::int32_t id, std::uint32_t error) {
  if (id == head_stream_) head_due_ = Clock::time_point::max();  // it was malformed
  const auto found = streams_.find(id);
  if (found == streams_.end()) return changed();
  const std::shared_ptr<H2Stream> stream = std::move(found->second);
  streams_.erase(found);
  stream->close(error);
  changed();
}

void H2Connection::changed() {
  if (closed_) return;
  if (streams_.empty()) {
    idle_due_ = Clock::now() + host_.options().idle_timeout;
    expect(idle_due_);
    return counted_->stand(Standing::Stage::idle);
  }
  const bool answers =
      std::ranges::any_of(streams_, [](const auto& each) { return each.second->is_answering(); });
  counted_->stand(answers ? Standing::Stage::answering : Standing::Stage::receiving);
}

// --- out ------------------------------------------------------------------------------------------

void H2Connection::flush_soon() {
  if (writing_ || std::exchange(flush_posted_, true)) return;
  boost::asio::post(executor(), [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

std::optional<H2User::Piece> H2Connection::take_piece(std::int32_t id, std::uint8_t* to,
                                                      std::size_t size) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return std::nullopt;
  return found->second->take_piece(to, size);
}

void H2Connection::flush() {
  if (writing_ || closed_ || finished_) return;
  out_.clear();
  if (!session_.output(out_, enough_bytes)) return close();
  for (const auto& stream : std::exchange(moved_, {})) stream->tell_sent();
  if (out_.empty()) {
    if (out_.capacity() > enough_bytes) out_ = {};
    if (session_.is_over() || broken_) finish();
    return;
  }
  writing_ = true;
  write_due_ = Clock::now() + host_.options().stall_timeout;
  expect(write_due_);
  write_rest(0);
}

void H2Connection::write_rest(std::size_t written) {
  bytes_->write_some(
      boost::asio::buffer(out_) + written,
      [self = shared_from_this(), written](boost::system::error_code error, std::size_t bytes) {
        if (error) return self->close();
        self->write_due_ = Clock::now() + self->host_.options().stall_timeout;
        if (written + bytes < self->out_.size()) return self->write_rest(written + bytes);
        self->writing_ = false;
        self->write_due_ = Clock::time_point::max();
        self->flush();
        self->read();
      });
}

// Says that no more comes, and leaves the client some time to read it: what it still sends would
// otherwise reset the connection under the last answer.
void H2Connection::finish() {
  if (std::exchange(finished_, true)) return;
  bytes_->shut_down_send();
  idle_due_ = Clock::now() + linger_time;
  expect(idle_due_);
  if (!reading_) linger();
}

void H2Connection::linger() {
  if (closed_) return;
  bytes_->read_some(boost::asio::buffer(in_),
                    [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                      if (error) return self->close();
                      self->linger();
                    });
}

void H2Connection::close() {
  if (std::exchange(closed_, true)) return;
  bytes_->close();
  timer_.cancel();
  moved_.clear();
  for (const auto& [id, stream] : std::exchange(streams_, {})) stream->close(NGHTTP2_CANCEL);
}

// --- what is late ---------------------------------------------------------------------------------

void H2Connection::expect(Clock::time_point time) {
  if (time < armed_ && !closed_) arm(time);
}

void H2Connection::arm(Clock::time_point time) {
  armed_ = time;
  timer_.expires_at(time);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->look();
  });
}

void H2Connection::look() {
  if (closed_) return;
  armed_ = Clock::time_point::max();
  const auto now = Clock::now();
  if (std::min(write_due_, head_due_) <= now || (finished_ && idle_due_ <= now)) return close();
  if (idle_due_ <= now) {
    // Who was told to go and has still asked for nothing reads too slowly to hear it.
    if (!heard_ || leaving_) return close();
    idle_due_ = now + host_.options().stall_timeout;
    go_away();
    flush();
  }
  std::vector<std::shared_ptr<H2Stream>> late;
  auto next = std::min({write_due_, head_due_, idle_due_});
  for (const auto& [id, stream] : streams_) {
    if (stream->due() <= now) {
      late.push_back(stream);
    } else {
      next = std::min(next, stream->due());
    }
  }
  for (const auto& stream : late) stream->late();
  if (next != Clock::time_point::max()) expect(next);
}

}  // namespace cloche::http
