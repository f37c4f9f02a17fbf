// SPDX-License-Identifier: Apache-2.0
// CodeInterpreter: what answers at port 49999 of a sandbox: contexts, and cells that run in them.
//
// Thread-safe. Who asks has shown a token of the sandbox already.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "doors/e2b/code_context.h"
#include "doors/http/server.h"
#include "session/session.h"

namespace cloche::e2b {

class CodeInterpreter {
 public:
  CodeInterpreter(session::WorkerPool& workers, std::string owner,
                  std::shared_ptr<ProcessCount> count);
  CodeInterpreter(const CodeInterpreter&) = delete;
  CodeInterpreter& operator=(const CodeInterpreter&) = delete;

  void handle(session::Session::Use use, const http::Request& request,
              const std::shared_ptr<http::Exchange>& exchange);

  // All clients see that something was broken off.
  void break_off();
  // All contexts begin anew.
  void restart();

 private:
  using ContextPtr = std::shared_ptr<CodeContext>;

  void execute(session::Session::Use use, const http::Request& request,
               const std::shared_ptr<http::Exchange>& exchange);
  http::Response contexts(session::Session::Use& use, const http::Request& request);
  http::Response list();
  http::Response create(session::Session::Use& use, const http::Request& request);
  std::vector<ContextPtr> all() const;
  ContextPtr find(const std::string& id) const;
  // The one that cells of a language run in where no other is named.
  ContextPtr usual(CodeLanguage language);
  ContextPtr add(CodeLanguage language, std::string folder) REQUIRES(mutex_);

  session::WorkerPool& workers_;
  const std::string owner_;
  const std::shared_ptr<ProcessCount> count_;
  mutable Mutex mutex_;
  std::vector<ContextPtr> contexts_ GUARDED_BY(mutex_);  // in the order in which they were made
  std::map<CodeLanguage, ContextPtr> usual_ GUARDED_BY(mutex_);
};

}  // namespace cloche::e2b
