// SPDX-License-Identifier: Apache-2.0
// OwnSandboxes: the sandboxes of a connection that nobody else has: they end with it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "doors/rpc/subject.h"

namespace cloche::rpc {

class OwnSandboxes final : public Backend {
 public:
  // Makes the engine when the first sandbox is asked for; throws like Engine's constructor.
  using EngineMaker = std::function<std::unique_ptr<Engine>(Connection&)>;
  explicit OwnSandboxes(EngineMaker make_engine) : make_engine_(std::move(make_engine)) {}

  Made create(Connection& connection, const Params& params) override;
  Made fork(Subject& subject) override;
  Engine& engine(Connection& connection) override;
  void admit_host_path(std::string_view) const override {}
  const Method* find_method(std::string_view) const override { return nullptr; }
  std::size_t sandbox_limit() const override { return rpc::sandbox_limit; }
  void admit_snapshot() const override {}

 private:
  const EngineMaker make_engine_;
  std::once_flag engine_once_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace cloche::rpc
