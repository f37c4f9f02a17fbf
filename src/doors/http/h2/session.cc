// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/session.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

namespace cloche::http {
namespace {

constexpr std::uint64_t resets_at_once = 500;
constexpr std::uint64_t resets_a_second = 50;
constexpr std::size_t settings_max = 16;         // in one frame
constexpr std::size_t owed_answers_max = 1000;   // to PING and SETTINGS
constexpr std::size_t continuations_max = 8;     // of a head
constexpr std::uint32_t field_extra_bytes = 32;  // RFC 9113, 6.5.2
// A field costs a client one byte: this many times the limit is no mistake.
constexpr std::size_t hopeless_factor = 16;

// What a frame costs that asks for nothing.
constexpr std::int64_t idle_frame_cost = 1;
constexpr std::int64_t settings_cost = 8;  // each stream hears of it
constexpr std::int64_t failure_cost = 8;   // a stream that ended before its time

// Of one connection of HTTP/1.1; a field of HTTP/2 must not say it.
constexpr std::array<std::string_view, 6> left_out{"Connection",       "Keep-Alive",
                                                   "Proxy-Connection", "Transfer-Encoding",
                                                   "Upgrade",          "HTTP2-Settings"};

struct OptionDelete {
  void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
};
struct CallbacksDelete {
  void operator()(nghttp2_session_callbacks* each) const { nghttp2_session_callbacks_del(each); }
};

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}
std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// nghttp2 copies both; it changes neither.
nghttp2_nv pair_of(std::string_view name, std::string_view value) {
  return {const_cast<std::uint8_t*>(bytes_of(name)), const_cast<std::uint8_t*>(bytes_of(value)),
          name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

bool may_be_said(std::string_view name, std::string_view value) {
  return std::ranges::none_of(left_out, [&](auto each) { return same_text(each, name); }) &&
         nghttp2_check_header_name(bytes_of(name), name.size()) != 0 &&
         nghttp2_check_header_value_rfc9113(bytes_of(value), value.size()) != 0;
}

}  // namespace

// What nghttp2 calls: an exception must not reach it.
struct H2Session::Callbacks {
  template <typename Body>
  static int guarded(void* user_data, Body body) noexcept {
    try {
      body(*static_cast<H2Session*>(user_data));
      return 0;
    } catch (...) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user_data) noexcept {
    return guarded(user_data, [&](H2Session& self) {
      self.head_ = {};
      self.is_trailer_ = frame->headers.cat != NGHTTP2_HCAT_REQUEST;
      self.user_.head_began(frame->hd.stream_id);
    });
  }

  static int header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user_data) noexcept {
    return guarded(user_data, [&](H2Session& self) {
      self.take_field(text_of(name, name_size), text_of(value, value_size));
    });
  }

  static int begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user_data) noexcept {
    return guarded(user_data, [&](H2Session& self) {
      const bool ends = (head->flags & NGHTTP2_FLAG_END_STREAM) != 0;
      switch (head->type) {
        case NGHTTP2_DATA:
          if (head->length > 0) return self.budget_.moved();
          return ends ? void() : self.spend(idle_frame_cost);
        case NGHTTP2_SETTINGS: return self.spend(settings_cost);
        case NGHTTP2_HEADERS:
        case NGHTTP2_CONTINUATION: return;
        default: return self.spend(idle_frame_cost);
      }
    });
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user_data) noexcept {
    return guarded(user_data, [&](H2Session& self) {
      const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
      if (frame->hd.type == NGHTTP2_HEADERS)
        return self.end_head(frame->hd.stream_id, ends ? H2User::Ends::yes : H2User::Ends::no);
      if (frame->hd.type == NGHTTP2_DATA && ends) self.user_.request_ended(frame->hd.stream_id);
    });
  }

  static int data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                  std::size_t size, void* user_data) noexcept {
    return guarded(user_data, [&](H2Session& self) {
      if (!self.is_broken_) self.user_.body_came(stream, text_of(bytes, size));
    });
  }

  // What a client still sends of a request whose answer is whole is of no use.
  static int sent(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) noexcept {
    return guarded(user_data, [&](H2Session& self) {
      if (frame->hd.type == NGHTTP2_DATA) self.budget_.moved();
      const bool is_of_answer = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
      if (!is_of_answer || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
      if (nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
        self.reset(frame->hd.stream_id, NGHTTP2_NO_ERROR);
    });
  }

  static int closed(nghttp2_session*, std::int32_t stream, std::uint32_t error,
                    void* user_data) noexcept {
    return guarded(user_data, [&](H2Session& self) {
      if (error != NGHTTP2_NO_ERROR) self.spend(failure_cost);
      self.user_.stream_closed(stream, error);
    });
  }

  static ssize_t piece(nghttp2_session*, std::int32_t stream, std::uint8_t* to, std::size_t size,
                       std::uint32_t* flags, nghttp2_data_source*, void* user_data) noexcept {
    std::optional<H2User::Piece> piece;
    const int status = guarded(
        user_data, [&](H2Session& self) { piece = self.user_.take_piece(stream, to, size); });
    if (status != 0) return status;
    if (!piece) return NGHTTP2_ERR_DEFERRED;
    if (piece->last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(piece->bytes);
  }
};

H2Session::H2Session(H2User& user, std::uint32_t head_limit_bytes)
    : user_(user), head_limit_bytes_(head_limit_bytes) {
  nghttp2_option* made_option = nullptr;
  nghttp2_session_callbacks* made_callbacks = nullptr;
  if (nghttp2_option_new(&made_option) != 0) throw std::bad_alloc();
  const std::unique_ptr<nghttp2_option, OptionDelete> option(made_option);
  if (nghttp2_session_callbacks_new(&made_callbacks) != 0) throw std::bad_alloc();
  const std::unique_ptr<nghttp2_session_callbacks, CallbacksDelete> callbacks(made_callbacks);

  nghttp2_option_set_no_closed_streams(option.get(), 1);
  nghttp2_option_set_stream_reset_rate_limit(option.get(), resets_at_once, resets_a_second);
  nghttp2_option_set_max_settings(option.get(), settings_max);
  nghttp2_option_set_max_outbound_ack(option.get(), owed_answers_max);
  nghttp2_option_set_max_continuations(option.get(), continuations_max);

  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks.get(),
                                                          Callbacks::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks.get(), Callbacks::header);
  nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks.get(), Callbacks::begin_frame);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks.get(), Callbacks::frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks.get(), Callbacks::data);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks.get(), Callbacks::sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks.get(), Callbacks::closed);

  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new2(&made, callbacks.get(), this, option.get()) != 0)
    throw std::bad_alloc();
  session_.reset(made);

  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, head_limit_bytes},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  }};
  if (nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0 ||
      nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, connection_window_bytes) !=
          0)
    throw std::bad_alloc();
}

bool H2Session::receive(std::string_view bytes) {
  if (is_broken_) return false;
  const ssize_t taken = nghttp2_session_mem_recv(session_.get(), bytes_of(bytes), bytes.size());
  if (taken >= 0) return !is_broken_;
  is_broken_ = true;
  (void)nghttp2_session_terminate_session(session_.get(), taken == NGHTTP2_ERR_FLOODED
                                                              ? NGHTTP2_ENHANCE_YOUR_CALM
                                                              : NGHTTP2_PROTOCOL_ERROR);
  return false;
}

bool H2Session::output(std::string& to, std::size_t enough_bytes) {
  while (to.size() < enough_bytes) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t made = nghttp2_session_mem_send(session_.get(), &bytes);
    if (made < 0) return false;
    if (made == 0) break;
    to.append(text_of(bytes, static_cast<std::size_t>(made)));
  }
  return true;
}

void H2Session::spend(std::int64_t amount) {
  if (is_broken_ || budget_.spend(amount, std::chrono::steady_clock::now())) return;
  is_broken_ = true;
  (void)nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
}

void H2Session::take_field(std::string_view name, std::string_view value) {
  head_.bytes += name.size() + value.size() + field_extra_bytes;
  if (head_.bytes > head_limit_bytes_ * hopeless_factor) return spend(FloodBudget::most + 1);
  if (head_.bytes > head_limit_bytes_) head_.too_large = true;
  if (head_.too_large || is_trailer_) return;
  Request& request = head_.request;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.target = value;
  } else if (name == ":authority") {
    request.fields.emplace_back("Host", value);
  } else if (name == "host" && !request.field("Host").empty()) {
    if (!same_text(request.field("Host"), value)) head_.two_names = true;
  } else if (name == "cookie") {
    // It comes in crumbs (RFC 9113, 8.2.3).
    const auto jar = std::ranges::find(request.fields, "cookie", &Fields::value_type::first);
    if (jar == request.fields.end()) {
      request.fields.emplace_back(name, value);
    } else {
      jar->second.append("; ").append(value);
    }
  } else if (!name.starts_with(':')) {
    request.fields.emplace_back(name, value);
  }
}

void H2Session::end_head(std::int32_t stream, H2User::Ends ends) {
  if (is_broken_) return;
  if (is_trailer_) {
    user_.trailer_came();
    if (ends == H2User::Ends::yes) user_.request_ended(stream);
    return;
  }
  Request& request = head_.request;
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  request.path = request.target.substr(0, mark);
  request.query = request.target.substr(std::min(mark + 1, request.target.size()));
  user_.head_came(stream, std::exchange(head_, {}), ends);
}

void H2Session::answer(std::int32_t stream, int status, const Fields& fields, Body body) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  std::vector<nghttp2_nv> pairs;
  pairs.reserve(fields.size() + 1);
  const std::string number = std::to_string(status);
  pairs.push_back(pair_of(":status", number));
  for (const auto& [name, value] : fields) {
    names.push_back(lowered(name));
    if (!may_be_said(names.back(), value)) continue;
    pairs.push_back(pair_of(names.back(), value));
  }
  nghttp2_data_provider source{};
  source.read_callback = Callbacks::piece;
  if (nghttp2_submit_response(session_.get(), stream, pairs.data(), pairs.size(),
                              body == Body::follows ? &source : nullptr) != 0)
    reset(stream, NGHTTP2_INTERNAL_ERROR);
}

void H2Session::go_on(std::int32_t stream) {
  const nghttp2_nv status = pair_of(":status", "100");
  (void)nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE, stream, nullptr, &status, 1,
                               nullptr);
}

void H2Session::resume(std::int32_t stream) {
  (void)nghttp2_session_resume_data(session_.get(), stream);
}

void H2Session::reset(std::int32_t stream, std::uint32_t error) {
  (void)nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, error);
}

void H2Session::go_away() {
  (void)nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(session_.get()),
                              NGHTTP2_NO_ERROR, nullptr, 0);
}

bool H2Session::is_over() const {
  return nghttp2_session_want_read(session_.get()) == 0 &&
         nghttp2_session_want_write(session_.get()) == 0;
}

std::size_t H2Session::waiting_frames() const {
  return nghttp2_session_get_outbound_queue_size(session_.get());
}

}  // namespace cloche::http
