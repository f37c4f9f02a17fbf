// SPDX-License-Identifier: Apache-2.0
#include "doors/telemetry/audit_log.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/faulty_files_testing.h"
#include "base/host_error.h"
#include "base/temp_dir_testing.h"
#include "base/trace_context.h"

namespace cloche::telemetry {
namespace {

using Json = nlohmann::json;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class AuditLogTest : public testing::Test {
 protected:
  TempDir folder_;
  const std::filesystem::path file_ = folder_.path() / "audit";
  http::Metrics metrics_;
  FaultyFiles files_;
  AuditLog log_{{file_.string(), {}}, files_, metrics_};

  static AuditEntry entry(std::string target) {
    return {.who = "ann", .from = "10.0.0.1:5", .what = "request", .target = std::move(target)};
  }
  std::string target_of(std::size_t line) {
    return Json::parse(lines_of(file_).at(line)).value("target", "");
  }
};

TEST_F(AuditLogTest, ALineSaysWhoWhatWhenAndTheOutcome) {
  const TraceContext trace = new_trace();
  const TraceScope scope(&trace);
  log_.add({.who = "ann",
            .from = "10.0.0.1:5",
            .what = "request",
            .target = "POST /sessions",
            .session = "8c1f",
            .outcome = "refused",
            .code = 429,
            .run = 7});
  const Json line = Json::parse(lines_of(file_).at(0));
  EXPECT_EQ(line["who"], "ann");
  EXPECT_EQ(line["from"], "10.0.0.1:5");
  EXPECT_EQ(line["what"], "request");
  EXPECT_EQ(line["target"], "POST /sessions");
  EXPECT_EQ(line["session"], "8c1f");
  EXPECT_EQ(line["outcome"], "refused");
  EXPECT_EQ(line["code"], 429);
  EXPECT_EQ(line["run"], 7);
  EXPECT_EQ(line["trace_id"], trace.trace_id);
  EXPECT_EQ(line["time"].get<std::string>().size(), std::strlen("2026-01-02T03:04:05.678Z"));
  struct stat status{};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(AuditLogTest, WhatAClientWritesStaysWithinItsLine) {
  log_.add(entry("GET /a\n{\"what\":\"forged\"}\xff" + std::string(1000, 'x')));
  ASSERT_EQ(lines_of(file_).size(), 1U);
  EXPECT_LT(lines_of(file_)[0].size(), 600U);
  EXPECT_TRUE(target_of(0).starts_with("GET /a\n{\"what\":\"forged\"}\uFFFD"));
}

TEST_F(AuditLogTest, WhatCannotBeWrittenIsTroubleUntilItCanAndItsNumberIsTold) {
  log_.add(entry("one"));
  EXPECT_EQ(log_.trouble(), "");
  files_.fail_all(Errno::nospc);
  log_.add(entry("two"));
  log_.add(entry("three"));
  EXPECT_NE(log_.trouble().find("2 entries of the audit log are not written"), std::string::npos);
  EXPECT_EQ(metrics_.sum("cloche_audit_entries_total"), 3);
  files_.heal();
  log_.add(entry("four"));
  EXPECT_EQ(log_.trouble(), "");
  const auto lines = lines_of(file_);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(Json::parse(lines[1])["missing"], 2);
  EXPECT_EQ(target_of(2), "four");
}

TEST_F(AuditLogTest, WhoAsksAboutTheTroubleHasItTriedAgain) {
  files_.fail_all(Errno::io);
  log_.add(entry("one"));
  EXPECT_NE(log_.trouble(), "");
  files_.heal();
  EXPECT_EQ(log_.trouble(), "");
  EXPECT_EQ(Json::parse(lines_of(file_).at(0))["missing"], 1);
}

TEST_F(AuditLogTest, ALineThatWasTornSpoilsNoOther) {
  files_.write_max = 10;
  files_.fail_at(files_.calls() + 2, FaultyFiles::Fault::error, Errno::nospc);
  log_.add(entry("torn"));
  files_.write_max = SIZE_MAX;
  log_.add(entry("whole"));
  const auto lines = lines_of(file_);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_FALSE(Json::accept(lines[0]));
  EXPECT_EQ(Json::parse(lines[1])["missing"], 1);
  EXPECT_EQ(target_of(2), "whole");
}

TEST_F(AuditLogTest, AfterItWasRenamedItIsOpenedAnew) {
  log_.add(entry("one"));
  std::filesystem::rename(file_, file_.string() + ".1");
  log_.add(entry("two"));
  EXPECT_EQ(log_.reopen(), std::nullopt);
  log_.add(entry("three"));
  EXPECT_EQ(lines_of(file_.string() + ".1").size(), 2U);
  EXPECT_EQ(target_of(0), "three");
}

TEST_F(AuditLogTest, WhereItCannotBeOpenedAnewTheOldOneStays) {
  std::filesystem::rename(file_, file_.string() + ".1");
  std::filesystem::create_directory(file_);
  ASSERT_TRUE(log_.reopen());
  log_.add(entry("one"));
  EXPECT_EQ(lines_of(file_.string() + ".1").size(), 1U);
  EXPECT_EQ(log_.trouble(), "");
}

TEST_F(AuditLogTest, LinesOfManyThreadsAreWhole) {
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int n = 0; n < 250; ++n) log_.add(entry(std::string(200, 'x')));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = lines_of(file_);
  EXPECT_EQ(lines.size(), 1000U);
  for (const std::string& line : lines) EXPECT_TRUE(Json::accept(line));
}

TEST_F(AuditLogTest, StrangersDoNotFillTheDisk) {
  for (int i = 0; i < 1000; ++i) log_.add_stranger(entry("GET /"));
  const std::size_t lines = lines_of(file_).size();
  EXPECT_GE(lines, 100U);
  EXPECT_LT(lines, 1000U);
  EXPECT_EQ(metrics_.sum("cloche_audit_entries_total"), 1000);
}

TEST_F(AuditLogTest, WhatASessionIsRefusedIsBoundedForItself) {
  AuditEntry refused = entry("192.0.2.1:80");
  refused.session = "one";
  for (int i = 0; i < 1000; ++i) log_.add_refusal(refused);
  EXPECT_LT(lines_of(file_).size(), 1000U);
  EXPECT_EQ(metrics_.sum("cloche_audit_entries_total"), 1000);
  refused.session = "other";
  log_.add_refusal(refused);
  EXPECT_NE(lines_of(file_).back().find("other"), std::string::npos);
}

TEST_F(AuditLogTest, WhatIsNoFileIsRefused) {
  const std::string fifo = folder_.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink(file_, folder_.path() / "link");
  for (const std::string& name : {fifo, (folder_.path() / "link").string(), folder_.path().string(),
                                  (folder_.path() / "none/audit").string()}) {
    EXPECT_THROW(AuditLog({name, {}}, host_files(), metrics_), HostError) << name;
  }
}

TEST(AuditLogTarget, IsAFileOrSyslog) {
  EXPECT_EQ(AuditLog::Target::parse("a/b")->file, "a/b");
  EXPECT_EQ(AuditLog::Target::parse("syslog")->socket, "/dev/log");
  EXPECT_EQ(AuditLog::Target::parse("syslog:/x")->socket, "/x");
  for (const std::string& wrong : {std::string(), std::string("a/"), std::string("syslog:x"),
                                   std::string("syslog:"), "syslog:/" + std::string(200, 'x')})
    EXPECT_FALSE(AuditLog::Target::parse(wrong)) << wrong;
}

class Syslog {
 public:
  explicit Syslog(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    if (!fd_) throw std::runtime_error("no socket");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  std::string next() const {
    std::array<char, 4096> text{};
    const ssize_t size = ::recv(fd_.get(), text.data(), text.size(), 0);
    return std::string(text.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  }

 private:
  UniqueFd fd_;
};

TEST(AuditLogSyslog, GetsALineADatagramAlsoAfterItWasAway) {
  const TempDir folder;
  const std::string path = folder.path() / "log";
  http::Metrics metrics;
  AuditLog log({{}, path}, host_files(), metrics);
  log.add({.who = "ann", .from = {}, .what = "one"});
  EXPECT_NE(log.trouble(), "");
  {
    const Syslog syslog(path);
    EXPECT_EQ(log.trouble(), "");
    log.add({.who = "ann", .from = {}, .what = "two"});
    EXPECT_NE(syslog.next().find(R"("missing":1)"), std::string::npos);
    const std::string text = syslog.next();
    EXPECT_TRUE(text.starts_with("<86>cloche["));
    EXPECT_EQ(Json::parse(text.substr(text.find('{')))["what"], "two");
  }
  log.add({.who = "ann", .from = {}, .what = "three"});
  std::filesystem::remove(path);
  const Syslog syslog(path);
  log.add({.who = "ann", .from = {}, .what = "four"});
  EXPECT_NE(syslog.next().find(R"("missing":1)"), std::string::npos);
  EXPECT_NE(syslog.next().find(R"("what":"four")"), std::string::npos);
}

TEST(AuditLogSyslog, OneThatTakesNothingHoldsNobody) {
  const TempDir folder;
  const std::string path = folder.path() / "log";
  const Syslog syslog(path);
  http::Metrics metrics;
  AuditLog log({{}, path}, host_files(), metrics);
  for (int i = 0; i < 5000; ++i) log.add({.who = "ann", .from = {}, .what = "one"});
  EXPECT_NE(log.trouble(), "");
}

}  // namespace
}  // namespace cloche::telemetry
