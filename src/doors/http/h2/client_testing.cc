// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/client_testing.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace cloche::http {

// --- bytes ----------------------------------------------------------------------------------------

void BytesInMemory::give(std::string_view bytes) {
  given_ += bytes;
  serve_read();
}

void BytesInMemory::end() {
  ended_ = true;
  serve_read();
}

void BytesInMemory::release_writes() {
  held_ = false;
  if (write_done_) write_some(write_from_, std::exchange(write_done_, nullptr));
}

void BytesInMemory::read_some(boost::asio::mutable_buffer to, Done done) {
  read_to_ = to;
  read_done_ = std::move(done);
  serve_read();
}

void BytesInMemory::serve_read() {
  if (!read_done_ || (given_.empty() && !ended_ && !closed_)) return;
  const std::size_t taken = closed_ ? 0 : std::min(given_.size(), read_to_.size());
  std::memcpy(read_to_.data(), given_.data(), taken);
  given_.erase(0, taken);
  boost::system::error_code error;
  if (closed_ || taken == 0) error = boost::asio::error::eof;
  boost::asio::post(
      context_, [done = std::exchange(read_done_, nullptr), error, taken] { done(error, taken); });
}

void BytesInMemory::write_some(boost::asio::const_buffer from, Done done) {
  if (held_ && !closed_) {
    write_from_ = from;
    write_done_ = std::move(done);
    return;
  }
  boost::system::error_code error;
  if (closed_) error = boost::asio::error::broken_pipe;
  if (!closed_) written_.append(static_cast<const char*>(from.data()), from.size());
  const std::size_t size = closed_ ? 0 : from.size();
  boost::asio::post(context_, [done = std::move(done), error, size] { done(error, size); });
}

void BytesInMemory::close() {
  closed_ = true;
  serve_read();
  if (write_done_) write_some(write_from_, std::exchange(write_done_, nullptr));
}

// --- the server -----------------------------------------------------------------------------------

class ServedInMemory::Counted final : public Connection {
 public:
  Counted() : Connection("peer") {}
  void start() override {}
  void end_soon() override {}
  void end_now() override {}
};

ServedInMemory::ServedInMemory(HostInMemory& host) : counted_(std::make_shared<Counted>()) {
  auto bytes = std::make_unique<BytesInMemory>(loops_[0].context());
  bytes_ = bytes.get();
  connection_ =
      std::make_shared<H2Connection>(counted_, host, loops_[0], std::move(bytes), "127.0.0.1:1");
  connection_->start();
}

ServedInMemory::~ServedInMemory() {
  connection_->end_now();
  run();
}

void ServedInMemory::run() {
  loops_[0].context().restart();
  while (loops_[0].context().poll() > 0) {
  }
}

void ServedInMemory::run_until(const std::function<bool()>& so) {
  loops_[0].context().restart();
  while (!so()) loops_[0].context().run_one();
}

// --- the client -----------------------------------------------------------------------------------

struct ClientInMemory::Callbacks {
  static ClientInMemory& self(void* user_data) { return *static_cast<ClientInMemory*>(user_data); }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user_data) {
    Answer& answer = self(user_data).answers_[frame->hd.stream_id];
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") answer.status = std::stoi(text);
    answer.fields[key] = text;
    return 0;
  }
  static int data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                  std::size_t size, void* user_data) {
    self(user_data).answers_[stream].body.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }
  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    ClientInMemory& client = self(user_data);
    const bool is_of_stream = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (is_of_stream && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
      client.answers_[frame->hd.stream_id].ended = true;
    return 0;
  }
  static int closed(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* user_data) {
    self(user_data).answers_[stream].error = error;
    return 0;
  }
  static ssize_t upload(nghttp2_session*, std::int32_t stream, std::uint8_t* to, std::size_t size,
                        std::uint32_t* flags, nghttp2_data_source*, void* user_data) {
    Upload& upload = self(user_data).uploads_[stream];
    const std::size_t taken = std::min(size, upload.bytes.size());
    upload.bytes.copy(reinterpret_cast<char*>(to), taken);
    upload.bytes.erase(0, taken);
    if (upload.ended && upload.bytes.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (taken == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(taken);
  }
};

ClientInMemory::ClientInMemory(ServedInMemory& served, std::int32_t window_bytes)
    : served_(served) {
  nghttp2_session_callbacks* callbacks = nullptr;
  CLOCHE_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::closed);
  nghttp2_option* option = nullptr;
  CLOCHE_CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_auto_window_update(option, window_bytes < 65535 ? 1 : 0);
  nghttp2_session* made = nullptr;
  CLOCHE_CHECK(nghttp2_session_client_new2(&made, callbacks, this, option) == 0);
  session_.reset(made);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry window{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                      static_cast<std::uint32_t>(window_bytes)};
  nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, &window, 1);
}

std::int32_t ClientInMemory::ask(const Fields& fields, std::optional<std::string> body) {
  std::vector<nghttp2_nv> pairs;
  for (const auto& [name, value] : fields) {
    pairs.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                     reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                     value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  nghttp2_data_provider source{};
  source.read_callback = Callbacks::upload;
  const bool has_body = !body || !body->empty();
  const std::int32_t stream = nghttp2_submit_request(
      session_.get(), nullptr, pairs.data(), pairs.size(), has_body ? &source : nullptr, nullptr);
  if (has_body) uploads_[stream] = {body.value_or(""), body.has_value()};
  return stream;
}

std::int32_t ClientInMemory::get(const std::string& path) {
  return ask(
      {{":method", "GET"}, {":scheme", "https"}, {":authority", "box.test"}, {":path", path}});
}

void ClientInMemory::more(std::int32_t stream, const std::string& bytes) {
  uploads_[stream].bytes += bytes;
  nghttp2_session_resume_data(session_.get(), stream);
}

void ClientInMemory::end(std::int32_t stream) {
  uploads_[stream].ended = true;
  nghttp2_session_resume_data(session_.get(), stream);
}

void ClientInMemory::cancel(std::int32_t stream) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void ClientInMemory::read_on(std::int32_t stream, std::int32_t bytes) {
  nghttp2_submit_window_update(session_.get(), NGHTTP2_FLAG_NONE, stream, bytes);
}

void ClientInMemory::send_frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                                std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  frame += payload;
  served_.bytes().give(frame);
}

// It is heard whatever the client's own session thinks of frames that it has not asked for.
void ClientInMemory::hear_goodbye(std::string_view bytes) {
  constexpr std::size_t head_bytes = 9;
  unread_ += bytes;
  const auto number = [this](std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + size; ++i)
      value = value << 8 | static_cast<std::uint8_t>(unread_[i]);
    return value;
  };
  while (unread_.size() >= head_bytes && unread_.size() >= head_bytes + number(0, 3)) {
    if (number(3, 1) == NGHTTP2_GOAWAY) goodbye_ = number(head_bytes + 4, 4);
    unread_.erase(0, head_bytes + number(0, 3));
  }
}

void ClientInMemory::exchange() {
  for (bool news = true; news;) {
    news = false;
    const std::uint8_t* bytes = nullptr;
    ssize_t made = 0;
    while ((made = nghttp2_session_mem_send(session_.get(), &bytes)) > 0) {
      served_.bytes().give({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(made)});
      news = true;
    }
    served_.run();
    const std::string answer = served_.bytes().taken();
    if (answer.empty()) continue;
    news = true;
    hear_goodbye(answer);
    (void)nghttp2_session_mem_recv(
        session_.get(), reinterpret_cast<const std::uint8_t*>(answer.data()), answer.size());
  }
}

}  // namespace cloche::http
