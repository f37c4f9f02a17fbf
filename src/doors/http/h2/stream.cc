// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/stream.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "doors/http/answer.h"
#include "doors/http/date.h"
#include "doors/http/framing.h"
#include "doors/http/h2/relayed_answer.h"
#include "doors/http/received_bytes.h"

namespace cloche::http {
namespace {

constexpr std::size_t untimed_max_bytes = 1 << 20;
constexpr std::size_t uncounted_max_bytes = 16 << 10;  // of an answer

}  // namespace

H2Stream::H2Stream(std::shared_ptr<H2Connection> connection, std::int32_t id,
                   ShareLimit::Permit permit, H2StreamCount alive)
    : connection_(std::move(connection)),
      id_(id),
      permit_(std::move(permit)),
      alive_(std::move(alive)) {
  ++*alive_;
  stand(stage_);
}

H2Stream::~H2Stream() {
  --*alive_;
  if (counted_) host().sent(this);
}

void H2Stream::end_now() {
  post_to(shared_from_this(), [](H2Stream& stream) { stream.reset(NGHTTP2_ENHANCE_YOUR_CALM); });
}

void H2Stream::late() {
  due_never();
  reset(NGHTTP2_CANCEL);
}

void H2Stream::enter(Standing::Stage stage) {
  stage_ = stage;
  stand(stage);
  connection_->changed();
}

void H2Stream::due_after(std::chrono::milliseconds time) {
  untimed_bytes_ = 0;
  due_ = Clock::now() + time;
  connection_->expect(due_);
}

// --- the request ----------------------------------------------------------------------------------

void H2Stream::admit(H2Head head, H2User::Ends ends) {
  request_ = std::move(head.request);
  request_.peer = connection_->peer();
  request_.secure = true;
  head_only_ = request_.method == "HEAD";
  if (head.too_large) return refuse(431, "the head is too large");
  if (head.two_names) return refuse(400, "there must be one name of the server");
  if (const auto fault = framing_fault(request_, 11)) return refuse(400, *fault);
  // Of a scheme that is not the web's HTTP/2 itself asks for no path.
  if (const auto fault = target_fault(request_)) return refuse(400, *fault);
  if (request_.method == "CONNECT")
    return refuse(501, "there is no CONNECT by HTTP/2 here: ask by HTTP/1.1");

  Admission admission = host().application().admit(request_);
  answer_fields_ = std::move(admission.fields);
  owner_ = std::move(admission.owner);
  body_limit_bytes_ = std::min(admission.body_limit_bytes, host().received()->owner_limit_bytes());
  if (admission.only_http1 && !admission.refusal) return reset(NGHTTP2_HTTP_1_1_REQUIRED);
  if (!admission.refusal && !host().owner_limit().acquire(owner_, in_progress_))
    admission.refusal = refusal_of_more(host().application());
  if (admission.refusal) return write_response(*std::move(admission.refusal));
  if (ends == H2User::Ends::yes) return end_request();
  const std::string_view length = request_.field("Content-Length");
  const std::string limit = std::to_string(body_limit_bytes_);
  const std::size_t zeros = std::min(length.find_first_not_of('0'), length.size());
  const std::string_view digits = length.substr(zeros);
  if (digits.size() > limit.size() || (digits.size() == limit.size() && digits > limit))
    return refuse(413, "the body is too large");
  takes_body_ = true;
  request_.received = std::make_shared<ReceivedBody>(host().received(), owner_);
  due_after(host().options().stall_timeout);
  if (same_text(request_.field("Expect"), "100-continue")) {
    connection_->session().go_on(id_);
    connection_->flush_soon();
  }
}

void H2Stream::refuse(int status, std::string_view reason) {
  takes_body_ = false;
  write_response(host().application().reject(status, reason));
}

void H2Stream::take_body(std::string_view bytes) {
  if (!takes_body_) return;
  if (bytes.size() > body_limit_bytes_ - request_.body.size())
    return refuse(413, "the body is too large");
  if (!request_.received->grow_to(request_.body.size() + bytes.size())) {
    takes_body_ = false;
    request_.body = {};
    request_.received.reset();
    return write_response(refusal_for_now(host().application()));
  }
  request_.body += bytes;
  untimed_bytes_ += bytes.size();
  if (untimed_bytes_ >= untimed_max_bytes) due_after(host().options().stall_timeout);
}

void H2Stream::end_request() {
  if (answer_due_ || begun_ || closed_) return;
  takes_body_ = false;
  due_never();
  answer_due_ = true;
  enter(Standing::Stage::answering);
  post_to(shared_from_this(), [](H2Stream& stream) { stream.handle(); });
}

void H2Stream::handle() {
  if (closed_) return;
  auto answer = std::make_shared<Answer<H2Stream>>(shared_from_this());
  Loop::Turn turn(connection_->loop());
  handle_by(host().application(), std::move(request_), answer);
  std::optional<Response> early = answer->end_turn();
  answer.reset();
  const bool kept = turn.finish();
  if (!early) return;
  if (kept) return write_response(*std::move(early));
  // The loop, and so this stream, is another thread's now.
  post_to(shared_from_this(), [response = *std::move(early)](H2Stream& stream) mutable {
    stream.write_response(std::move(response));
  });
}

// --- an answer ------------------------------------------------------------------------------------

void H2Stream::begin(const Response& head, std::optional<std::uint64_t> length) {
  begun_ = true;
  connection_->leave_if_asked();
  Fields fields = head.fields;
  fields.insert(fields.end(), answer_fields_.begin(), answer_fields_.end());
  fields.emplace_back("server", "cloche");
  fields.emplace_back("date", http_date(std::chrono::system_clock::now()));
  if (length) fields.emplace_back("content-length", std::to_string(*length));
  const bool is_whole = finished_ && unsent_bytes() == 0 && !source_;
  if (is_whole) ended_ = true;
  connection_->session().answer(id_, head.status, fields,
                                is_whole ? H2Session::Body::none : H2Session::Body::follows);
  connection_->flush_soon();
}

void H2Stream::write_response(Response response) {
  if (closed_ || finished_) return;
  answer_due_ = false;
  if (std::exchange(awaiting_, false) && blanks_) blanks_->cancel();
  const bool bodiless = response.status == 204 || response.status == 304;
  std::optional<std::uint64_t> length;
  if (!bodiless) length = response.source ? response.source->size() : response.body.size();
  const bool with_body = !bodiless && !head_only_;
  if (with_body) {
    source_ = std::move(response.source);
    append(std::move(response.body));
  }
  finished_ = true;
  if (stage_ != Standing::Stage::answering) enter(Standing::Stage::answering);
  count_unsent(unsent_bytes() + (source_ ? source_->kept_bytes() : 0));
  due_after(host().options().stall_timeout);
  if (begun_) return go_on();
  response.body = {};
  begin(response, length);
}

void H2Stream::count_unsent(std::uint64_t bytes) {
  if (bytes <= uncounted_max_bytes && !counted_) return;
  counted_ = true;
  stand(Standing::Stage::answering);  // it is from now on that it is not read
  host().keep_unsent(shared_from_this(), owner_, bytes);
}

void H2Stream::append(std::string bytes) {
  if (unsent_bytes() == 0) {
    pending_ = std::move(bytes);
    pending_at_ = 0;
    return;
  }
  if (pending_at_ > pending_.size() / 2) {
    pending_.erase(0, pending_at_);
    pending_at_ = 0;
  }
  pending_ += bytes;
}

// There is more for the session to take.
void H2Stream::go_on() {
  connection_->session().resume(id_);
  connection_->flush_soon();
}

std::optional<H2User::Piece> H2Stream::take_piece(std::uint8_t* to, std::size_t size) {
  if (closed_) return std::nullopt;
  const std::size_t taken = std::min(size, unsent_bytes());
  std::memcpy(to, pending_.data() + pending_at_, taken);
  pending_at_ += taken;
  if (taken > 0 && piece_bytes_ == 0) connection_->moved(shared_from_this());
  piece_bytes_ += taken;
  if (unsent_bytes() == 0) {
    pending_ = {};
    pending_at_ = 0;
    if (source_) make_piece();
    ended_ = finished_ && !source_;
  }
  if (taken == 0 && !ended_) return std::nullopt;
  return H2User::Piece{taken, ended_};
}

void H2Stream::tell_sent() {
  const std::size_t moved = std::exchange(piece_bytes_, 0);
  if (closed_) return;
  if (counted_) stand(Standing::Stage::answering);  // its client reads
  untimed_bytes_ += moved;
  if (unsent_bytes() == 0 && !source_) {
    due_never();
  } else if (untimed_bytes_ >= untimed_max_bytes) {
    due_after(host().options().stall_timeout);
  }
  if (relayed_) relayed_->go_on();
  if (!stream_state_) return;
  const std::size_t sent = std::min(moved, stream_state_->unsent_bytes.load());
  stream_state_->unsent_bytes -= sent;
  if (stream_state_->unsent_bytes == 0 && std::exchange(counted_, false)) host().sent(this);
  // It may do what ends the stream.
  const std::shared_ptr<StreamState> stream = stream_state_;
  if (sent > 0 && stream->options.changed) stream->options.changed();
}

// Has the body's source make its next piece, in a turn of its own.
void H2Stream::make_piece() {
  if (std::exchange(making_, true)) return;
  boost::asio::post(executor(), [self = shared_from_this()] {
    const std::shared_ptr<BodySource> source = self->source_;
    if (!source) return;
    std::string piece;
    Loop::Turn turn(self->connection_->loop());
    const bool made = source->next(piece);
    const auto take = [made](H2Stream& stream, std::string its_piece) {
      stream.making_ = false;
      if (stream.closed_) return;
      if (!made) return stream.reset(NGHTTP2_INTERNAL_ERROR);
      if (its_piece.empty()) stream.source_.reset();
      stream.append(std::move(its_piece));
      stream.go_on();
    };
    if (turn.finish()) return take(*self, std::move(piece));
    post_to(self, [take, piece = std::move(piece)](H2Stream& stream) mutable {
      take(stream, std::move(piece));
    });
  });
}

// --- an answer after blanks, or in pieces ---------------------------------------------------------

void H2Stream::await_answer(std::chrono::milliseconds interval, std::uint64_t) {
  if (closed_ || !answer_due_) return;
  awaiting_ = true;
  if (!blanks_) blanks_.emplace(executor());
  blanks_->expires_after(interval);
  blanks_->async_wait([self = shared_from_this(), interval](boost::system::error_code error) {
    if (error || !self->awaiting_ || self->closed_) return;
    if (!self->head_only_) self->append(" ");
    self->due_after(self->host().options().stall_timeout);
    if (!self->begun_) {
      self->begin(json_response(200, {}), std::nullopt);
    } else {
      self->go_on();
    }
    self->await_answer(interval, 0);
  });
}

void H2Stream::begin_stream(std::shared_ptr<StreamState> stream, const Response& head) {
  if (closed_) {
    stream->gone = true;
    if (stream->options.changed) stream->options.changed();
    return;
  }
  answer_due_ = false;
  stream_state_ = std::move(stream);
  last_piece_ = Clock::now();
  begin(head, std::nullopt);
  keep_pulse();
}

void H2Stream::stream_bytes(const std::shared_ptr<StreamState>& stream, std::string bytes) {
  if (closed_ || stream != stream_state_) return;
  if (head_only_) {
    stream->unsent_bytes -= std::min(bytes.size(), stream->unsent_bytes.load());
    return;
  }
  const bool was_empty = unsent_bytes() == 0;
  append(std::move(bytes));
  last_piece_ = Clock::now();
  count_unsent(stream->unsent_bytes);
  if (was_empty) due_after(host().options().stall_timeout);
  go_on();
}

void H2Stream::end_stream(const std::shared_ptr<StreamState>& stream) {
  if (closed_ || stream != stream_state_) return;
  finished_ = true;
  go_on();
}

void H2Stream::break_off(const std::shared_ptr<StreamState>& stream) {
  if (stream == stream_state_) reset(NGHTTP2_INTERNAL_ERROR);
}

void H2Stream::keep_pulse() {
  if (stream_state_->options.silence.count() == 0) return;
  if (!blanks_) blanks_.emplace(executor());
  blanks_->expires_at(last_piece_ + stream_state_->options.silence);
  blanks_->async_wait(
      [self = shared_from_this(), stream = stream_state_](boost::system::error_code error) {
        if (error || self->stream_state_ != stream || self->finished_) return;
        if (self->last_piece_ + stream->options.silence <= Clock::now()) {
          stream->unsent_bytes += stream->options.pulse.size();
          self->stream_bytes(stream, stream->options.pulse);
        }
        self->keep_pulse();
      });
}

// --- what HTTP/2 does not have, and another process's answer -------------------------------------

void H2Stream::tunnel(const Fields&, const std::function<void(int fd)>&) {
  refuse(501, "there is no tunnel by HTTP/2 here: ask by HTTP/1.1");
}

void H2Stream::become_web_socket(const Request&, const std::string&,
                                 const std::shared_ptr<WebSocketUser>& user) {
  user->closed();
  refuse(501, "there is no WebSocket by HTTP/2 here: ask by HTTP/1.1");
}

void H2Stream::hand_over(const std::function<void(int fd)>&) {
  answer_due_ = false;
  reset(NGHTTP2_HTTP_1_1_REQUIRED);
}

void H2Stream::relay_to(UniqueFd fd) {
  answer_due_ = false;
  if (closed_) return;
  relayed_ = std::make_shared<RelayedAnswer>(shared_from_this(), std::move(fd));
  relayed_->start();
}

void H2Stream::begin_relayed(int status, const Fields& fields) {
  if (closed_) return;
  begun_ = true;
  connection_->leave_if_asked();
  connection_->session().answer(id_, status, fields, H2Session::Body::follows);
  connection_->flush_soon();
}

void H2Stream::add_relayed(std::string_view bytes) {
  if (closed_) return;
  if (unsent_bytes() == 0) due_after(host().options().stall_timeout);
  append(std::string(bytes));
  go_on();
}

void H2Stream::end_relayed() {
  if (closed_) return;
  finished_ = true;
  go_on();
}

void H2Stream::break_relayed() {
  if (closed_) return;
  if (begun_) return reset(NGHTTP2_INTERNAL_ERROR);
  refuse(502, "what has this session has ended before it answered");
}

// --- the end --------------------------------------------------------------------------------------

void H2Stream::reset(std::uint32_t error) {
  if (closed_) return;
  connection_->session().reset(id_, error);
  connection_->flush_soon();
  let_go();
}

void H2Stream::close(std::uint32_t) { let_go(); }

// Keeps nothing any more; whatever writes the answer is told that its client has gone.
void H2Stream::let_go() {
  if (std::exchange(closed_, true)) return;
  due_never();
  answer_due_ = takes_body_ = awaiting_ = false;
  request_.body = {};
  request_.received.reset();
  pending_ = {};
  pending_at_ = 0;
  source_.reset();
  if (blanks_) blanks_->cancel();
  if (const auto relayed = std::exchange(relayed_, nullptr)) relayed->close();
  if (std::exchange(counted_, false)) host().sent(this);
  const std::shared_ptr<StreamState> lost = std::exchange(stream_state_, nullptr);
  if (!lost || ended_) return;
  lost->gone = true;
  if (lost->options.changed) lost->options.changed();
}

}  // namespace cloche::http
