// SPDX-License-Identifier: Apache-2.0
// ConnectionOf<Stream>: answers whose body comes in pieces: after blanks, or as the application
// writes it.
#pragma once

#include "doors/http/connection_of.h"

namespace cloche::http {

inline std::string chunk_head(std::size_t bytes) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdef"[bytes % 16]);
    bytes /= 16;
  } while (bytes > 0);
  return text + "\r\n";
}

template <typename Stream>
void ConnectionOf<Stream>::await_answer(std::chrono::milliseconds interval,
                                        std::uint64_t request_number) {
  if (request_number != request_number_ || !answer_due_) return;
  awaiting_ = true;
  blanks_.expires_after(interval);
  blanks_.async_wait([self = this->shared_from_this(), interval](Error error) {
    if (error || !self->awaiting_) return;
    self->pending_ += ' ';
    if (!self->begun_) {
      self->begin(json_response(200, {}));
    } else {
      self->write_pending();
    }
    self->await_answer(interval, self->request_number_);
  });
}

template <typename Stream>
void ConnectionOf<Stream>::begin(const Response& head) {
  begun_ = true;
  chunked_ = version_ >= 11;
  if (!chunked_) keep_alive_ = false;
  out_head_ = head_of(head, std::nullopt);
  out_body_.clear();
  writing_ = true;
  untimed_bytes_ = 0;
  deadline_.expires_after(options_.stall_timeout);
  send_rest(0);
}

template <typename Stream>
void ConnectionOf<Stream>::finish(Response response) {
  pending_ += response.body;
  if (!head_only_) source_ = std::move(response.source);
  finished_ = true;
  count_unsent(pending_.size() + (source_ ? source_->kept_bytes() : 0));
  write_pending();
}

template <typename Stream>
void ConnectionOf<Stream>::write_pending() {
  if (writing_) return;
  if (head_only_) pending_.clear();
  if (pending_.empty() && source_) {
    writing_ = true;
    return make_piece(&ConnectionOf::add_piece);
  }
  const bool last = finished_ && !source_;
  piece_bytes_ = pending_.size();
  if (!pending_.empty()) {
    if (chunked_) out_head_ = chunk_head(pending_.size());
    out_body_ = std::exchange(pending_, {});
    if (chunked_) out_body_ += "\r\n";
  }
  if (last && !ended_ && chunked_ && !head_only_) out_body_ += "0\r\n\r\n";
  if (last) ended_ = true;
  if (out_body_.empty()) {
    if (last) {
      end_pieces();
    } else {
      deadline_.expires_never();
    }
    return;
  }
  writing_ = true;
  untimed_bytes_ = 0;
  deadline_.expires_after(options_.stall_timeout);
  send_rest(0);
}

template <typename Stream>
void ConnectionOf<Stream>::add_piece(std::string piece) {
  writing_ = false;
  pending_ = std::move(piece);
  write_pending();
}

template <typename Stream>
void ConnectionOf<Stream>::end_pieces() {
  finished_ = false;
  begun_ = false;
  ended_ = false;
  stream_state_.reset();
  blanks_.cancel();
  answered();
}

// --- a body that the application writes -----------------------------------------------------------

template <typename Stream>
void ConnectionOf<Stream>::begin_stream(std::shared_ptr<StreamState> stream, const Response& head) {
  if (!socket().is_open()) {
    stream->gone = true;
    if (stream->options.changed) stream->options.changed();
    return;
  }
  answer_due_ = false;
  stream_state_ = std::move(stream);
  last_piece_ = std::chrono::steady_clock::now();
  begin(head);
  keep_pulse();
  watch_client();
}

template <typename Stream>
void ConnectionOf<Stream>::stream_bytes(const std::shared_ptr<StreamState>& stream,
                                        std::string bytes) {
  if (stream != stream_state_) return;
  if (pending_.empty()) {
    pending_ = std::move(bytes);
  } else {
    pending_ += bytes;
  }
  last_piece_ = std::chrono::steady_clock::now();
  if (counted_) {
    host_.keep_unsent(this->shared_from_this(), owner_, stream->unsent_bytes);
  } else {
    count_unsent(stream->unsent_bytes);
  }
  write_pending();
}

template <typename Stream>
void ConnectionOf<Stream>::end_stream(const std::shared_ptr<StreamState>& stream) {
  if (stream != stream_state_) return;
  finished_ = true;
  write_pending();
}

template <typename Stream>
void ConnectionOf<Stream>::break_off(const std::shared_ptr<StreamState>& stream) {
  if (stream == stream_state_) close();
}

template <typename Stream>
void ConnectionOf<Stream>::tell_stream_sent() {
  if (!stream_state_) return;
  const std::size_t sent = std::min(std::exchange(piece_bytes_, 0),  // a pulse is nobody's
                                    stream_state_->unsent_bytes.load());
  if (sent == 0) return;
  stream_state_->unsent_bytes -= sent;
  if (stream_state_->unsent_bytes == 0 && std::exchange(counted_, false)) host_.sent(this);
  // It may do what ends the stream.
  const std::shared_ptr<StreamState> stream = stream_state_;
  if (stream->options.changed) stream->options.changed();
}

template <typename Stream>
void ConnectionOf<Stream>::keep_pulse() {
  if (stream_state_->options.silence.count() == 0) return;
  blanks_.expires_at(last_piece_ + stream_state_->options.silence);
  blanks_.async_wait([self = this->shared_from_this(), stream = stream_state_](Error error) {
    if (error || self->stream_state_ != stream || self->finished_) return;
    const auto now = std::chrono::steady_clock::now();
    if (self->last_piece_ + stream->options.silence <= now) {
      self->last_piece_ = now;
      stream->unsent_bytes += stream->options.pulse.size();
      self->pending_ += stream->options.pulse;
      self->write_pending();
    }
    self->keep_pulse();
  });
}

// Reads ahead, so that the client's end is seen. A request that comes early waits in the buffer,
// and nothing is seen any more.
template <typename Stream>
void ConnectionOf<Stream>::watch_client() {
  if (watching_ || buffer_.size() > 0) return;
  watching_ = true;
  stream_.async_read_some(buffer_.prepare(first_read_bytes),
                          [self = this->shared_from_this()](Error error, std::size_t bytes) {
                            self->watching_ = false;
                            if (error) return self->close();
                            if (self->lingering_) return self->linger();
                            self->buffer_.commit(bytes);
                            if (self->idle_) {
                              self->idle_ = false;
                              self->read_head();
                            }
                          });
}

}  // namespace cloche::http
