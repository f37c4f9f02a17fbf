// SPDX-License-Identifier: Apache-2.0
// What servers and workers say to each other, what an operator says of them, and the frames of E2B's
// clients. The first byte chooses one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "cluster/address.h"
#include "cluster/ask.h"
#include "cluster/hop.h"
#include "cluster/metrics_sum.h"
#include "cluster/peer_table.h"
#include "cluster/router.h"
#include "cluster/session_pages.h"
#include "doors/e2b/connect_wire.h"

namespace {

using namespace cloche;

void read_answer(std::string_view input) {
  const auto answer = cluster::parse_answer(std::string(input));
  if (!answer) return;
  CLOCHE_CHECK(answer->status >= 200 && answer->status <= 999);
  CLOCHE_CHECK(answer->body.size() < input.size());
}

void read_places(std::string_view input) {
  (void)cluster::PeerSource::parse(input);  // to ask for addresses were to ask the network
  const auto session = cluster::session_of_path(input);
  CLOCHE_CHECK(session.size() <= input.size());
  if (const auto cell = session::cell_of(session)) CLOCHE_CHECK(*cell != 0);
  (void)parse_bytes(input);
  (void)parse_duration(input, std::chrono::seconds(1));
}

void read_report(std::string_view input) {
  const auto report = cluster::report_of_json(input);
  if (!report) return;
  const auto again = cluster::report_of_json(to_json(*report));
  CLOCHE_CHECK(again && again->key == report->key && again->version == report->version);
}

void read_page(std::string_view input) {
  const auto page = cluster::page_of_json(input);
  if (!page) return;
  const std::string merged = cluster::merged_json({*page, *page}, 10, 1);
  const auto again = cluster::page_of_json(merged);
  CLOCHE_CHECK(again && again->sessions.size() <= 10);
}

void add_metrics(std::string_view input) {
  cluster::MetricsSum sum;
  const std::string page = sum.page(input, {{1, std::string(input)}});
  sum.worker_ended(1, "owner");
  const std::string alone = cluster::MetricsSum().page(page, {});
  CLOCHE_CHECK(cluster::MetricsSum().page(alone, {}) == alone);
}

// A request as it is passed on has one head, whatever a client's fields say.
void pass_on(std::string_view input) {
  const std::size_t mark = std::min(input.find('='), input.size());
  http::Request request;
  request.method = "POST";
  request.target = "/";
  request.fields = {
      {"Host", "a"}, {"Content-Length", "7"}, {std::string(input.substr(0, mark)), "value"}};
  request.body = input;
  const std::string text = cluster::worker_text(request);
  CLOCHE_CHECK(text.ends_with("Connection: close\r\n\r\n" + request.body));
}

void read_frames(std::string_view input) {
  const auto read = e2b::read_frames(input);
  const auto* frames = std::get_if<std::vector<std::string_view>>(&read);
  if (!frames) return;
  for (const std::string_view frame : *frames) {
    const auto message = e2b::read_message(frame);
    const auto* json = std::get_if<Json>(&message);
    if (!json) continue;
    for (const std::string_view name : {"path", "process_id", "data"}) {
      (void)e2b::text_at(*json, name);
      (void)e2b::number_at(*json, name);
      (void)e2b::bytes_at(*json, name);
      (void)e2b::truth_at(*json, name, false);
    }
  }
}

constexpr std::array readers{read_answer, read_places, read_report, read_page,
                             add_metrics, pass_on,     read_frames};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  readers.at(data[0] % readers.size())(input.substr(1));
  return 0;
}
