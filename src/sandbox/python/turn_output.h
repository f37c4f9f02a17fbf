// SPDX-License-Identifier: Apache-2.0
// TurnOutput: has what an interpreter writes in the turn to come go where its options say.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cloche/python_session.h"
#include "sandbox/command.h"
#include "sandbox/python/session_interpreter.h"

namespace cloche::sandbox {

class TurnOutput {
 public:
  TurnOutput(SessionInterpreter& interpreter, const ExecuteOptions& options)
      : interpreter_(interpreter),
        options_(options),
        clean_out_(interpreter.clean_output()),
        clean_err_(interpreter.clean_output()) {
    interpreter_.begin_output(Stream::out, plan_for(Stream::out, clean_out_));
    interpreter_.begin_output(Stream::err, plan_for(Stream::err, clean_err_));
  }

  // What the turn has written.
  void end(ExecuteResult& result) {
    end_stream(Stream::out, clean_out_, result.stdout_data, result.stdout_truncated);
    end_stream(Stream::err, clean_err_, result.stderr_data, result.stderr_truncated);
  }

 private:
  python::SessionOutput::Plan plan_for(Stream stream, const CleanOutput& clean) {
    python::SessionOutput::Plan plan{.limit_bytes = options_.limits.output_bytes};
    if (options_.output) {
      plan.sink = [reader = reader_of(options_.output, stream), clean](std::string_view data) {
        clean.pass(data, reader);
      };
    }
    if (options_.on_output_limit == OutputLimitAction::stop) {
      plan.over_limit = [&interpreter = interpreter_] {
        interpreter.stop(python::StopReason::output);
      };
    }
    return plan;
  }

  void end_stream(Stream stream, const CleanOutput& clean, std::string& data, bool& truncated) {
    python::SessionOutput::Written written = interpreter_.take_output(stream);
    truncated = written.truncated;
    if (options_.output) {
      clean.end(reader_of(options_.output, stream));
      return;
    }
    data = clean.clean(std::move(written.bytes),
                       truncated ? CleanOutput::Text::cut_off : CleanOutput::Text::whole);
  }

  SessionInterpreter& interpreter_;
  const ExecuteOptions& options_;
  const CleanOutput clean_out_;
  const CleanOutput clean_err_;
};

}  // namespace cloche::sandbox
